"""One report from a file or standard input; `records.py` reads files of many. Reads only."""

from __future__ import annotations

import json
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import BinaryIO

from distriage.base.errors import InputError
from distriage.base.references import reference_of
from distriage.base.texts import encoding_of
from distriage.base.types import IssueReport
from distriage.reading.report import MAX_REPORT_BYTES
from distriage.recipe.text import MAX_TITLE_CHARS

MAX_STRAY_SHARE = 0.01  # of characters that are not UTF-8; a larger share means another encoding
MAX_NUL_SHARE = 0.1  # a node that dies leaves some in its log
MIN_NUL_BLOCK = 64  # bytes; so many together are a block of a disk that was never written
MAX_TORN = 6  # bytes, of one character at each end
_TABLES = (".csv", ".tsv")  # read as one report, a table would become a title and a body
_FENCES = ("```", "~~~")
_NO_JSON = object()
_DECODER = json.JSONDecoder()


def read_report(path: str, title: str | None = None) -> IssueReport:
    """Read one report from a file or, with `-`, from standard input.

    A JSON object with `title` and `body` is read as in GitHub's API. In plain text and Markdown the first line, cut if
    too long, is the title, unless `title` is given.

    Raises:
        InputError: missing, closed, too large, binary, not UTF-8, empty, JSON without a title, or several reports.
    """
    name = "standard input" if path == "-" else path
    if title is None and path.lower().endswith(_TABLES):
        raise InputError(f"{name}: a table; expected one report, or several as FILE.jsonl or FILE.parquet")
    text = _decode(_read_bytes(path, name), name)
    if not text.strip():
        raise InputError(
            f"{name}: empty; expected {'a report' if title is None else 'the body that --title goes with'}"
        )
    is_json = path.lower().endswith(".json")
    if is_json or (title is None and text.lstrip().startswith(("{", "["))):
        value = _parse(text)
        if _are_reports(_first_two(text) if value is _NO_JSON else value):
            each = "." if value is _NO_JSON else "'.[]'"
            file = "" if path == "-" else f"{shlex.quote(path)} "
            raise InputError(
                f"{name}: several reports; expected one, or several in a file, a line each: "
                f"jq -c {each} {file}> FILE.jsonl"
            )
        if is_json and value is _NO_JSON:
            raise InputError(f"{name}: not valid JSON; expected an object with `title` and `body`")
        if is_json or isinstance(value, dict):
            report = report_of(value, name)
            return report if title is None else replace(report, title=title)
    if title is not None:
        return IssueReport(title=title, body=text, id=path)
    first, _, rest = text.lstrip().partition("\n")
    if first.startswith(_FENCES):  # a listing without a word before it: its first line says most
        return IssueReport(title=rest.lstrip().partition("\n")[0].strip(), body=text, id=path)
    heading = first.lstrip("# ").strip()
    if len(heading) > MAX_TITLE_CHARS:  # a paragraph: all of it is read in the body
        return IssueReport(title=heading[:MAX_TITLE_CHARS], body=text, id=path)
    return IssueReport(title=heading, body=rest, id=path)


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # ValueError: not JSON, or a number of thousands of digits
        return _NO_JSON


def _first_two(text: str) -> list[object]:
    """The first two JSON values of a text, as JSON Lines and `jq` write them; empty for other texts."""
    found: list[object] = []
    for _ in range(2):
        text = text.lstrip()
        try:
            value, end = _DECODER.raw_decode(text)
        except (ValueError, RecursionError):
            return []
        text = text[end:]
        found.append(value)
    return found


def _are_reports(value: object) -> bool:
    return isinstance(value, list) and value != [] and all(isinstance(one, dict) and "title" in one for one in value)


def _read_bytes(path: str, name: str) -> bytes:
    if path == "-" and sys.stdin is None:  # as Python leaves it after `<&-`
        raise InputError(f"{name}: closed; expected a report, or name a FILE")
    try:
        if path == "-":
            return _bounded(sys.stdin.buffer, name, "FILE")
        with Path(path).open("rb") as stream:
            return _bounded(stream, name, path)
    except OSError as error:
        hint = ""
        if isinstance(error, FileNotFoundError) and " " in path:
            hint = f"; text goes through a pipe: echo {shlex.quote(path)} | distriage classify"
        raise InputError(f"{name}: cannot be read: {error.strerror}{hint}") from None


def _bounded(stream: BinaryIO, name: str, path: str) -> bytes:
    content = stream.read(MAX_REPORT_BYTES + 1)
    if len(content) > MAX_REPORT_BYTES:
        raise InputError(
            f"{name}: more than {MAX_REPORT_BYTES:,} bytes; give the end of a long log: "
            f"tail -c 20000 {shlex.quote(path)} | distriage classify --title '...' - "
            "(for many reports use a .jsonl file)"
        )
    return content


def _decode(content: bytes, name: str) -> str:
    """The text, with a mark for each stray byte: `tail -c` cuts characters, and logs hold other bytes."""
    if encoding_of(content) == "utf-16":
        return content.decode("utf-16", "replace")
    kept = re.sub(rb"\0{%d,}" % MIN_NUL_BLOCK, b"", content)
    if kept.count(b"\0") > MAX_NUL_SHARE * len(kept):
        raise InputError(f"{name}: binary data; expected text in UTF-8")
    try:
        return kept.decode("utf-8-sig").replace("\0", "")
    except UnicodeDecodeError as error:
        text = kept.decode("utf-8-sig", "replace")
        if text.count("\ufffd") > max(MAX_STRAY_SHARE * len(text), MAX_TORN):
            found = "binary data" if b"\0" in content else f"not valid UTF-8 at byte {error.start}"
            raise InputError(f"{name}: {found}; expected text in UTF-8") from None
        return text.replace("\0", "")


def report_of(value: object, name: str) -> IssueReport:
    """The report in a JSON value; `name` is its place, and its id by default.

    Raises:
        InputError: it is not an object with `title` and `body`.
    """
    if not isinstance(value, dict):
        raise InputError(f"{name}: expected a JSON object with `title` and `body`, found {type(value).__name__}")
    for key, kinds, expected in (("title", str, "a string"), ("body", (str, NoneType), "a string or null")):
        # GitHub has null for an empty body; where the key is missing, the text has another name.
        if key not in value or not isinstance(value[key], kinds):
            found = type(value[key]).__name__ if key in value else "missing"
            raise InputError(f"{name}: `{key}` is {found}; expected {expected}")
    return IssueReport(title=value["title"], body=value["body"] or "", id=identifier_of(value, name))


def identifier_of(value: object, name: str) -> str:
    """The id that a JSON value gives itself, by its address, number or `id`; else `name`."""
    if not isinstance(value, dict):
        return name
    given = (reference_of(value), value.get("number"), value.get("id"))
    return next((str(one) for one in given if one not in (None, "")), name)
