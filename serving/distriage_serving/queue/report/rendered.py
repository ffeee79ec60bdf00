"""A report's Markdown as GitHub renders it, made safe for a page; the lines of evidence are marked. Pure but for a
random number.

markdown-it makes the HTML; nh3 (ammonia) keeps only harmless elements. Characters that hide or reorder text are spelled
out first. A picture is a link until the person asks for it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import nh3
from linkify_it import LinkifyIt
from linkify_it.main import Match
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_inline import StateInline, linkify
from markdown_it.token import Token
from markupsafe import Markup, escape

from distriage_serving.queue.visible import plain, visible

MAX_CHARS: Final = 70_000  # are rendered; GitHub stores at most 65,536
# https://github.github.com/gfm/#disallowed-raw-html-extension-: shown as text
_AS_TEXT: Final = re.compile(
    r"<(?=/?(?:title|textarea|style|xmp|iframe|noembed|noframes|script|plaintext)\b)", re.IGNORECASE
)
# As nh3 writes it. It is taken whole, so that no attribute can pretend to be an element.
_ELEMENT: Final = re.compile(r'<(?P<tag>\w+)(?P<attributes>(?: [\w-]+="[^"]*")*)>')
_ATTRIBUTE: Final = re.compile(r' (src|alt)="([^"]*)"')
_TAGS: Final = nh3.ALLOWED_TAGS - {"area", "bdo", "map", "mark"}  # a mark is ours, and bdo turns text round
_FRONT_MATTER: Final = re.compile(r"[ \t]{0,20}[\w-][^`~]{0,500}")  # one line of it; none ends a block of code
MAX_FRONT_MATTER: Final = 30  # lines
_TASK: Final = re.compile(r"\[([ xX])\] ")
_SCHEMES: Final = {"http", "https", "mailto"}
_REL: Final = "noreferrer noopener external nofollow"
MAX_NESTING: Final = 20
MAX_EXPANDED: Final = 10 * MAX_CHARS  # of addresses: one definition can be used ten thousand times
MAX_SCHEME_CHARS: Final = 64
MAX_ADDRESS_CHARS: Final = 2000
MAX_CELLS: Final = 10_000  # of all tables: a short row is filled up to the width of its table


class _Addresses(LinkifyIt):  # type: ignore[misc]  # it has no types
    """Finds addresses in a text. Its patterns read on to the end of a word for each bracket: that end is near here."""

    def test(self, text: str) -> bool:
        """Whether there is a link; not beside a word that is too long for one."""
        return max(map(len, text.split()), default=0) <= MAX_ADDRESS_CHARS and bool(super().test(text))

    def match_at_start(self, text: str) -> Match | None:
        """The one that a text begins with."""
        return super().match_at_start(text[:MAX_ADDRESS_CHARS])


def _linkify(state: StateInline, silent: bool) -> bool:
    """markdown-it's rule, which at each `://` searches all text that waits; of that only the end may wait here."""
    if len(state.pending) > MAX_SCHEME_CHARS and state.src.startswith("://", state.pos):
        kept = state.pending[-MAX_SCHEME_CHARS:]
        state.pending = state.pending[:-MAX_SCHEME_CHARS]
        state.pushPending()
        state.pending = kept
    return linkify(state, silent)


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """markdown-it's rule, for tables of at most `MAX_CELLS` cells altogether; the rest is text."""
    left = state.env.setdefault("cells", MAX_CELLS)
    if left < 0 or not table(state, start, end, True):
        return False
    if silent:
        return True
    columns = state.src.count("|", state.bMarks[start], state.eMarks[start]) + 1
    rows = 0
    while start + rows < end and not state.isEmpty(start + rows) and rows * columns <= left:
        rows += 1
    state.env["cells"] = left - rows * columns
    return rows * columns <= left and table(state, start, end, False)


_MARKDOWN: Final = MarkdownIt("gfm-like", {"html": True, "linkify": True, "breaks": True, "maxNesting": MAX_NESTING})
_MARKDOWN.linkify = _Addresses()
_MARKDOWN.inline.ruler.at("linkify", _linkify)
_MARKDOWN.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})


def _tick(token: Token) -> None:
    """Show the box of a task list's item."""
    if token.type == "text" and (box := _TASK.match(token.content)) is not None:
        token.content = f"{'☐' if box[1] == ' ' else '☑'} {token.content[box.end() :]}"


def fenced(text: str) -> str:
    """A template's YAML at the beginning as code, line for line: Markdown takes it for a rule and a heading."""
    begin, *lines = text.split("\n", MAX_FRONT_MATTER + 2)
    if begin != "---" or "---" not in lines[: MAX_FRONT_MATTER + 1]:
        return text
    end = lines.index("---")
    if ":" not in lines[0] or not all(_FRONT_MATTER.fullmatch(line) for line in lines[:end]):
        return text
    return "\n".join(["```yaml", *lines[:end], "```", *lines[end + 1 :]])


