"""Evidence for a verdict, measured: explained lines, similar issues, a second reader."""
