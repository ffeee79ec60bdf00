"""A question to an issue's author."""
