"""What was measured, as tables, plots and a page."""
