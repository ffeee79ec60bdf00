"""Characters and mark-up of a report: dropped before its lines are read. Pure.

Every step takes time linear in its input, and is skipped if its characters are missing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from distriage.base.texts import regex, shortened

MAX_LINE_CHARS = 400
MAX_MARKS = 30  # combining marks in a row

_CONTROL = regex(  # control and format characters, and every white space but line feed, tab and space
    r"[\x00-\x08\x0b-\x1f\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2069\u3000\ufeff\ufffd]"
)
_ANSI = regex(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\[(?:\d{1,2};){0,3}\d{1,2}m")  # logs often lost the escape character
_COMMENT = regex(r"<!--.*?-->", re.S)
_TAG = regex(
    r"</?(?:details|summary|img|br|p|b|i|em|strong|code|pre|div|span|sub|sup|a|h[1-6]|table|tr|td|th|tbody|thead|ul|ol"
    r"|li|kbd|hr|picture|source|center|font)\b[^<>\n]{0,1000}/?>",
    re.I,
)
# The patterns below begin with a set of characters, which `re` finds fast, and look back for the word's boundary.
_URL = regex(r"[hfg](?<!\w.)(?:(?<=h)ttps?|(?<=f)tp|(?<=g)it)://[^\s)>\]\"'`]{1,2000}")
_ADDRESS = regex(r"0(?<!\w.)x[0-9a-fA-F]{5,64}\b")
_HASH = regex(
    r"[0-9a-fA-F](?<!\w.)(?=[0-9a-fA-F]{7})(?:(?<=\d)|(?=[0-9a-fA-F-]{0,79}\d))"  # a word such as `defaced` lacks a digit
    r"(?:[0-9a-fA-F]{11,79}|[0-9a-fA-F]{7}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\b"
)
_BLOB = regex(r"[A-Za-z0-9+/=_](?<![A-Za-z0-9+/=_].)[A-Za-z0-9+/=_]{119,}")
_BLOB_CHARS = 120
_RULE = regex(r"([-=*_#~.+|])\1{4,}")
_RULES = tuple(sign * 5 for sign in "-=*_#~.+|")
_SPACES = regex(r"[ \t][ \t]+")  # not `{2,}`, which `re` does not look for as a set
_BLANK_LINES = regex(r"\n[ \t]*(?:\n[ \t]*)+")
_SPECIAL = regex(r"[<>\[\]()!\\/:\x1b+=_~*#|.-]")


def normalize(text: str) -> str:
    """Characters and mark-up only: comments, tags, badges, addresses, control characters out; lines shortened.

    Idempotent, never raises, linear in the length of the input; the result is no longer than `shortened` leaves it.
    """
    text = shortened(text).encode("utf-8", "ignore").decode("utf-8")  # lone surrogates
    return _BLANK_LINES.sub("\n\n", normalize_lines(shortened(_compose(text)))).strip()  # some characters grow


def normalize_lines(text: str) -> str:
    """As `normalize`, but every line stays, if empty, and nothing is cut but lines."""
    text = text.encode("utf-8", "ignore").decode("utf-8")
    for _ in range(4):
        before = text
        text = _normalize_once(text)
        if text == before:
            return text
    # Text made so that each pass uncovers new mark-up. Without its special characters one pass settles it.
    return _normalize_once(_SPECIAL.sub(" ", text))


def _compose(text: str) -> str:
    """NFC, with runs of combining marks cut to a natural length: composing is quadratic in it (UAX #15)."""
    if text.isascii():
        return text
    marks = {character for character in set(text) if unicodedata.combining(character)}
    if marks:
        kept = []
        count = 0
        for character in text:
            count = count + 1 if character in marks else 0
            if count <= MAX_MARKS:
                kept.append(character)
        text = "".join(kept)
    return unicodedata.normalize("NFC", text)


def _normalize_once(text: str) -> str:
    text = _compose(text)  # the last pass may have removed text before a combining mark
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "[" in text:
        text = _ANSI.sub("", text)
    text = _CONTROL.sub(" ", text)
    if "<!--" in text:
        end = text.rfind("-->") + 3  # a mark behind it opens nothing: it is of a log, or its end was cut off
        text = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n") or " ", text[:end]) + text[end:]
    if "](" in text:
        text = _without_images(text)
        text = _without_targets(text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "://" in text:
        text = _URL.sub(_shorten_url, text)
    if "0x" in text:
        text = _ADDRESS.sub("0x", text)
    text = _HASH.sub(" ", text)
    if max(map(len, text.split()), default=0) >= _BLOB_CHARS:
        text = _BLOB.sub(" ", text)
    if any(rule in text for rule in _RULES):
        text = _RULE.sub(r"\1\1\1", text)
    if "  " in text or "\t" in text:
        text = _SPACES.sub(" ", text)
    return "\n".join(
        [line if len(line := raw.rstrip()) <= MAX_LINE_CHARS else _shorten_line(line) for raw in text.split("\n")]
    )


def _next_of(text: str, mark: str) -> Callable[[int], int]:
    """A function: the first place of `mark` from a place on, or the text's length. Asked in rising order, it is linear."""
    found = -1

    def next_from(start: int) -> int:
        nonlocal found
        if found < start:
            found = text.find(mark, start)
            if found < 0:
                found = len(text)
        return found

    return next_from


def _without_images(text: str) -> str:
    r"""`![alt](target)` -> a space. As `!\[[^\]\n]{0,200}\]\([^)\n]{0,2000}\)`, which is slow where the end is missing."""
    closes, ends, breaks = _next_of(text, "]"), _next_of(text, ")"), _next_of(text, "\n")
    kept: list[str] = []
    done = 0
    start = text.find("![")
    while start >= 0:
        close = closes(start + 2)
        end = ends(close + 2)
        if (
            close - start <= 202
            and text.startswith("](", close)
            and end < len(text)
            and end - close <= 2002
            and breaks(start) > end
        ):
            kept += (text[done:start], " ")
            done = end + 1
            start = text.find("![", done)
        else:
            start = text.find("![", start + 2)
    return "".join((*kept, text[done:]))


def _without_targets(text: str) -> str:
    r"""`[words](target)` -> the words. As `\[([^\]\n]{1,300})\]\([^)\n]{0,2000}\)`, which is slow where the end is missing."""
    ends, breaks = _next_of(text, ")"), _next_of(text, "\n")
    kept: list[str] = []
    done = 0
    close = text.find("](")
    while close >= 0:
        end = ends(close + 2)
        if end < len(text) and end - close <= 2002 and breaks(close) > end:
            # The outermost bracket that this one closes: the first on the line behind the last closing bracket.
            earliest = max(done, close - 301)
            earliest = max(earliest, text.rfind("]", earliest, close) + 1, text.rfind("\n", earliest, close) + 1)
            start = text.find("[", earliest, max(0, close - 1))
            if start >= 0:
                kept += (text[done:start], text[start + 1 : close], " ")
                done = end + 1
        close = text.find("](", max(done, close + 2))
    return "".join((*kept, text[done:]))


def _shorten_url(match: re.Match[str]) -> str:
    # The last path segment can name a file or a repository; the host and the query say nothing about the failure.
    segments = [part for part in re.split(r"[/?#]", match.group())[3:] if part]
    return segments[-1][:60] if segments else " "


def _shorten_line(line: str) -> str:
    return line[: MAX_LINE_CHARS - 120].rstrip() + " " + line[-100:].lstrip()
