"""Signs of a report that maintainers sort by, beside the model's axes: what is missing, and where it belongs."""
