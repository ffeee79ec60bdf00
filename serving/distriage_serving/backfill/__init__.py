"""The issues that a repository has already, each treated as the bot would treat it."""
