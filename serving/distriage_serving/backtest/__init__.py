"""A model's labels for a repository's past issues, compared with people's: one HTML page."""