def render(body: str, marked: Mapping[int, Sequence[str]], *, pictures: bool = False) -> tuple[Markup, int]:
    """HTML of a report's body.

    Args:
        marked: Line of the body, from 0 -> axes whose verdict it carried.
        pictures: Load them; else each is a link.

    Returns:
        The HTML, and the number of pictures or links to them.
    """
    tokens = _MARKDOWN.parse(fenced(plain(body.replace("\r\n", "\n")[:MAX_CHARS])))
    if _expanded(tokens) > MAX_EXPANDED:
        return Markup('<p class="plain">{}</p>').format(Markup(visible(body))), 0
    axes = [" ".join(ids) for ids in marked.values()]
    places = {line: place for place, line in enumerate(marked)}
    key = secrets.token_hex(16)  # a marker that the reporter could know could be written into the report
    for before, token in zip([None, None, *tokens], tokens, strict=False):
        if before is not None and before.type == "list_item_open" and token.children:
            _tick(token.children[0])
        _mark(token, places, key)
        _spell_out(token)
    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    marker = re.compile(rf"{key}([be])(\d+);")
    safe = nh3.clean(
        html,
        tags=_TAGS,
        attribute_filter=partial(_filter, marker=marker, pictures=pictures),
        url_schemes=_SCHEMES,
        link_rel=_REL,
        set_tag_attribute_values={"pre": {"tabindex": "0"}},  # it may scroll
    )
    found = sum(element["tag"] == "img" for element in _ELEMENT.finditer(safe))
    if not pictures:
        safe = _ELEMENT.sub(_without_picture, safe)
    return Markup(marker.sub(lambda match: _boundary(match[1], axes[int(match[2])]), safe)), found


def _expanded(tokens: Sequence[Token]) -> int:
    """Characters of all addresses and titles, counting each use."""
    parts = (part for token in tokens for part in [token, *(token.children or ())])
    return sum(len(str(value)) for part in parts for value in part.attrs.values())


def _mark(token: Token, places: Mapping[int, int], key: str) -> None:
    """Put markers around the marked lines of a block: the key, `b` (or `e` behind it), the place and `;`."""
    if token.map is None:
        return
    first = token.map[0] + (token.type == "fence")
    if token.type in {"fence", "code_block"}:
        lines = token.content.split("\n")
        token.content = "\n".join(
            f"{key}b{places[first + at]};{line}{key}e{places[first + at]};" if first + at in places and line else line
            for at, line in enumerate(lines)
        )
    elif token.type == "inline" and token.children:
        token.children = _mark_children(token.children, first, places, key)


def _mark_children(children: Sequence[Token], line: int, places: Mapping[int, int], key: str) -> list[Token]:
    marked: list[Token] = []
    if line in places:
        marked.append(_text(f"{key}b{places[line]};"))
    for child in children:
        after = line + (child.type in {"softbreak", "hardbreak"}) + child.content.count("\n")
        if after != line and line in places:
            marked.append(_text(f"{key}e{places[line]};"))
        marked.append(child)
        if after != line and after in places:
            marked.append(_text(f"{key}b{places[after]};"))
        line = after
    if line in places:
        marked.append(_text(f"{key}e{places[line]};"))
    return marked


def _boundary(side: str, axes: str) -> str:
    return f'<mark data-carries="{escape(axes)}">' if side == "b" else "</mark>"


def _spell_out(token: Token) -> None:
    """Make dangerous elements text."""
    for part in [token, *(token.children or ())]:
        if part.type in {"html_block", "html_inline"}:
            part.content = _AS_TEXT.sub("&lt;", part.content)


def _without_picture(element: re.Match[str]) -> str:
    """A link in place of a picture; any other element as it is."""
    if element["tag"] != "img":
        return element[0]
    values = {name: Markup(value).unescape() for name, value in _ATTRIBUTE.findall(element["attributes"])}
    name = f"Picture: {values.get('alt') or 'without a name'}"
    if "src" not in values:
        return escape(name)
    return Markup('<a href="{}" rel="{}">{}</a>').format(values["src"], _REL, name)


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _filter(tag: str, attribute: str, value: str, *, marker: re.Pattern[str], pictures: bool) -> str | None:
    """Only absolute addresses: relative ones would lead to our pages. An open quotation mark may swallow a marker."""
    value = marker.sub("", value)
    if attribute == "href":
        return value if value.lower().startswith(("https://", "http://", "mailto:")) else None
    if (tag, attribute) == ("img", "src"):
        return value if value.lower().startswith("https://" if pictures else ("https://", "http://")) else None
    return value
