"""Judges a report as a repository's configuration asks, in this process or in a separate one."""
