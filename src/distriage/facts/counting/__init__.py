"""The numbers of GPUs and nodes."""
