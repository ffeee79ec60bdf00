"""From annotated issue reports to a model bundle. Needs the extra `train`."""
