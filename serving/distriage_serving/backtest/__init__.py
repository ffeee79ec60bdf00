"""What Distriage would have said of a repository's past issues, held against the labels that people gave them: one HTML page."""
