"""What Distriage would have said of a repository's past issues, compared with people's labels: one HTML page."""
