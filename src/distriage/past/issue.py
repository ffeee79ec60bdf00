"""Past issues as files hold them: JSON lines of GitHub's, of ours, or what `backtest` keeps. Reads only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from distriage.base.errors import InputError
from distriage.base.references import reference_of, web_link
from distriage.base.texts import regex
from distriage.base.times import epoch_s
from distriage.base.types import IssueReport
from distriage.github.history import forms_of
from distriage.github.listed import ListedIssue, github_id, milestone, reactions
from distriage.reading.report import MAX_REPORT_BYTES
from distriage.reports.records import read_records

STATES = ("open", "closed")
MAX_PAGE_BYTES = 64 << 20  # a page holds up to 100 issues
FIELDS = (
    *("id", "number", "title", "body", "html_url", "url", "state", "state_reason", "closed_by"),
    *("created_at", "created", "pull_request", "closed_at", "milestone", "version", "reactions"),
)
_DUPLICATE = regex(r"\bduplicate of (?P<place>[\w.-]{1,100}/[\w.-]{1,100})?#(?P<number>\d{1,18})\b", re.I | re.ASCII)


@dataclass(frozen=True, slots=True)
class PastIssue:
    """An entry of the index.

    Attributes:
        id: `owner/repo#12`, or `#12` if the repository is unknown.
        url: A web page, or empty.
        state: `open`, `closed`, or empty.
        closed_by: A reference or a sentence, or GitHub's reason (`completed`, `not_planned`, `duplicate`), or empty.
        filed_at: Unix time in seconds; 0 if unknown.
        github_id: GitHub's own; 0 if unknown.
        closed_at: Unix time in seconds; 0 if unknown.
        milestone: Its title, or empty.
        version: That of the product in whose tracker it is, as it states it, or empty.
        reactions: How many; 0 if unknown.
        signature: From `signature_of`.
    """

    id: str
    title: str
    url: str = ""
    state: str = ""
    closed_by: str = ""
    filed_at: float = 0.0
    github_id: int = 0
    closed_at: float = 0.0
    milestone: str = ""
    version: str = ""
    reactions: int = 0
    signature: str = ""

    @property
    def original(self) -> str:
        """The id of the issue that it was closed as a duplicate of, or empty."""
        match = _DUPLICATE.search(self.closed_by)
        return "" if match is None else f"{match['place'] or self.id.rpartition('#')[0]}#{match['number']}"

    @property
    def number(self) -> int:
        """The number in `id`, or 0."""
        digits = self.id.rpartition("#")[2]
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else 0

    @property
    def place(self) -> str:
        """The repository in `id`, in lower case."""
        return self.id.rpartition("#")[0].lower()


def read_issues(file: str) -> Iterator[tuple[PastIssue, IssueReport]]:
    """Every issue of a file; skips pull requests, headers and items without a text.

    A line is an issue as in GitHub's API (`number`, `title`, `body`, `html_url`, `state`, `state_reason`, `created_at`)
    or in our form (`id`, `title`, `body`, `url`, `state`, `closed_by`, `created`), or a page of issues (`items`) from
    `distriage backtest --cache`. A table has the same columns.

    Raises:
        InputError: the file cannot be read, or a line is not an issue as a JSON object.
    """
    repository, forms = "", None
    for record in read_records(file, columns=FIELDS, longest=MAX_PAGE_BYTES):
        if len(record.content) > MAX_PAGE_BYTES:
            raise InputError(f"{record.place}: more than {MAX_PAGE_BYTES:,} bytes; expected an issue a line, or a page")
        try:
            value = json.loads(record.content)
        except (ValueError, RecursionError):
            raise InputError(f"{record.place}: not valid JSON; expected an issue a line") from None
        if not isinstance(value, dict):
            raise InputError(f"{record.place}: {type(value).__name__}; expected a JSON object, an issue a line")
        if "format" in value and "repository" in value:
            repository, forms = str(value["repository"]), forms_of(value)
            continue
        items = value["items"] if isinstance(value.get("items"), list) else [value]
        for item in items:
            if not isinstance(item, dict) or not isinstance(item.get("title"), str):
                raise InputError(f"{record.place}: an issue without `title`; expected a string")
            if (found := read_item(item, repository, record.place)) is not None:
                yield found[0], replace(found[1], forms=forms)


def read_item(item: Mapping[str, Any], repository: str, place: str) -> tuple[PastIssue, IssueReport] | None:
    """An issue with a `title`, as above; None for a pull request or an item without readable text.

    Args:
        repository: Used if the item does not name its own.

    Raises:
        InputError: it has neither id nor number.
    """
    if item.get("pull_request") is not None:  # a table has the column for all
        return None
    report = IssueReport(item["title"], _text(item, "body"), _id(item, repository, place))
    return (_issue(item, report), report) if _has_text(report) else None


def past_of(issue: ListedIssue, repository: str) -> tuple[PastIssue, IssueReport] | None:
    """An issue of a repository as the index keeps it; None without readable text."""
    report = IssueReport(issue.title, issue.body, f"{repository}#{issue.number}")
    state, title = "open" if issue.is_open else "closed", " ".join(report.title.split())
    url = web_link(issue.url)
    past = PastIssue(
        *(report.id, title, url, state, issue.reason, issue.created_at, issue.github_id),
        closed_at=issue.closed_at,
        milestone=issue.milestone,
        reactions=issue.reactions,
    )
    return (past, report) if _has_text(report) else None


def _has_text(report: IssueReport) -> bool:
    return bool(report.title.strip()) and len(report.title) + len(report.body) <= MAX_REPORT_BYTES


def _issue(item: Mapping[str, Any], report: IssueReport) -> PastIssue:
    state = _text(item, "state").lower()
    url = _text(item, "html_url") or _text(item, "url")
    return PastIssue(
        id=report.id,
        title=" ".join(report.title.split()),
        url=web_link(url),
        state=state if state in STATES else "",
        closed_by=_text(item, "closed_by") or _text(item, "state_reason"),
        filed_at=epoch_s(_text(item, "created_at") or _text(item, "created")),
        github_id=github_id(item),
        closed_at=epoch_s(item.get("closed_at")),
        milestone=milestone(item),
        version=_text(item, "version"),
        reactions=reactions(item),
    )


def _text(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else ""


def _id(item: Mapping[str, Any], repository: str, place: str) -> str:
    if (named := reference_of(item)) is not None:
        return named
    try:
        return f"{repository}#{int(item['number'])}"
    except (KeyError, TypeError, ValueError, OverflowError):
        expected = "expected `id`, a text such as owner/repo#12, `html_url` or `number`"
        raise InputError(f"{place}: an issue without a name; {expected}") from None
