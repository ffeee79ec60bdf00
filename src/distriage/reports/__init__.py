"""Reports from files, tables and streams."""
