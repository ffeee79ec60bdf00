"""Gaps to fill before a maintainer can act on a report. Pure. Nothing is guessed about who or what wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from distriage.base.texts import folded, regex
from distriage.facts.scanning import any_of
from distriage.reading.report import ReadReport
from distriage.segments import Kind

_FEW_LINES = 5  # of a listing that a person typed
# The text of vLLM's form in a field, below its line, for the reporter to replace: no other was judged.
_PLACEHOLDER = "your output of `python collect_env.py` here"
_FIELD_OF_IT = regex(rf"(?:the output of [^\n]{{0,40}}\n)?{re.escape(_PLACEHOLDER)}")
_POINTS_ELSEWHERE = regex(r"(?<!\w)(?:@\w|#\d)")
_SEVERAL_WORDS = ("two", "three", "four", "several", "multiple", "issue", "problem", "bug", "问题")
_SEVERAL_TITLE = regex(r"\b(?:two|three|four|several|multiple) (?:\w{1,20} )?(?:issues|bugs|problems)\b")
_SEVERAL = regex(
    r"\n\W{0,6}(?:issue|problem|bug|问题)\s{1,2}(?:#\s?)?(?:2|two|二)(?!\.\d|\w)"
    r"|\b(?:found|have|has|had|see|seeing|encountered|hit|noticed|are|facing|met|were|be) (?:\w{1,20} )?"
    r"(?:two|three|four) (?:separate |different |distinct |unrelated |other |independent )?"
    r"(?:issues|bugs|problems)\b"
    r"(?! (?:that|which|posted|similar|related|with the same|about|open|in the tracker|on github))"
)


def lacks_of(read: ReadReport, *, is_failure: bool) -> Iterator[str]:
    """The names of the signs of a report's quality.

    Args:
        is_failure: It is about a failure; else several problems are several wishes.
    """
    segments, body = read.segments, folded(read.report.body)
    listed = sum(len(segment.lines) for segment in segments.of(Kind.LISTING))
    if segments.is_unfilled_form:
        if segments.answers and not listed and not _POINTS_ELSEWHERE.search(body):
            yield "empty-form"
        return  # the rest follows from it
    if listed < _FEW_LINES and _PLACEHOLDER in body:
        fields = [answer for heading, answer in segments.answers.items() if "environment" in heading.lower()]
        if fields and all(_FIELD_OF_IT.fullmatch(folded(answer).strip()) for answer in fields):
            yield "placeholder-left"
    own = folded("\n".join(one.text for one in segments.of(Kind.TITLE, Kind.PROSE, Kind.FORM)))
    if (is_failure and any_of(_SEVERAL_WORDS, own)) and (
        _SEVERAL_TITLE.search(folded(read.report.title)) or _SEVERAL.search(own)
    ):
        yield "several-problems"
