"""The signature of a report's failure: alike in reports of one cause. Pure."""

from __future__ import annotations

from itertools import takewhile
from zlib import crc32

from distriage.base.texts import regex
from distriage.recipe.folding import DIGITS
from distriage.segments import Role, Segments
from distriage.segments.roles import frame_of

MAX_CHARS = 200  # of the message
MIN_WORDS = 3
_WORD = regex(r"[a-z_]\w+")
_MODULE = regex(r"^(?:[a-z_]\w{0,60}\.){1,8}(?=[a-z_]\w{0,80}:)")  # of an exception
_NUMBER = regex(r"0x[0-9a-f]+")
# Messages that many causes share: the end of a process, memory that ran out, an error of an asynchronous kernel or of a
# network below, a line that only introduces another.
_OF_ANY_CAUSE = regex(
    r"segmentation fault|core dumped|\bsig(?:segv|kill|abrt|bus)\b|exit (?:code|status)|fatal error|terminate called"
    r"|out of memory|trying to allocate|illegal memory access|unspecified launch failure|device-side assert"
    r"|nccl (?:error|info)|see console|root error\(s\)|initialization failed|subprocess-exited"
    r"|in the process of adding|:$"
)


def signature_of(report: Segments) -> str:
    """Hashes of the first error, exception and message, and of the frame that raised it, if shown: `12ab34cd` or
    `12ab34cd:56ef78ab`. Empty where no error names a cause."""
    first = report.first_error
    if first is None:
        return ""
    text = DIGITS.sub("0", _NUMBER.sub("0", " ".join(first.text.lower().split())))
    message = _MODULE.sub("", text, count=1)
    said = _WORD.findall(message.partition(": ")[2] or message)
    if len(said) < MIN_WORDS or _OF_ANY_CAUSE.search(text):
        return ""
    frame = _frame(report)
    parts = (message[:MAX_CHARS], frame) if frame else (message[:MAX_CHARS],)
    return ":".join(f"{crc32(part.encode('utf-8', 'replace')):08x}" for part in parts)


def _frame(report: Segments) -> str:
    """The innermost frame right above the first error, as file and function; or empty."""
    for segment in report.all:
        for place, line in enumerate(segment.lines):
            if line is report.first_error:
                above = takewhile(lambda one: one.role is Role.FRAME, reversed(segment.lines[:place]))
                frames = (frame_of(one.text.strip()) for one in above)
                return next((frame.replace("\\", "/").rpartition("/")[2] for frame in frames if frame), "")
    return ""
