"""Many issues: the views of the list, and the selection in a form."""
