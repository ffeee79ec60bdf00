"""A repository's existing issues, each treated as by the bot."""
