"""From findings about a report to a verdict."""
