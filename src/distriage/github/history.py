"""A repository's past issues, kept in a file so that nothing is fetched twice. Network and file I/O; reads only.

The file holds a header with the repository's forms, then one line per page as GitHub gave it, newest issues first, each
with the query of the next page. An interrupted call leaves whole pages behind, and the next call continues from there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from distriage.base.disk import writing
from distriage.base.errors import InputError
from distriage.base.terminal import say
from distriage.base.times import LAST_S
from distriage.base.types import FormLines
from distriage.github.client import Client
from distriage.github.forms import form_lines
from distriage.github.listed import ListedIssue, issue_type, milestone, reactions

FORMAT = 1
_BEGINNING = f'{{"format": {FORMAT}, '.encode()  # of a header
# The last is for `distriage past index`, which reads the file too.
_KEYS = ("number", "title", "body", "html_url", "created_at", "state", "state_reason", "closed_at")


@dataclass(frozen=True, slots=True)
class History:
    """Issues by the date of filing, without pull requests.

    Attributes:
        fetched_at: When the first page was fetched, Unix time in seconds.
        complete: It includes the oldest ones.
        forms: The repository's when the first page was fetched; None: none, or not known.
    """

    issues: tuple[ListedIssue, ...]
    fetched_at: float
    complete: bool
    forms: FormLines | None = None


def read_history(
    client: Client, repository: str, cache: Path, limit: int | None, progress: Callable[[int], None]
) -> History:
    """Fetch the issues that the file lacks.

    Args:
        limit: How many of the newest issues; all if None.
        progress: Called with the number of issues after each page.

    Raises:
        InputError: the file has another format or repository, or cannot be written.
        GitHubError: GitHub is out of reach or refuses; fetched issues are kept.
    """
    header, pages, size = _read_cache(cache, repository)
    found: dict[int, ListedIssue] = {}
    following: dict[str, str] | None = {"state": "all", "sort": "created", "direction": "desc"}
    for page in pages:
        _collect(found, page["items"])
        following = page["next"]
    progress(len(found))
    if following is not None and (limit is None or len(found) < limit):
        with writing(cache), cache.open("ab") as stream:
            stream.truncate(size)
            if not size:
                forms = form_lines(client, repository, say)
                header["forms"] = forms and {"headings": sorted(forms.headings), "lines": sorted(forms.lines)}
                _write(stream, header)
            for items, after in client.pages(f"/repos/{repository}/issues", following):
                following = after
                _write(stream, {"items": [_kept(item) for item in items if "pull_request" not in item], "next": after})
                _collect(found, items)
                progress(len(found))
                if limit is not None and len(found) >= limit:
                    break
    newest_first = sorted(found.values(), key=lambda issue: (-issue.created_at, -issue.number))
    kept = tuple(reversed(newest_first[:limit]))
    return History(kept, header["fetched_at"], following is None and len(kept) == len(found), forms_of(header))


def load_history(file: Path) -> tuple[str, History]:
    """Repository and history of a file that `read_history` wrote; fetches nothing.

    Raises:
        InputError: missing file, or one of another format.
    """
    if not file.exists():
        raise InputError(f"{file}: no such file; expected what `distriage backtest OWNER/REPO` keeps")
    header, pages, size = _read_cache(file, None)
    if not size:
        raise InputError(f"{file}: not a history that this Distriage wrote; expected a header and a line a page")
    found: dict[int, ListedIssue] = {}
    for page in pages:
        _collect(found, page["items"])
    issues = tuple(sorted(found.values(), key=lambda issue: (issue.created_at, issue.number)))
    complete = bool(pages) and pages[-1]["next"] is None
    return str(header["repository"]), History(issues, header["fetched_at"], complete, forms_of(header))


def forms_of(header: Mapping[str, Any]) -> FormLines | None:
    """The forms in a header; None if absent or malformed, as in a file of an earlier Distriage."""
    match header.get("forms"):
        case {"headings": [*headings], "lines": [*lines]} if all(map(_is_text, (*headings, *lines))):
            return FormLines(frozenset(headings), frozenset(lines))
    return None


def _write(stream: BinaryIO, row: Mapping[str, Any]) -> None:
    stream.write(json.dumps(row).encode("ascii") + b"\n")
    stream.flush()


def _read_cache(cache: Path, repository: str | None) -> tuple[dict[str, Any], list[dict[str, Any]], int]:
    """Header, pages, and the number of bytes that hold them: text after the last line feed is incomplete."""
    fresh = {"format": FORMAT, "repository": repository, "fetched_at": time.time()}
    if not cache.exists():
        return fresh, [], 0
    try:
        content = cache.read_bytes()
    except OSError as error:
        raise InputError(f"{cache}: cannot be read: {error.strerror}") from None
    if b"\n" not in content and content[: len(_BEGINNING)] == _BEGINNING[: len(content)]:
        return fresh, [], 0  # empty, or the header itself broke off
    whole = content[: content.rfind(b"\n") + 1]
    try:
        header, *pages = [json.loads(line) for line in whole.splitlines()]
        form = header["format"]
        ours = (
            isinstance(header["repository"], str)
            and isinstance(header["fetched_at"], float)
            and 0 <= header["fetched_at"] < LAST_S
            and all(map(_is_page, pages))
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        form, ours = FORMAT, False
    expected = "expected none, or another --cache" if repository is not None else "expected what `backtest` keeps"
    if form != FORMAT:
        raise InputError(f"{cache}: a history of format {form!r:.40}; this Distriage reads {FORMAT}; {expected}")
    if not ours:
        raise InputError(f"{cache}: not a history that this Distriage wrote; {expected}")
    known = header["repository"]
    if repository is not None and known.casefold() != repository.casefold():
        raise InputError(f"{cache}: the history of {known}; expected that of {repository}, or another --cache")
    return header, pages, len(whole)


def _is_page(page: Mapping[str, Any]) -> bool:
    """Whether `read_history` may have written it: only the kinds of value that `_collect` and a next call rely on."""
    following = page["next"]
    return (
        (following is None or (isinstance(following, dict) and all(map(_is_text, following.values()))))
        and isinstance(page["items"], list)
        and all(
            isinstance(item, dict)
            and isinstance(item.get("labels") or [], list)
            and isinstance(item.get("user") or {}, dict)
            for item in page["items"]
        )
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _kept(item: Mapping[str, Any]) -> dict[str, Any]:
    """The part of GitHub's JSON that is needed."""
    user, kind = item.get("user") or {}, issue_type(item)
    labels = [label.get("name") if isinstance(label, dict) else label for label in item.get("labels") or ()]
    return {
        **{key: item.get(key) for key in _KEYS},
        "user": {"type": user.get("type")},
        "labels": labels,
        "type": {"name": kind} if kind is not None else None,
        "milestone": milestone(item),
        "reactions": reactions(item),
    }


def _collect(found: dict[int, ListedIssue], items: Iterable[Mapping[str, Any]]) -> None:
    for issue in filter(None, map(ListedIssue.of, items)):
        found.setdefault(issue.number, issue)
