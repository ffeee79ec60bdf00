"""The event that a workflow runs for, and the issue that it is about."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from distriage.base.errors import InputError
from distriage.base.references import REPOSITORY, IssueReference
from distriage.base.texts import decoded

MAX_EVENT_BYTES: Final = 32 << 20  # GitHub sends at most 25 MiB
_NUMBER = re.compile(r"0{0,9}[1-9][0-9]{0,9}")  # of an issue


def read_event(path: str) -> Mapping[str, Any]:
    """The event's JSON, empty without a path.

    Raises:
        InputError: it cannot be read, or is not an object.
    """
    if not path:
        return {}
    file = Path(path)
    try:
        if file.stat().st_size > MAX_EVENT_BYTES:
            raise InputError(f"GITHUB_EVENT_PATH: {path}: more than {MAX_EVENT_BYTES:,} bytes")
        event = json.loads(decoded(file.read_bytes()))
    except OSError as error:
        raise InputError(f"GITHUB_EVENT_PATH: {path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise InputError(f"GITHUB_EVENT_PATH: {path} is not valid JSON") from None
    if not isinstance(event, dict):
        raise InputError(f"GITHUB_EVENT_PATH: {path} holds no object")
    return event


def target(repository: str, issue_number: str, event: Mapping[str, Any]) -> IssueReference:
    """The issue to label: the named one, else that of the event.

    Raises:
        InputError: there is none.
    """
    repository = repository or table(event, "repository").get("full_name") or ""
    if not isinstance(repository, str) or not REPOSITORY.fullmatch(repository):
        raise InputError(f"GITHUB_REPOSITORY: {repository!r}; expected owner/repo")
    number = issue_number.strip() or table(event, "issue").get("number")
    if number is None:
        raise InputError("the event holds no issue; run on `issues`, or set the input issue-number")
    if not _NUMBER.fullmatch(str(number)):
        raise InputError(f"issue-number: {str(number)[:40]!r}; expected a number such as 12")
    return IssueReference(repository, int(number))


def table(event: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """An object in the event; empty if it is not one."""
    value = event.get(key)
    return value if isinstance(value, dict) else {}
