"""`/triage ...` in a comment -> command. Pure.

/triage                                look at the issue again
/triage wrong                          every label given is wrong
/triage wrong symptom                  the label of this axis is wrong
/triage wrong symptom=runtime-hang     and this is the right one; several axes may stand in one line
/triage undo                           take the last decision about this issue back
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from distriage.errors import InputError
from distriage.taxonomy import Taxonomy

MAX_LINE_CHARS: Final = 500
NONE: Final = "none"
_COMMAND: Final = re.compile(r" {0,3}/triage(?:[ \t]|$)")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class LookAgain:
    """Classify the issue again and carry out what follows."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """What was said is wrong.

    Attributes:
        corrections: Axis -> the right label; None: none of them. Empty: every axis.
    """

    corrections: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Undo:
    """The last decision no longer holds."""


Command = LookAgain | Wrong | Undo


def find_command(comment: str) -> str | None:
    """The first line of a comment that is a command, outside of code blocks and quotations; None: there is none."""
    fence = ""
    for line in comment.splitlines():
        mark = _FENCE.match(line)
        if mark is not None and (not fence or mark.group(1).startswith(fence)):
            fence = "" if fence else mark.group(1)
        elif not fence and _COMMAND.match(line):
            return line.strip()[:MAX_LINE_CHARS]
    return None


def parse_command(line: str, taxonomy: Taxonomy) -> Command:
    """Read a line that `find_command` found.

    Raises:
        InputError: an unknown command, axis or label.
    """
    _, *words = line.lower().split()
    match words:
        case []:
            return LookAgain()
        case ["undo"]:
            return Undo()
        case ["wrong", *pairs]:
            return Wrong(dict(_correction(pair, taxonomy) for pair in pairs))
    raise InputError(f"/triage {words[0]!r}: expected nothing, `wrong`, `wrong AXIS=LABEL` or `undo`")


def _correction(pair: str, taxonomy: Taxonomy) -> tuple[str, str | None]:
    axis_id, given, label = pair.partition("=")
    if axis_id not in taxonomy.axes:
        raise InputError(f"/triage wrong: unknown axis {axis_id!r}; {_suggestion(axis_id, taxonomy.axes)}")
    known = taxonomy.axes[axis_id].label_ids
    if not given or label == NONE:
        return axis_id, None
    if label not in known:
        raise InputError(f"/triage wrong: unknown label {label!r} of axis {axis_id}; {_suggestion(label, known)}")
    return axis_id, label


def _suggestion(wrong: str, known: Iterable[str]) -> str:
    known = list(known)
    near = difflib.get_close_matches(wrong, known, n=1)
    return (f"did you mean {near[0]!r}? " if near else "") + f"known: {', '.join(known)}, {NONE}"
