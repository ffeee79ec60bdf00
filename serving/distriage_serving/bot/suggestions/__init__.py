"""Suggestions on GitHub: what is kept of them, and what people made of them."""
