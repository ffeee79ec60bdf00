"""Foreign text inside our Markdown, shown as plain text. Pure.

Only in a code span does GitHub make no mention, issue reference, commit link, auto-link, emoji or HTML of its content
(https://github.github.com/gfm/#code-spans). Three characters could end it or the table around it; they are swapped for
look-alikes, since GFM has no escape for a backtick in a code span and reads a backslash before a pipe in two ways
(https://github.github.com/gfm/#example-200).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from distriage.answer.verdict import KnownProblem, LikelyDuplicate

_LOOKALIKES = str.maketrans({"`": "\u02cb", "|": "\u00a6"})  # modifier letter grave accent, broken bar
_LOOKALIKE_PIPE = str.maketrans({"|": "\u00a6"})
MAX_CHARS = 160
# GitHub notes links to an issue on it, unless the link leads through this host of its own
# (https://docs.github.com/en/get-started/writing-on-github/working-with-advanced-formatting/autolinked-references-and-urls).
_GITHUB = "https://github.com"
_WITHOUT_BACKLINK = "https://redirect.github.com"
_ISSUE_PAGE = re.compile(r"https://github\.com(/[\w.-]{1,100}/[\w.-]{1,100}/issues/\d{1,18})", re.ASCII)


def code(text: str, limit: int = MAX_CHARS) -> str:
    """A code span with `text` on one line, cut to `limit` characters; safe in sentences, lists and table cells."""
    shown = "".join(
        char if char.isprintable() else " " for char in text[: 8 * limit]
    )  # control characters, bidirectional overrides, surrogates
    shown = " ".join(shown.split())
    if len(shown) > limit:
        shown = shown[: limit - 1].rstrip() + "…"
    return f"`{shown.translate(_LOOKALIKES)}`" if shown else "–"


def checklist(checks: Iterable[str]) -> str:
    """A numbered list of checks, which are Markdown of ours already."""
    return "\n".join(f"{number}. {check}" for number, check in enumerate(checks, 1))


def known_problems(found: Iterable[KnownProblem]) -> str:
    """A list of known problems of versions, Markdown of ours already; links to GitHub leave no trace there."""
    return "\n".join(
        f"- {item.problem} {item.remedy} ([source]({item.source.replace(_GITHUB, _WITHOUT_BACKLINK, 1)}))"
        for item in found
    )


def duplicates(found: Iterable[LikelyDuplicate]) -> str:
    """A list of past issues, with links that leave no trace on them; without links except on github.com."""
    return "\n".join(f"- {_linked(item)} {code(item.title)}{_state(item)}" for item in found)


def _linked(item: LikelyDuplicate) -> str:
    page = _ISSUE_PAGE.fullmatch(item.url)
    return f"[{code(item.id)}]({_WITHOUT_BACKLINK}{page[1]})" if page is not None else code(item.id)


def _state(item: LikelyDuplicate) -> str:
    state = f"{item.state}: {code(item.closed_by)}" if item.state and item.closed_by else item.state
    alike = f"{code(item.closed_duplicate)} was closed as its duplicate" if item.closed_duplicate else ""
    said = "; ".join(filter(None, [state, alike, *item.notes]))
    return f" ({said})" if said else ""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already; a pipe or a line break in one, say of an axis's name, is swapped."""
    lines = [headings, ["---"] * len(headings), *rows]
    cells = ([" ".join(cell.translate(_LOOKALIKE_PIPE).split()) for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
