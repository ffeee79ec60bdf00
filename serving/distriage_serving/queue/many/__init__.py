"""Many issues: the views of the list, and what a form of it selects."""
