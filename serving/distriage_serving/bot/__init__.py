"""The GitHub App bot: webhook -> inbox -> jobs -> GitHub."""
