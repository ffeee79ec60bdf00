"""Errors and hints of the command line, apart from its answers; and the groups of its help."""

from __future__ import annotations

import errno
import os
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

# Groups of `distriage --help`, in the order in which a newcomer needs them.
READ, MAINTAIN, TRAIN = "Read reports", "Look after a tracker", "Train and study"

_PIPE_WIDTH = 10_000


def speak_utf8() -> None:
    """Write UTF-8 to files and pipes, as JSON requires; in a terminal, replace characters that it lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a closed one is None
            piped = stream is sys.stdout and not stream.isatty()
            stream.reconfigure(encoding="utf-8" if piped else None, errors="replace")


def is_plain() -> bool:
    """Whether standard output takes whole lines without colour: a pipe, unless the environment says otherwise."""
    return not sys.stdout.isatty() and not {"COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"} & set(os.environ)


def output() -> Console:
    """Standard output; lines are not wrapped in a pipe, unless COLUMNS says so."""
    from rich.console import Console  # slow to import

    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    # `:100:` in a report is not an emoji, and the table of emoji takes long to load.
    return Console(highlight=False, emoji=False, width=_PIPE_WIDTH if piped else None)


def say(text: str) -> None:
    """Print a line to standard error, apart from output for programs."""
    lines = map(printable, text.split("\n"))  # it may quote a report, or a file's name
    if sys.stderr is not None:  # as Python leaves it after `2>&-`
        sys.stderr.write("distriage: " + "\n".join(lines) + "\n")


def is_full(error: OSError) -> bool:
    """Whether standard output had no room; errors of files name their file."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT) and error.filename is None


def give_up_output(error: OSError) -> None:
    """Say why standard output cannot be written, and drop the rest, which would be flushed at exit."""
    say(f"standard output: cannot be written: {error.strerror}")
    let_go_of_output()


def let_go_of_output() -> None:
    """Discard the rest of standard output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def counted(number: int, noun: str) -> str:
    """`1 issue`, `2 issues`; for nouns whose plural ends in s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    """Foreign text without the escape sequences that a terminal obeys."""
    return "".join(char if char.isprintable() else " " for char in text)
