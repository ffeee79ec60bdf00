"""`/triage ...` in a comment -> commands. Pure.

/triage                                look at the issue again
/triage wrong                          every label given is wrong
/triage wrong symptom                  the label of this axis is wrong
/triage wrong symptom runtime-hang     and this is the right one; several axes may be named in one line
/triage wrong LABEL                    this label of the repository's own is wrong
/triage undo                           take the last decision about this issue back

A command is a line of a paragraph as GitHub renders it: not in code, a quotation, a list, a table or an HTML comment.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from distriage.answer.feedback import own_axis
from distriage.base.errors import InputError
from distriage.base.validation import suggestion
from distriage.model.taxonomy import Taxonomy

MAX_LINE_CHARS: Final = 500
MAX_COMMANDS: Final = 10  # of one comment
MAX_COMMENT_CHARS: Final = 1 << 16  # GitHub's limit
NONE: Final = "none"
USAGE: Final = "expected /triage, /triage wrong, /triage wrong AXIS LABEL or /triage undo"
_COMMAND: Final = re.compile(r"/triage(?=\s|$)", re.IGNORECASE)
# Those of Prow, the bot of Kubernetes, which reads the same comments: they are not meant for us.
_PROW: Final = re.compile(
    r"/triage (?:accepted|duplicate|needs-information|not-reproducible|support|unresolved)\Z", re.IGNORECASE
)
# The rules that decide where a line belongs. Emphasis and links do not, and are not linear in hostile text.
_MARKDOWN: Final = MarkdownIt("zero", {"html": True}).enable(
    [
        *("table", "code", "fence", "blockquote", "hr", "list", "reference", "html_block", "heading", "lheading"),
        *("newline", "escape", "backticks", "strikethrough", "html_inline", "entity"),
    ]
)


@dataclass(frozen=True, slots=True)
class LookAgain:
    """Classify the issue again and act on the result."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """A label is wrong.

    Attributes:
        corrections: Axis -> the right label; None: none of them; `own_axis` -> None. Empty: every label is wrong.
    """

    corrections: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Undo:
    """The last decision no longer holds."""


Command = LookAgain | Wrong | Undo
Names = Mapping[str, Mapping[str, str]]  # axis -> a label's name in the repository -> its id


def find_commands(comment: str) -> list[str]:
    """The lines of a comment that are commands, in their order, at most `MAX_COMMANDS`."""
    if "/triage" not in comment.lower():
        return []
    found = [
        line
        for opening, text in pairwise(_MARKDOWN.parse(comment[:MAX_COMMENT_CHARS]))
        if opening.type == "paragraph_open" and opening.level == 0
        for line in _lines(text)
        if _COMMAND.match(line) and not _PROW.match(line)
    ]
    return found[:MAX_COMMANDS]


def _lines(paragraph: Token) -> list[str]:
    """The lines of a paragraph; one that begins with anything but plain text is empty."""
    lines: list[list[Token]] = [[]]
    for token in paragraph.children or ():
        if token.type in {"softbreak", "hardbreak"}:
            lines.append([])
        else:
            lines[-1].append(token)
    return [
        " ".join("".join(token.content for token in line if token.type in {"text", "code_inline"}).split())[
            :MAX_LINE_CHARS
        ]
        for line in lines
        if line and line[0].type == "text"
    ]


def parse_command(
    line: str, taxonomy: Taxonomy, names: Names = MappingProxyType({}), own: Iterable[str] = ()
) -> Command:
    """Read a line that `find_commands` found.

    Args:
        names: Understood beside the labels' ids, which come first.
        own: Labels of the repository's own that the issue got; an axis, alone or with a label of it, comes first.

    Raises:
        InputError: an unknown command, axis or label.
    """
    _, *words = _parts(line.lower().rstrip(" .").split())
    match words:
        case []:
            return LookAgain()
        case ["undo"]:
            return Undo()
        case ["wrong", *rest]:
            return Wrong(_corrections(rest, taxonomy, names, own))
    raise InputError(f"/triage {' '.join(words)!r:.80}: {USAGE}")


def _parts(words: list[str]) -> list[str]:
    """`symptom runtime-hang`, `symptom=runtime-hang` and `symptom: runtime-hang` say the same."""
    return [part for word in words for part in re.split(r"[=:,`]", word) if part]


def _name_parts(name: str) -> tuple[str, ...]:
    return tuple(_parts(name.lower().rstrip(" .").split()))


def _begin(parts: list[str], names: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The longest of some names with which a line begins; empty if it is none."""
    return max((name for name in names if name == tuple(parts[: len(name)])), key=len, default=())


def _corrections(parts: list[str], taxonomy: Taxonomy, names: Names, own: Iterable[str]) -> dict[str, str | None]:
    corrections: dict[str, str | None] = {}
    own_labels = {_name_parts(name): own_axis(name) for name in own}
    axes = {_name_parts(axis.name): axis.id for axis in taxonomy.axes.values()}
    axes |= {_name_parts(axis): axis for axis in taxonomy.axes}  # ids come first
    while parts:
        own_label, axis = _begin(parts, own_labels), _begin(parts, axes)
        known = _known(axes[axis], taxonomy, names) if axis else {}
        said = {_name_parts(name): label for name, label in known.items()}
        chosen = _begin(parts[len(axis) :], said)
        if own_label and not chosen and (len(own_label) > 1 or not axis):
            corrections[own_labels[own_label]] = None
            parts = parts[len(own_label) :]
            continue
        if not axis:
            meant = suggestion(parts[0], taxonomy.axes, "'")
            raise InputError(f"/triage wrong: unknown axis {parts[0]!r:.60}; {meant}")
        axis_id, parts = axes[axis], parts[len(axis) :]
        if not chosen and parts and not _begin(parts, axes) and not _begin(parts, own_labels):
            end = next((at for at in range(len(parts)) if _begin(parts[at:], axes)), len(parts))
            wrong = " ".join(parts[:end])
            raise InputError(f"/triage wrong: unknown label {wrong!r:.60} of axis {axis_id}; {_meant(wrong, known)}")
        corrections[axis_id] = said[chosen] if chosen else None
        parts = parts[len(chosen) :]
    return corrections


def _known(axis: str, taxonomy: Taxonomy, names: Names) -> dict[str, str | None]:
    """Each name of a label of an axis -> its id; ids come first."""
    ids = taxonomy.axes[axis].label_ids
    return {**names.get(axis, {}), NONE: None, **dict(zip(ids, ids, strict=True))}


def _meant(wrong: str, known: Mapping[str, str | None]) -> str:
    """The few nearest labels, each by one of its names; all of the axis if none is near."""
    folded = {name.lower(): name for name in known}
    near: dict[str | None, str] = {}
    for name in difflib.get_close_matches(wrong, folded, n=6) or [name for name in folded if wrong in name]:
        near.setdefault(known[folded[name]], repr(folded[name]))
    if near:
        return f"did you mean {' or '.join([*near.values()][:3])}?"
    return f"known: {', '.join(dict.fromkeys(filter(None, known.values())))}"
