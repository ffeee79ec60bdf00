"""A report's stated environment, from frameworks to GPUs, and known problems of such a combination. Pure."""
