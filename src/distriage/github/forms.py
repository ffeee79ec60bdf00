"""A repository's issue forms and templates on GitHub, as lines by which a report is read. Network I/O; reads only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import quote

import yaml

from distriage.base.errors import GitHubError, NotFoundError, RefusedError
from distriage.base.texts import decoded, regex
from distriage.base.types import FormLines
from distriage.github.client import Client
from distriage.github.kept import Kept

FOLDER: Final = ".github/ISSUE_TEMPLATE"
KEPT_S: Final = 3600.0  # a form is rarely changed, and each look at a report needs it
MAX_FILES: Final = 20
MAX_BYTES: Final = 65_536  # of a file
_MOST_BRACKETS: Final = 500  # of a form; PyYAML compares each with all that are open: seconds for thousands
_RAW: Final = "application/vnd.github.raw+json"
_FRONT_MATTER = regex(r"\A---\n.*?\n---\n", re.S)
_COMMENT = regex(r"<!--.*?-->", re.S)
_HEADING = regex(r"#{1,6}\s+(\S.{0,200})|\*\*([^*\n]{1,200})\*\*:?\s*$")
_NO_FORMS: Final = FormLines(frozenset(), frozenset())
_kept: Final = Kept[tuple[str, str], FormLines](1000, KEPT_S)


def form_lines(client: Client, repository: str, warn: Callable[[str], None] = lambda _: None) -> FormLines | None:
    """The lines of a repository's forms, else of its owner's repository `.github`; None: neither has any.

    Kept for `KEPT_S` in this process, as is a refusal. Never raises where GitHub or a file fails: a report can be read
    without forms, or by the last known ones.

    Args:
        warn: Called with one line if they cannot be read.
    """
    key = (client.api, repository.casefold())
    lines = _kept.get(key)
    if lines is None:
        try:
            lines = _read(client, repository)
            _kept.put(key, lines)
        except GitHubError as error:
            refused = isinstance(error, RefusedError)  # else it is asked again at the next look
            needs = " (permission `contents: read`)" if error.status == 403 else ""
            warn(f"{repository}: its issue forms cannot be read{needs}: {error}")
            lines = _kept.get(key, stale=True) or _NO_FORMS
            if refused:
                _kept.put(key, lines)
    return None if lines == _NO_FORMS else lines


def forget_forms(client: Client, repository: str) -> None:
    """Read them again at the next look; GitHub still answers "unchanged" where they are."""
    _kept.drop((client.api, repository.casefold()))


def _read(client: Client, repository: str) -> FormLines:
    places = dict.fromkeys((repository, f"{repository.partition('/')[0]}/.github"))
    for place in places:
        headings: set[str] = set()
        lines: set[str] = set()
        for path in _paths(client, place):
            parse = _of_template if path.endswith(".md") else _of_form
            for is_heading, line in parse(_text(client, place, path)):
                (headings if is_heading else lines).add(line)
        if headings or lines:
            return FormLines(frozenset(headings), frozenset(lines))
    return _NO_FORMS


def _paths(client: Client, repository: str) -> list[str]:
    try:
        listed = client.get(f"/repos/{repository}/contents/{FOLDER}", remember=True).value
    except NotFoundError:
        return []
    names = (item.get("name") for item in listed if isinstance(item, dict)) if isinstance(listed, list) else ()
    forms = (name for name in names if isinstance(name, str) and name.endswith((".yml", ".yaml", ".md")))
    return [f"{FOLDER}/{name}" for name in forms if name not in {"config.yml", "config.yaml"}][:MAX_FILES]


def _text(client: Client, repository: str, path: str) -> str:
    """A form as it is written; empty if too large, or not UTF-8."""
    content = client.get(f"/repos/{repository}/contents/{quote(path)}", accept=_RAW, remember=True).body
    try:
        return decoded(content) if len(content) <= MAX_BYTES else ""
    except UnicodeDecodeError:
        return ""


def _of_form(text: str) -> Iterator[tuple[bool, str]]:
    """The headings of a form's fields, and the lines that GitHub fills in, not those shown only while writing."""
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        return
    try:
        form: Any = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return
    body = form.get("body") if isinstance(form, dict) else None
    for item in body if isinstance(body, list) else ():
        attributes = item.get("attributes") if isinstance(item, dict) else None
        if not isinstance(attributes, dict) or item.get("type") == "markdown":
            continue
        if isinstance(label := attributes.get("label"), str):
            yield True, label
        if isinstance(value := attributes.get("value"), str):
            yield from ((False, line) for line in value.splitlines() if line.strip())


def _of_template(text: str) -> Iterator[tuple[bool, str]]:
    """The headings and other lines of a template, without its comments, which are dropped from reports anyway."""
    for line in _COMMENT.sub("", _FRONT_MATTER.sub("", text.replace("\r\n", "\n"))).split("\n"):
        if heading := _HEADING.match(line.strip()):
            yield True, heading[1] or heading[2]
        elif line.strip():
            yield False, line.strip()
