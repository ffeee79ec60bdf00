"""Packages that experiments need beside those of the wheel's extras."""

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
        MissingExtraError: a package is not installed. A missing module of ours is no such case.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("distriage"):
            raise
        raise MissingExtraError(f"this command needs {error.name}; type: {INSTALL}") from None
