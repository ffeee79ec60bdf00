"""A repository's `.github/distriage.yml`: read, checked, merged, drafted."""
