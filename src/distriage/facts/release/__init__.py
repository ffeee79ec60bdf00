"""The release of a product that a report is about, where no name stands beside it."""
