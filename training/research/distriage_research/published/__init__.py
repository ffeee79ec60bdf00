"""Published studies of the same failures, beside our labels."""
