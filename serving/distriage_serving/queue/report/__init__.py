"""A report for people: the places of its evidence, and its Markdown as safe HTML."""
