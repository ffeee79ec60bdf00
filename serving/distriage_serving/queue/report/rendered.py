"""A report's Markdown as GitHub renders it, safe to put into a page; the lines that carried a verdict are marked. Pure.

markdown-it makes the HTML; nh3 (ammonia) keeps what stands on its list of harmless elements. Characters that hide or
reorder text are spelled out before. No picture is loaded unless the person asks: until then it is a link.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from distriage_serving.queue.visible import plain, visible

MAX_CHARS: Final = 70_000  # are rendered; GitHub stores at most 65,536
# Around a marked line until the HTML is safe. `plain` has spelled out those that the report itself holds.
_OPEN, _CLOSE, _END = "\ue000", "\ue001", "\ue002"
_OURS: Final = re.compile("[\ue000-\ue002]")
_MARKED: Final = re.compile("\ue001(\\d+)\ue002")
# https://github.github.com/gfm/#disallowed-raw-html-extension-: shown as text
_AS_TEXT: Final = re.compile(
    r"<(?=/?(?:title|textarea|style|xmp|iframe|noembed|noframes|script|plaintext)\b)", re.IGNORECASE
)
_IMAGE: Final = re.compile(r"<img\b[^<>]*>", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(r"""\b(src|alt)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_TAGS: Final = nh3.ALLOWED_TAGS - {"area", "map", "mark"}  # a mark is ours
_SCHEMES: Final = {"http", "https", "mailto"}
MAX_NESTING: Final = 20
MAX_EXPANDED: Final = 10 * MAX_CHARS  # of addresses: one definition can be used ten thousand times


_MARKDOWN: Final = MarkdownIt("gfm-like", {"html": True, "linkify": True, "breaks": True, "maxNesting": MAX_NESTING})


def render(body: str, marked: Mapping[int, Sequence[str]], *, pictures: bool = False) -> tuple[Markup, int]:
    """HTML of a report's body.

    Args:
        marked: Line of the body, from 0 -> names of the axes whose verdict it carried.
        pictures: Load them; else each is a link to where it is.

    Returns:
        The HTML, and how many pictures it shows or links to.
    """
    text = _OURS.sub("\N{REPLACEMENT CHARACTER}", plain(body.replace("\r\n", "\n")[:MAX_CHARS]))
    tokens = _MARKDOWN.parse(text)
    if _expanded(tokens) > MAX_EXPANDED:
        return Markup('<p class="plain">{}</p>').format(Markup(visible(body))), 0
    names = [", ".join(axes) for axes in marked.values()]
    places = {line: place for place, line in enumerate(marked)}
    found = 0
    for token in tokens:
        _mark(token, places)
        found += _change(token, pictures=pictures)
    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    safe = nh3.clean(
        html,
        tags=_TAGS,
        attribute_filter=_filter,
        url_schemes=_SCHEMES,
        link_rel="noreferrer noopener external nofollow",
        set_tag_attribute_values={"pre": {"tabindex": "0"}},  # it may scroll
    )
    safe = _MARKED.sub(lambda match: f'</mark> <span class="carries">{escape(names[int(match[1])])}</span>', safe)
    return Markup(safe.replace(_OPEN, "<mark>")), found


def _expanded(tokens: Sequence[Token]) -> int:
    """Characters of all addresses and titles, as often as they are used."""
    parts = (part for token in tokens for part in [token, *(token.children or ())])
    return sum(len(str(value)) for part in parts for value in part.attrs.values())


def _mark(token: Token, places: Mapping[int, int]) -> None:
    """Put our characters around the marked lines of a block."""
    if token.map is None:
        return
    first = token.map[0] + (token.type == "fence")
    if token.type in {"fence", "code_block"}:
        lines = token.content.split("\n")
        token.content = "\n".join(
            f"{_OPEN}{line}{_CLOSE}{places[first + at]}{_END}" if first + at in places and line else line
            for at, line in enumerate(lines)
        )
    elif token.type == "inline" and token.children:
        token.children = _mark_children(token.children, first, places)


def _mark_children(children: Sequence[Token], line: int, places: Mapping[int, int]) -> list[Token]:
    marked: list[Token] = []
    if line in places:
        marked.append(_text(_OPEN))
    for child in children:
        after = line + (child.type in {"softbreak", "hardbreak"}) + child.content.count("\n")
        if after != line and line in places:
            marked.append(_text(f"{_CLOSE}{places[line]}{_END}"))
        marked.append(child)
        if after != line and after in places:
            marked.append(_text(_OPEN))
        line = after
    if line in places:
        marked.append(_text(f"{_CLOSE}{places[line]}{_END}"))
    return marked


def _change(token: Token, *, pictures: bool) -> int:
    """Make pictures links, unless they are wanted, and dangerous elements text; the number of pictures."""
    found = 0
    for part in [token, *(token.children or ())]:
        if part.type in {"html_block", "html_inline"}:
            found += len(_IMAGE.findall(part.content))
            part.content = _AS_TEXT.sub("&lt;", part.content)
            if not pictures:
                part.content = _IMAGE.sub(_link_of, part.content)
        elif part.type == "image":
            found += 1
            if not pictures:
                part.type, part.content = "html_inline", _link(str(part.attrGet("src") or ""), part.content)
    return found


def _link_of(match: re.Match[str]) -> str:
    values = {name.lower(): one or other or bare for name, one, other, bare in _ATTRIBUTE.findall(match[0])}
    # Still escaped as the reporter wrote it; nh3 looks at it once more.
    return f'<a href="{values.get("src", "")}">Picture: {values.get("alt") or "without a name"}</a>'


def _link(address: str, alternative: str) -> str:
    return str(Markup('<a href="{}">Picture: {}</a>').format(address, alternative or "without a name"))


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _filter(tag: str, attribute: str, value: str) -> str | None:
    """Addresses must be whole: what is relative on GitHub would lead to pages of ours."""
    if attribute == "href":
        return value if value.lower().startswith(("https://", "http://", "mailto:")) else None
    if (tag, attribute) == ("img", "src"):
        return value if value.lower().startswith("https://") else None
    return value
