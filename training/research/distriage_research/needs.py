"""Packages that experiments need on top of the wheel's extras."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from distriage.base.errors import MissingExtraError

INSTALL = "pip install -r training/research/requirements.txt"


@contextmanager
def needed() -> Iterator[None]:
    """Around the imports of a command; tokenizers start no threads of their own.

    Raises:
        MissingExtraError: a third-party package is not installed.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("distriage"):
            raise
        raise MissingExtraError(f"this command needs {error.name}; type: {INSTALL}") from None
