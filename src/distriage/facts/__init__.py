"""What a report states of its environment, from frameworks to GPUs, and what is known of such a combination. Pure."""
