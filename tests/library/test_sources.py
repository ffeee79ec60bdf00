from __future__ import annotations

import codecs
import gzip
import io
import json
import shlex
import sys
from pathlib import Path

import pytest

from distriage.base.errors import InputError
from distriage.base.types import IssueReport
from distriage.reading.report import MAX_REPORT_BYTES
from distriage.recipe.text import MAX_TITLE_CHARS
from distriage.reports.formats import is_batch
from distriage.reports.records import BadRecord, read_batch
from distriage.reports.sources import read_report

from support.github import GitHub

DEEP = b'{"title": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
HUGE_NUMBER = b'{"title": "t", "number": ' + b"1" * 5000 + b"}"


def write(tmp_path: Path, content: bytes | str, name: str = "report.md") -> str:
    file = tmp_path / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(file)


# ---------------------------------------------------------------- one report


@pytest.mark.parametrize(
    ("content", "title", "body"),
    [
        ("# It hangs\n\nAt step 3.\n", "It hangs", "\nAt step 3.\n"),
        ("\n\nIt hangs\nAt step 3.", "It hangs", "At step 3."),
        ("It hangs", "It hangs", ""),
        ("\ufeffIt hangs\nbody", "It hangs", "body"),
        ("It hangs\r\nbody", "It hangs", "body"),
        ("{not json} hangs\nbody", "{not json} hangs", "body"),
        ('{"title": "It hangs", "body": "b"}', "It hangs", "b"),
        ('  {"title": "卡住", "body": null}', "卡住", ""),
        (HUGE_NUMBER, HUGE_NUMBER.decode()[:MAX_TITLE_CHARS], HUGE_NUMBER.decode()),
        ("```\nRuntimeError: x\n```\n", "RuntimeError: x", "```\nRuntimeError: x\n```\n"),
        ("~~~sh\n\n  # a\n~~~", "# a", "~~~sh\n\n  # a\n~~~"),
        ("# " + "hang " * 180 + "\nb", "hang " * 60, "# " + "hang " * 180 + "\nb"),  # a paragraph
    ],
)
def test_the_first_line_is_the_title_unless_it_is_json(
    tmp_path: Path, content: bytes | str, title: str, body: str
) -> None:
    path = write(tmp_path, content)
    assert read_report(path) == IssueReport(title, body, path)


def test_a_given_title_makes_the_whole_file_the_body(tmp_path: Path) -> None:
    path = write(tmp_path, '{"a": 1}\nis my config')
    assert read_report(path, "It hangs") == IssueReport("It hangs", '{"a": 1}\nis my config', path)


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"It hangs\nbody")))
    assert read_report("-") == IssueReport("It hangs", "body", "-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(InputError, match=r"^standard input: empty; expected a report$"):
        read_report("-")
    monkeypatch.setattr(sys, "stdin", None)  # as after `<&-`
    with pytest.raises(InputError, match=r"^standard input: closed; expected a report, or name a FILE$"):
        read_report("-")


@pytest.mark.parametrize(
    ("content", "title", "body"),
    [
        ("It hangs\nbody".encode("utf-16"), "It hangs", "body"),
        ("█ 57%\n[rank3] timeout █".encode()[1:-1], "\ufffd\ufffd 57%", "[rank3] timeout \ufffd"),
        (b"It hangs\n" + b"step 1 done\n" * 99 + b"\xff\xfe" * 5, "It hangs", "step 1 done\n" * 99 + "\ufffd" * 10),
        (b"It hangs\n" + b"step 1 done\n" * 9 + b"\0" * 9, "It hangs", "step 1 done\n" * 9),
        (b"It hangs\n" + b"\0" * 4096 + b"step 1 done\n" + b"\0" * 4096, "It hangs", "step 1 done\n"),
    ],
    ids=["PowerShell", "torn by tail", "stray bytes", "a node died", "whole blocks"],
)
def test_a_log_s_odd_bytes_do_not_refuse_it(tmp_path: Path, content: bytes, title: str, body: str) -> None:
    report = read_report(write(tmp_path, content, "a.log"))
    assert (report.title, report.body) == (title, body)


@pytest.mark.parametrize("name", ["tickets.csv", "Tickets.TSV"])
def test_a_table_is_not_taken_for_a_report(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"a table; expected one report, or several as FILE\.jsonl or FILE\.parquet"):
        read_report(write(tmp_path, "id,title\n1,hangs\n", name))


@pytest.mark.parametrize(
    ("content", "each"),
    [
        ('[{"number": 1, "title": "It hangs", "body": "b"}]', "'.[]'"),  # as `gh issue list --json` writes it
        ('{"title": "It hangs"}\n{"title": "It crashes"}\n{"title": "It leaks"}\n', "."),
        ('{\n  "title": "It hangs"\n}\n{\n  "title": "It crashes"\n}\n', "."),
        ('{"title": "It hangs"} {"title": "It crashes"} and the rest was cut', "."),
    ],
)
def test_several_reports_are_answered_with_what_makes_a_batch_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, each: str
) -> None:
    said = "several reports; expected one, or several in a file, a line each: jq -c"
    for name in ("reports", "my reports.json"):
        path = write(tmp_path, content, name)
        with pytest.raises(InputError) as refused:
            read_report(path)
        assert str(refused.value) == f"{path}: {said} {each} {shlex.quote(path)} > FILE.jsonl"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    with pytest.raises(InputError) as refused:
        read_report("-")
    assert str(refused.value) == f"standard input: {said} {each} > FILE.jsonl"


