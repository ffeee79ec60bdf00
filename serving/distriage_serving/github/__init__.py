"""All that is said to GitHub."""
