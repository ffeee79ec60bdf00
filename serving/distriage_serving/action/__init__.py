"""One run of the GitHub Action."""
