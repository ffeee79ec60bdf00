"""Turns annotated issue reports into a model bundle and measures it. Most of it needs the extra `train`."""
