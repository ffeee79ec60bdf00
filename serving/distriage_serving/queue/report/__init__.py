"""A report as a person reads it: where its evidence stands, and its Markdown as safe HTML."""
