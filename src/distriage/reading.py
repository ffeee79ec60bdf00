"""Where reports come from: files, standard input, JSONL, GitHub. Reads only."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from distriage.classifier import MAX_REPORT_BYTES, check_report
from distriage.errors import InputError
from distriage.types import IssueReport

_JSONL_SUFFIXES = frozenset({".jsonl", ".ndjson"})


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record of a batch that cannot be classified, and why."""

    id: str
    error: str


def is_batch(path: str) -> bool:
    """Whether a path names a JSONL file, one report a line."""
    return Path(path).suffix.lower() in _JSONL_SUFFIXES


def read_report(path: str, title: str | None = None) -> IssueReport:
    """Read one report from a file or, with `-`, from standard input.

    A JSON object with `title` and `body` (as GitHub's API gives it) is read as such. Of plain text or Markdown, the first line is the title
    where `title` is not given.

    Raises:
        InputError: missing, too large, binary, not UTF-8, empty, or JSON without a title.
    """
    name = "standard input" if path == "-" else path
    text = _decode(_read_bytes(path, name), name)
    if not text.strip():
        raise InputError(f"{name}: empty; expected a report")
    is_json = path.lower().endswith(".json")
    if is_json or (title is None and text.lstrip().startswith("{")):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):  # ValueError: not JSON, or a number of thousands of digits
            if is_json:
                raise InputError(f"{name}: not valid JSON; expected an object with `title` and `body`") from None
        else:
            return _report_of(value, name)
    if title is not None:
        return IssueReport(title=title, body=text, id=path)
    first, _, rest = text.lstrip().partition("\n")
    return IssueReport(title=first.lstrip("# ").strip(), body=rest, id=path)


def _read_bytes(path: str, name: str) -> bytes:
    if path == "-":
        return _bounded(sys.stdin.buffer, name)
    try:
        with Path(path).open("rb") as stream:
            return _bounded(stream, name)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}") from None


def _bounded(stream: BinaryIO, name: str) -> bytes:
    content = stream.read(MAX_REPORT_BYTES + 1)
    if len(content) > MAX_REPORT_BYTES:
        raise InputError(
            f"{name}: more than {MAX_REPORT_BYTES:,} bytes; a report on GitHub holds at most 65,536 characters (for many reports use a .jsonl file)"
        )
    return content


def _decode(content: bytes, name: str) -> str:
    if b"\0" in content[:8192]:
        raise InputError(f"{name}: binary data; expected text in UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not valid UTF-8 at byte {error.start}; expected text in UTF-8") from None


def _report_of(value: object, name: str) -> IssueReport:
    if not isinstance(value, dict):
        raise InputError(f"{name}: expected a JSON object with `title` and `body`, found {type(value).__name__}")
    title, body = value.get("title"), value.get("body")
    if not isinstance(title, str):
        raise InputError(f"{name}: `title` is {'missing' if 'title' not in value else type(title).__name__}; expected a string")
    if body is not None and not isinstance(body, str):
        raise InputError(f"{name}: `body` is {type(body).__name__}; expected a string or null")
    given = value.get("id") or value.get("number") or name
    return IssueReport(title=title, body=body or "", id=str(given))


def read_batch(path: str) -> Iterator[IssueReport | BadRecord]:
    """Read a JSONL file, one report or one marked failure a line.

    Raises:
        InputError: the file itself cannot be opened.
    """
    try:
        stream = Path(path).open("rb")  # noqa: SIM115
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    with stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            place = f"{path}:{number}"
            try:
                yield _parse_line(line, place)
            except InputError as error:
                yield BadRecord(place, str(error))


def _parse_line(line: bytes, place: str) -> IssueReport:
    if len(line) > 2 * MAX_REPORT_BYTES:
        raise InputError(f"{place}: {len(line):,} bytes; at most {2 * MAX_REPORT_BYTES:,} are read")
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: not valid UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{place}: not valid JSON; expected an object with `title` and `body`") from None
    report = _report_of(value, place)
    check_report(replace(report, id=place))
    return report
