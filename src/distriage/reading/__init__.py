"""A report, read once."""
