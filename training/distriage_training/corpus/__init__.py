"""Annotations and texts: read, checked, compared, joined."""
