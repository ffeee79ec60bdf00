"""Optional packages: a command without its extra ends in one line with the command that installs it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from distriage.base.errors import MissingExtraError


@contextmanager
def needs_extra(name: str) -> Iterator[None]:
    """Around the imports of a command.

    Raises:
        MissingExtraError: a third-party package of the extra `name` is not installed, or Python lacks a module.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("distriage"):
            raise
        if error.name in sys.stdlib_module_names:  # such as `resource`, which Windows lacks
            why = f"this command needs {error.name}, which this Python lacks; on Windows use WSL or a container"
            raise MissingExtraError(why) from None
        raise MissingExtraError(
            f"this command needs {error.name}; type: pip install 'distriage[{name}]' (in a checkout: '.[{name}]')"
        ) from None
