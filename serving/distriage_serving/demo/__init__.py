"""A queue of invented issues, to look around in."""
