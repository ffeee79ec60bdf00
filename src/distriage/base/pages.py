"""Rendering of self-contained HTML pages: foreign text is escaped. Needs jinja2 (extras `learn`, `serve`). Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from distriage.base.references import web_link
from distriage.base.texts import packaged, regex

LOOK: Final = Markup(packaged(__package__, "look.css"))
MAX_LINE_CHARS: Final = 120
_CONTROL: Final = regex(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


@cache  # with its templates: to compile one takes longer than to fill it in
def page_environment(package: str) -> Environment:
    """Templates of a package, with the filters `percent`, `date`, `plain` and `web`, and the style sheet `look`;
    autoescape is on.

    Raises:
        ValueError: the package has no folder `templates`.
    """
    environment = Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(percent=_percent, date=_date, plain=plain, web=web_link)
    environment.globals["look"] = LOOK
    return environment


def plain(text: str) -> str:
    """Foreign text on one line of at most `MAX_LINE_CHARS`, without characters that change the display of others."""
    line = " ".join(_CONTROL.sub(" ", text[: 4 * MAX_LINE_CHARS]).split())
    return line if len(line) <= MAX_LINE_CHARS else f"{line[: MAX_LINE_CHARS - 1]}…"


def _percent(value: object) -> str:
    """A share as a percentage; a dash if absent."""
    return f"{value:.0%}" if isinstance(value, float) else "–"


def _date(epoch_s: float) -> str:
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%d")
