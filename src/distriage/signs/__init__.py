"""Signs of a report that maintainers sort by, beside the model's axes; each needs plain words."""
