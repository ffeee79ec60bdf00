"""Reports that our labels stand beside: published studies of the same failures."""
