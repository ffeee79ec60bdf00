"""What a person types: the sub-commands of `distriage` that this package adds. Imports nothing heavy before a command
runs.
"""

from distriage_training.commands.model import register

__all__ = ["register"]
