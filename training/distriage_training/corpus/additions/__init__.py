"""Records that a command brings into the corpus: reviews of maintainers, answers of a second reader."""
