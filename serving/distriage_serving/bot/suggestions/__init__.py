"""Suggestions on GitHub: their records, and people's decisions on them."""