@pytest.mark.parametrize(
    "content",
    [
        *("[rank0]: it hangs\n", "[1, 2]\n", '{"a": 1}\n{"b": 2}\n', "{\n"),
        '{"title": "a config"}\nIt hangs\n',
        '{"title": "a config"}\n{"seed": 1}\n',
        pytest.param('{"seed": ' + "9" * 5000 + "}\n", id="digits"),
        pytest.param("[" * 100_000 + "\n", id="brackets"),
    ],
)
def test_a_listing_that_looks_like_json_is_text(tmp_path: Path, content: str) -> None:
    assert read_report(write(tmp_path, content, "a.log")).title == content.partition("\n")[0][:MAX_TITLE_CHARS]


def test_a_title_that_is_given_counts_for_json_too(tmp_path: Path) -> None:
    path = write(tmp_path, '{"title": "t", "body": "b"}', "a.json")
    assert read_report(path, "It hangs") == IssueReport("It hangs", "b", path)


@pytest.mark.parametrize(
    ("fields", "identifier"),
    [
        ({"id": "owner/repo#3"}, "owner/repo#3"),
        ({"id": 7}, "7"),
        ({"id": 0, "number": 12}, "12"),
        ({"id": 2384756001, "number": 12, "html_url": "https://github.com/owner/repo/issues/12"}, "owner/repo#12"),
        ({"number": 12, "url": "https://github.com/owner/repo/issues/12"}, "owner/repo#12"),
        ({"id": 7, "url": "https://api.github.com/repos/owner/repo/issues/12", "number": 12}, "owner/repo#12"),
        ({"id": 7, "html_url": "https://git.example/x", "url": None}, "7"),
        ({"number": 12}, "12"),
        ({"id": None, "number": 12}, "12"),
        ({"id": ""}, None),
        ({"id": None}, None),
        ({}, None),
    ],
)
def test_the_id_of_a_json_report(tmp_path: Path, fields: dict[str, object], identifier: str | None) -> None:
    path = write(tmp_path, json.dumps({"title": "t", "body": "b", **fields}), "report.json")
    assert read_report(path).id == (identifier or path)


