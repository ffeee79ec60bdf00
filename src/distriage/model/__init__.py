"""A model bundle on disk, its graph and its labels."""
