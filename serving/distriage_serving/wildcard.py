"""Patterns with `*` and `?` that cannot hang: no regular expression, time at most the product of both lengths. Pure."""

from __future__ import annotations

MAX_PATTERN_CHARS = 200
MAX_TEXT_CHARS = 1000  # GitHub's titles hold at most 256


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern matches the whole of a text, whatever the case; `*` is any run of characters, `?` one character, all else itself."""
    pattern, text = pattern.casefold(), text[:MAX_TEXT_CHARS].casefold()
    p = t = 0
    star = resume = -1  # the last `*`, and where its run ends for now
    while t < len(text):
        if p < len(pattern) and pattern[p] == "*":
            star, resume = p, t
            p += 1
        elif p < len(pattern) and pattern[p] in ("?", text[t]):
            p += 1
            t += 1
        elif star >= 0:
            resume += 1
            p, t = star + 1, resume
        else:
            return False
    return not pattern[p:].strip("*")