def test_a_saved_answer_of_github_is_read(tmp_path: Path, github: GitHub) -> None:
    issue = github.add("owner/repo#12", "It hangs", "At step 3.")
    report = read_report(write(tmp_path, json.dumps(issue), "issue.json"))
    assert (report.title, report.body) == ("It hangs", "At step 3.")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.md", b"", "empty; expected a report"),
        ("a.md", b" \n\t\n", "empty; expected a report"),
        ("a.json", b"", "empty; expected a report"),
        ("a.md", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary data; expected text in UTF-8"),
        ("a.md", "It hangs".encode("utf-16-le"), "binary data; expected text in UTF-8"),
        ("a.md", "训练卡住了训练卡住了".encode("gbk"), "not valid UTF-8 at byte 2; expected text in UTF-8"),
        ("a.md", "caf\xe9 ".encode("latin-1") * 9, "not valid UTF-8 at byte 3; expected text in UTF-8"),
        ("a.md", b"x" * (MAX_REPORT_BYTES + 1), "more than 1,048,576 bytes"),
        ("a.md", b"x" * 2_000_000, "more than 1,048,576 bytes"),
        ("a.json", b'{"title": "t"', "not valid JSON; expected an object with `title` and `body`"),
        ("a.JSON", b"It hangs", "not valid JSON; expected an object with `title` and `body`"),
        ("a.json", DEEP, "not valid JSON; expected an object with `title` and `body`"),
        ("a.json", HUGE_NUMBER, "not valid JSON; expected an object with `title` and `body`"),
        ("a.json", b"[1]", "expected a JSON object with `title` and `body`, found list"),
        ("a.json", b'"It hangs"', "expected a JSON object with `title` and `body`, found str"),
        ("a.json", b"null", "expected a JSON object with `title` and `body`, found NoneType"),
        ("a.md", b'{"body": "b"}', "`title` is missing; expected a string"),
        ("a.json", b'{"title": null}', "`title` is NoneType; expected a string"),
        ("a.json", b'{"title": 3}', "`title` is int; expected a string"),
        ("a.json", b'{"title": "t", "description": "b"}', "`body` is missing; expected a string or null"),
        ("a.json", b'{"title": "t", "body": ["b"]}', "`body` is list; expected a string or null"),
    ],
)
def test_a_file_that_holds_no_report_is_refused_by_name(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = write(tmp_path, content, name)
    with pytest.raises(InputError) as refused:
        read_report(path)
    assert str(refused.value).startswith(f"{path}: {message}")


def test_the_largest_file_is_read(tmp_path: Path) -> None:
    assert len(read_report(write(tmp_path, b"x" * MAX_REPORT_BYTES)).body) == MAX_REPORT_BYTES


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.md: cannot be read: No such file or directory$"):
        read_report(str(tmp_path / "none.md"))
    with pytest.raises(InputError, match=r"cannot be read: Is a directory$"):
        read_report(str(tmp_path))


# ---------------------------------------------------------------- many reports


@pytest.mark.parametrize(
    ("path", "batch"),
    [("a.jsonl", True), ("a.NDJSON", True), ("a.json", False), ("jsonl", False), ("-", False), ("a.jsonl.md", False)],
)
def test_what_counts_as_a_batch(path: str, batch: bool) -> None:
    assert is_batch(path) is batch


def test_bad_lines_are_marked_in_their_place_and_the_rest_is_read(tmp_path: Path) -> None:
    lines: list[tuple[bytes, str | None]] = [
        (b'\xef\xbb\xbf{"title": "first", "body": "b", "id": "one"}', None),
        (b"not json", "not valid JSON; expected an object with `title` and `body`"),
        (b"[1, 2]", "expected a JSON object with `title` and `body`, found list"),
        (b'{"body": "b"}', "`title` is missing; expected a string"),
        (b'{"title": 1}', "`title` is int; expected a string"),
        (b'{"title": "t", "description": "b"}', "`body` is missing; expected a string or null"),
        (b'{"title": "t", "body": {}}', "`body` is dict; expected a string or null"),
        (b'{"title": " ", "body": ""}', "empty; expected a title or a body"),
        (b'{"title": "caf\xe9"}', "not valid UTF-8 at byte 14"),
        (DEEP, "not valid JSON; expected an object with `title` and `body`"),
        (HUGE_NUMBER, "not valid JSON; expected an object with `title` and `body`"),
        (
            json.dumps({"title": "t", "body": "x" * MAX_REPORT_BYTES}).encode(),
            "1,048,577 bytes; at most 1,048,576 are read",
        ),
        (
            json.dumps({"title": "t", "body": "卡" * 400_000}, ensure_ascii=False).encode(),
            "1,200,001 bytes; at most 1,048,576 are read",
        ),
        (b'{"title": "' + b"x" * (2 * MAX_REPORT_BYTES) + b'"}', "longer than the 2,097,152 bytes that are read"),
        (b'{"title": "last", "body": null}', None),
    ]
    path = write(tmp_path, b"\n".join(line for line, _ in lines) + b"\n", "reports.jsonl")
    read = list(read_batch(path))
    assert len(read) == len(lines)
    for number, (item, (_, error)) in enumerate(zip(read, lines, strict=True), 1):
        if error is None:
            assert isinstance(item, IssueReport)
        else:
            assert isinstance(item, BadRecord) and item.id == f"{path}:{number}"
            assert item.error.startswith(f"{path}:{number}: {error}")
    assert read[0] == IssueReport("first", "b", "one")
    assert read[-1] == IssueReport("last", "", f"{path}:{len(lines)}")


def test_a_bad_record_keeps_its_id(tmp_path: Path) -> None:
    """Who joins answers to tickets by id must find those that failed, too."""
    records = [
        {"id": "T-5", "title": None},
        {"id": 6, "title": "", "body": " "},
        {"title": 1, "number": 7},
        {"title": 1},
    ]
    path = write(tmp_path, "\n".join(map(json.dumps, records)), "r.jsonl")
    found = list(read_batch(path))
    assert all(isinstance(one, BadRecord) for one in found)
    assert [one.id for one in found] == ["T-5", "6", "7", f"{path}:4"]


def test_blank_lines_count_for_the_line_number_but_give_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, b'\n{"title": "a", "body": ""}\n   \n{}\n', "reports.jsonl")
    read = list(read_batch(path))
    assert [item.id for item in read] == [f"{path}:2", f"{path}:4"]


def test_an_empty_batch_gives_nothing(tmp_path: Path) -> None:
    assert list(read_batch(write(tmp_path, b"", "reports.jsonl"))) == []


def test_a_batch_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl: cannot be read: No such file or directory$"):
        list(read_batch(str(tmp_path / "none.jsonl")))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("compress", [False, True])
def test_a_batch_is_read_as_powershell_writes_it(tmp_path: Path, encoding: str, compress: bool) -> None:
    titles = ["It hangs", "\u6302\u8d77 \U0001f600\u2028", "x" * 70_000]
    text = "".join(json.dumps({"title": title, "body": ""}, ensure_ascii=False) + "\r\n" for title in titles)
    mark = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}.get(encoding, b"")
    content = mark + text.encode(encoding)
    file = write(tmp_path, gzip.compress(content) if compress else content, "a.jsonl.gz" if compress else "a.jsonl")
    assert [found.title for found in read_batch(file) if isinstance(found, IssueReport)] == titles
