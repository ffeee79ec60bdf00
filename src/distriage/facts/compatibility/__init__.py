"""Versions that do not fit together: a table of requirements, and a list of known problems. Pure."""
