"""A report -> its segments. Pure; linear in the report's length.

Fences divide a report into blocks. In each block the prefixes of launchers go first (`prefixes.py`), then every line is
sorted (`blocks.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from distriage.base.texts import MAX_INPUT_CHARS, regex, shortened
from distriage.base.types import FormLines
from distriage.segments.blocks import Reader
from distriage.segments.forms import forms_with, known_forms
from distriage.segments.types import Kind, Line, Role, Segment, Segments

_ANSI = regex(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\[(?:\d{1,2};){0,3}\d{1,2}m")  # logs often lost the escape character
_COMMENT = regex(r"<!--.*?-->", re.S)
_TAG = regex(
    r"</?(?:details|summary|img|br|p|b|i|em|strong|code|pre|div|span|sub|sup|a|h[1-6]|table|tr|td|th|tbody|thead|ul|ol"
    r"|li|kbd|hr|picture|source|center|font)\b[^<>\n]{0,1000}/?>",
    re.I,
)
_SUMMARY = regex(r"<summary>([^<>\n]{1,200})</summary>", re.I)
_FENCE = regex(r"(`{3,})[^`]*|(~{3,})[^~^]*")  # not code between back-ticks, nor Python's marker below a frame
_ROOT_CAUSE = "Root Cause (first observed failure)"
_RANK = regex(r"\n[^\n]{0,60}\brank\s{0,10}: (\d{1,6})\b")


def split(title: str, body: str, forms: FormLines | None = None) -> Segments:
    """Read a report into segments.

    Args:
        forms: Those of the repository that it was filed in; those of `forms.toml` by default.

    Returns:
        Its parts, each line once. Never raises; cuts the middle of a long body, as `shortened` does.
    """
    text = _plain(shortened(body))
    reader = Reader(known_forms() if forms is None else forms_with(forms), text)
    for word, first, lines in _blocks(text.split("\n")):
        reader.read(lines, first, word)
    skipped = body.count("\n") - text.count("\n") if len(body) > MAX_INPUT_CHARS else 0
    tail = text.count("\n") - shortened(body)[-MAX_INPUT_CHARS // 4 :].count("\n") if skipped else 0
    segments = [Segment(Kind.TITLE, "", (Line(title, 0),))] if title.strip() else []
    for kind, heading, found in reader.read_so_far:
        if skipped:
            found = [line._replace(number=line.number + skipped) if line.number > tail else line for line in found]
        segments.append(Segment(kind, heading, tuple(found)))
    culprit = _culprit(text)
    return Segments(
        title,
        tuple(segments),
        first_error=_first_error(segments, culprit),
        culprit=culprit,
        answers={heading: "\n".join(lines) for heading, lines in reader.answers.items()},
        is_unfilled_form=reader.in_form and all(segment.kind in (Kind.TITLE, Kind.LISTING) for segment in segments),
    )


def _plain(text: str) -> str:
    """Without comments, tags and terminal colours; each line stays on its line."""
    text = text.replace("\r\n", "\n")
    if "\r" in text and "\n" not in text:
        text = text.replace("\r", "\n")
    if "<!--" in text:
        end = text.rfind("-->") + 3  # a mark behind it opens nothing: it is of a log, or its end was cut off
        text = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text[:end]) + text[end:]
    if "[" in text:
        text = _ANSI.sub("", text)
    if "<" in text:
        text = _SUMMARY.sub(r"### \1", text) if "<summary>" in text else text
        text = _TAG.sub(" ", text)
    return text


def _blocks(lines: list[str]) -> Iterator[tuple[str | None, int, list[str]]]:
    """For each block: the word behind its fence, None outside fences; the number of its first line, from 1; its lines."""
    fence = word = ""  # the next fence must begin with this one to close it (CommonMark)
    block: list[str] = []
    first = 1
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        closed = bool(fence) and stripped.startswith(fence) and not stripped.strip(fence[0])
        opened = None if fence else stripped[:3] in ("```", "~~~") and _FENCE.fullmatch(stripped)
        if not closed and not opened:
            block.append(line)
            continue
        yield word if fence else None, first, block
        block, first = [], number + 1
        fence, word = "", ""
        if opened:
            fence = opened[1] or opened[2]
            word = stripped.strip("`~ ").lower()
    yield word if fence else None, first, block


def _culprit(text: str) -> int | None:
    place = text.rfind(_ROOT_CAUSE)
    found = _RANK.search(text, place, place + 600) if place >= 0 else None
    return int(found[1]) if found else None


def _first_error(segments: list[Segment], culprit: int | None) -> Line | None:
    errors = [line for segment in segments for line in segment.lines if line.role is Role.INITIATING]
    if culprit is not None:
        own = (line for line in errors if line.process.rpartition("rank")[2] == str(culprit))
        if found := next(own, None):
            return found
    return errors[0] if errors else None
