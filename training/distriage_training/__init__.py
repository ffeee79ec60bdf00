"""From annotated issue reports to a model bundle, and what a verdict costs. Most of it needs the extra `train`."""
