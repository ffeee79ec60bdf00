"""Records -> weights: the encoder, its heads and the sparse head."""
