"""Regular expressions that are compiled when they are first used: one report needs a third of the library's some 300,
and all of them take as long to compile as three reports to answer. Pure.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _Later:
    """Becomes the pattern: from its first use on, an attribute is found as fast as the pattern's own."""

    def __init__(self, text: str, flags: int) -> None:
        self._given = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked by whatever copies or pickles it
            raise AttributeError(name)
        compiled = re.compile(*self._given)
        for one in dir(re.Pattern):
            if not one.startswith("_"):
                setattr(self, one, getattr(compiled, one))
        return getattr(compiled, name)


def regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, for the constants of a module; a mistake in `text` shows at the first use."""
    return cast(re.Pattern[str], _Later(text, flags))
