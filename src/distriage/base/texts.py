"""How bytes are read as text, how much of it is read, how it is searched, and the texts in the wheel."""

from __future__ import annotations

import re
import tomllib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from distriage.base.errors import DistriageError

MAX_INPUT_CHARS = 200_000  # GitHub stores at most 65,536 of a body; a larger text loses its middle

_SAME_LETTERS = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"))  # by `re.IGNORECASE`, but not by `str.lower`


def encoding_of(content: bytes) -> str:
    """Python's name of the encoding of a text that a person hands over: UTF-8 or, as PowerShell's `>` writes, UTF-16;
    with a byte order mark or, in UTF-8, without.

    Args:
        content: Its beginning, two bytes or more.
    """
    return "utf-16" if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig"


def decoded(content: bytes) -> str:
    """The text of such bytes.

    Raises:
        UnicodeDecodeError: they are of neither encoding.
    """
    return content.decode(encoding_of(content))


def shortened(text: str) -> str:
    """The part of a text that is read: all, or a long one's beginning and end, at most `MAX_INPUT_CHARS` characters."""
    if len(text) <= MAX_INPUT_CHARS:
        return text
    return text[: MAX_INPUT_CHARS * 2 // 3] + "\n" + text[-MAX_INPUT_CHARS // 4 :]  # a long log's middle matters least


def folded(text: str) -> str:
    """In lower case, as long as before: each letter that `re.I` would match with an ASCII one becomes that one."""
    if not text.isascii():
        for letter, same in _SAME_LETTERS:
            text = text.replace(letter, same)
    return text.lower()


class _Later:
    """Becomes a pattern: from its first use on, an attribute is found as fast as the pattern's own."""

    def __init__(self, text: str, flags: int) -> None:
        self._given = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked for by copy and pickle
            raise AttributeError(name)
        compiled = re.compile(*self._given)
        for one in dir(re.Pattern):
            if not one.startswith("_"):
                setattr(self, one, getattr(compiled, one))
        return getattr(compiled, name)


def regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, for a module's constant, but compiled at the first use: one report needs a third of some 300,
    and all of them take as long to compile as three reports to answer.
    """
    return cast(re.Pattern[str], _Later(text, flags))


# Escape sequences of a terminal (ECMA-48): colours and moves of the cursor, links and titles, character sets.
_ESCAPES = regex(r"\x1b(?:\[[0-?]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[(-/][0-~])")


def one_line(text: str) -> str:
    """A title on one line, without a terminal's colours and links."""
    return " ".join(_ESCAPES.sub("", text).split())


def packaged(package: str, name: str) -> str:
    """A text file that the wheel brings, beside the modules of a package."""
    return Path(import_module(package).__path__[0], name).read_text(encoding="utf-8")


def packaged_table(package: str, name: str) -> dict[str, Any]:
    """Such a file in TOML."""
    return table_in(packaged(package, name), name)


def table_in(text: str, place: str, error: type[DistriageError] = DistriageError) -> dict[str, Any]:
    """A text in TOML.

    Args:
        place: File, and part of it, for messages.

    Raises:
        error: It is not TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise error(f"{place}: not valid TOML: {fault}") from None
