"""Foreign text as visible HTML: mark-up escaped, characters that hide or reorder text spelled out. Pure."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from markupsafe import Markup

# Control characters but tab and line feed; bidirectional controls (https://www.unicode.org/reports/tr9/); invisible
# ones; tags; lone surrogates.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
MAX_CHARS: Final = 200_000  # of a text are shown; GitHub stores at most 65,536


def visible(text: str) -> Markup:
    """HTML for the inside of an element."""
    parts: list[str | Markup] = []
    end = 0
    text = text.replace("\r\n", "\n")[:MAX_CHARS]
    for match in _HIDDEN.finditer(text):
        parts.append(Markup.escape(text[end : match.start()]))
        point = _point(match)
        name = unicodedata.name(match.group(), "CONTROL CHARACTER").lower()
        parts.append(Markup('<span class="hidden-char" title="{}">{}</span>').format(name, point))
        end = match.end()
    parts.append(Markup.escape(text[end:]))
    return Markup("").join(parts)


def with_code(text: str) -> Markup:
    """One line of Markdown as HTML: code spans, and nothing else of Markdown."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an unclosed span
        return visible(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(visible(part)) if place % 2 else visible(part)
        for place, part in enumerate(parts)
    )


def plain(text: str) -> str:
    """Text for an attribute or a page's title; the caller must escape it."""
    return _HIDDEN.sub(lambda match: f"[{_point(match)}]", text[:MAX_CHARS])


def _point(match: re.Match[str]) -> str:
    return f"U+{ord(match.group()):04X}"
