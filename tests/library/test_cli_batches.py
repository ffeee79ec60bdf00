# ruff: noqa: F401, F811  # fixtures
"""Many reports in one call of `distriage classify`, and reports from GitHub."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from distriage.base.errors import WorkerError
from distriage.engine import local

from support import faults
from support.batches import batch, leave_unfinished
from support.cli_reports import classify, document, lines, report, schema
from support.command_line import Command, Finished, assert_one_line
from support.faults import Fault, Trouble
from support.github import CLOSED_PORT, GitHub


def test_a_batch_gives_a_line_a_record_and_marks_the_bad_ones(
    classify: Command, tmp_path: Path, schema: dict[str, Any]
) -> None:
    rows = [
        '{"title": "it hangs", "body": null, "id": "a/b#1"}',
        "not json",
        json.dumps({"title": "卡" * 400_000, "body": ""}, ensure_ascii=False),
        '{"title": "hang \\ud83d", "body": "segfault"}',
    ]
    file = tmp_path / "reports.jsonl"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    answers = lines(classify(file), schema, "4 answers, 2 of them `error`: a record that cannot be read")
    assert [answer["id"] for answer in answers] == ["a/b#1", f"{file}:2", f"{file}:3", f"{file}:4"]
    assert [answer.get("error", "").removeprefix(f"{file}:") for answer in answers] == [
        "",
        "2: not valid JSON; expected an object with `title` and `body`",
        "3: 1,200,000 bytes; at most 1,048,576 are read (GitHub itself stores 65,536 characters)",
        "",
    ]
    assert answers[0]["axes"]["symptom"]["label"] == "hang"
    assert answers[3]["axes"]["symptom"]["label"] == "crash"
    assert document(classify(file, "--json"), schema) == answers


def test_a_batch_of_many_keeps_its_order(classify: Command, tmp_path: Path, schema: dict[str, Any]) -> None:
    file = tmp_path / "reports.jsonl"
    words = ["hangs", "segfault", "exhausted"]
    file.write_text(
        "".join(
            json.dumps({"title": f"it {words[i % 3]}", "body": "", "id": str(i)}) + "\n" if i % 10 else "bad\n"
            for i in range(130)
        ),
        encoding="utf-8",
    )
    answers = lines(classify(file), schema, "130 answers, 13 of them `error`: a record that cannot be read")
    assert len(answers) == 130
    for i, answer in enumerate(answers):
        if i % 10 == 0:
            assert answer["id"] == f"{file}:{i + 1}" and "error" in answer
        else:
            assert (answer["id"], answer["axes"]["symptom"]["label"]) == (
                str(i),
                {"hangs": "hang", "segfault": "crash", "exhausted": "oom"}[words[i % 3]],
            )


def test_beside_a_batch_other_files_are_marked_too(
    classify: Command, tmp_path: Path, report: Path, schema: dict[str, Any]
) -> None:
    file, empty, hollow = tmp_path / "reports.jsonl", tmp_path / "empty.md", tmp_path / "hollow.md"
    file.write_text('{"title": "it hangs", "body": ""}\n', encoding="utf-8")
    empty.write_bytes(b"")
    hollow.write_bytes(b"###\n")
    summary = "5 answers, 3 of them `error`: a record that cannot be read"
    answers = lines(classify(empty, report, hollow, file, tmp_path / "none.md"), schema, summary)
    assert [answer.get("error", "-").removeprefix(str(tmp_path)) for answer in answers] == [
        "/empty.md: empty; expected a report",
        "-",
        "/hollow.md: empty; expected a title or a body",
        "-",
        "/none.md: cannot be read: No such file or directory",
    ]


@pytest.mark.parametrize("form", [(), ("--json",), ("--output", "out.jsonl"), ("--output", "out.jsonl.gz")])
def test_a_batch_of_which_nothing_can_be_read_fails(classify: Command, tmp_path: Path, form: tuple[str, ...]) -> None:
    """As a table with other columns, or what PowerShell wrote as UTF-16: every record has its answer, and is wrong."""
    file = tmp_path / "reports.jsonl"
    file.write_text('{"text": "it hangs"}\n' * 3, encoding="utf-8")
    options = [tmp_path / option if option.startswith("out") else option for option in form]
    done = classify(file, *options)
    assert done.code == 2
    assert done.err.splitlines()[-1] == "distriage: no record could be read; the `error` of each says why"
    written = (tmp_path / form[1]).exists() if len(form) > 1 else done.out.count("`title` is missing") == 3
    assert written
    file.write_text('{"text": "it hangs"}\n{"title": "it hangs", "body": ""}\n', encoding="utf-8")
    assert classify(file, *options).code == 0


def test_a_run_that_goes_on_counts_the_errors_before(classify: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    file, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    good, bad = '{"title": "it hangs \\"axes\\":", "body": ""}\n', "not json\n"
    for rows, kept, code, summary in (
        ([bad, good, bad, bad], 2, 0, "4 answers, 3 of them `error`"),
        ([bad, bad, bad], 3, 2, "3 answers, 3 of them `error`"),
    ):
        file.write_text("".join(rows), encoding="utf-8")
        classify(file, "--output", output)
        answers = output.read_bytes().splitlines(keepends=True)[:kept]
        leave_unfinished(output, b"".join(answers), keyword_bundle)
        done = classify(file, "--output", output, "--resume")
        assert done.code == code and done.err.startswith(f"{summary}: a record that cannot be read: {output}\n")


@pytest.mark.parametrize(
    ("before", "errors", "code", "summary"),
    [(0, 0, 0, ""), (0, 4, 0, ", 4 of them `error`: a record that cannot be read"), (0, 9, 2, ", 9 of"), (1, 9, 0, "")],
)
def test_a_cluster_s_errors_are_counted(
    classify: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: int,
    errors: int,
    code: int,
    summary: str,
) -> None:
    from distriage.engine import cluster
    from distriage.engine.output import Tally

    steps = [cluster.Step(before, 2), cluster.Step(2, 2, Tally(9, errors))]
    monkeypatch.setattr(cluster, "run", lambda *_, **__: iter(steps))
    done = classify(tmp_path / "in.jsonl", "--engine", "ray", "--output", tmp_path / "out")
    assert done.code == code and f"9 answers in 0 s{summary}" in done.err


def test_where_a_damaged_file_ends_the_run_what_was_answered_is_not_lost(
    classify: Command, tmp_path: Path, schema: dict[str, Any]
) -> None:
    """With `--json` too, which prints at the end."""
    file = tmp_path / "cut.jsonl.gz"
    file.write_bytes(gzip.compress(b'{"title": "it hangs", "body": "", "id": "a/b#1"}\n' * 3)[:-9])
    ended = classify(file, "--json")
    assert ended.code == 2 and ended.err.startswith(f"distriage: {file}: damaged")
    answers = document(Finished(0, ended.out, ""), schema)
    assert [answer["id"] for answer in answers] == ["a/b#1"] * 3


def test_an_empty_batch_gives_nothing(classify: Command, tmp_path: Path) -> None:
    (tmp_path / "reports.jsonl").write_bytes(b"")
    assert classify(tmp_path / "reports.jsonl") == Finished(0, "", "0 answers\n")
    assert json.loads(classify(tmp_path / "reports.jsonl", "--json").out) == []


def test_a_report_in_github_s_form_is_named_as_its_issue(
    classify: Command, tmp_path: Path, github: GitHub, schema: dict[str, Any]
) -> None:
    issue = {**github.add("owner/repo#12", "it hangs", "At step 3."), "id": 2384756001}
    file, table = tmp_path / "issues.jsonl", tmp_path / "issues.parquet"
    file.write_text(json.dumps(issue) + "\n", encoding="utf-8")
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(
        pyarrow.table({key: [issue[key]] for key in ("title", "body", "id", "number", "html_url")}), table
    )
    for path in (file, table):
        assert [answer["id"] for answer in lines(classify(path), schema, "1 answer")] == ["owner/repo#12"]


def test_issues_are_read_from_github(classify: Command, github: GitHub, schema: dict[str, Any]) -> None:
    github.add("owner/repo#12", "It hangs", "with a segfault, segfault")
    github.add("owner/repo#13", "Memory exhausted", None)
    answers = document(
        classify("--issue", "owner/repo#12", "--issue", "https://github.com/owner/repo/issues/13", "--json"), schema
    )
    assert [(answer["id"], answer["title"], answer["axes"]["symptom"]["label"]) for answer in answers] == [
        ("owner/repo#12", "It hangs", "crash"),
        ("owner/repo#13", "Memory exhausted", "oom"),
    ]
    assert [request.path for request in github.requests] == [
        "/repos/owner/repo/issues/12",
        "/repos/owner/repo/issues/13",
    ]


def test_an_issue_can_come_beside_a_file(
    classify: Command, github: GitHub, report: Path, schema: dict[str, Any]
) -> None:
    github.add("owner/repo#12", "It hangs")
    assert [answer["id"] for answer in document(classify(report, "--issue", "owner/repo#12", "--json"), schema)] == [
        str(report),
        "owner/repo#12",
    ]


def test_a_private_issue_needs_the_token(classify: Command, github: GitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    github.add("owner/repo#12", "It hangs")
    github.private.add("owner/repo#12")
    assert_one_line(
        classify("--issue", "owner/repo#12"),
        "owner/repo#12: does not exist, or is private (no token was given; set GITHUB_TOKEN)",
    )
    monkeypatch.setenv("GITHUB_TOKEN", github.token)
    assert classify("--issue", "owner/repo#12").out.startswith("It hangs\n")


def test_what_github_refuses_is_one_line(classify: Command, github: GitHub) -> None:
    github.gone.add("owner/repo#12")
    assert_one_line(classify("--issue", "owner/repo#12"), "owner/repo#12: is gone (410): This issue was deleted")
    for fault, message in (
        (
            faults.rate_limit(int(time.time()) + 600),
            "GitHub's rate limit is reached; it ends in ",
        ),
        (faults.secondary_limit(120), "GitHub's rate limit is reached; it ends in 120 s; with a token (GITHUB_TOKEN)"),
        (faults.forbidden(), "owner/repo#12: GitHub refused (403)"),
        (faults.bad_credentials(), "owner/repo#12: GitHub refused (401)"),
        (faults.server_error(), "owner/repo#12: GitHub fails (500)"),
        (faults.malformed(), "owner/repo#12: GitHub's answer is not JSON"),
        (faults.dropped(), "owner/repo#12: GitHub cannot be reached at"),
    ):
        github.fail(fault)
        assert_one_line(classify("--issue", "owner/repo#12"), message)


THREE = ("--issue", "owner/repo#11", "--issue", "owner/repo#12", "--issue", "owner/repo#13")


@pytest.fixture
def three(github: GitHub) -> GitHub:
    """The second of three issues says nothing."""
    for number, title in ((11, "It hangs"), (12, " "), (13, "Memory exhausted")):
        github.add(f"owner/repo#{number}", title)
    return github


@pytest.mark.parametrize(
    "why", ["is gone (410): This issue was deleted", "GitHub refused (403)", "empty; expected a title or a body"]
)
@pytest.mark.parametrize("to_file", [False, True])
def test_an_issue_of_several_that_cannot_be_read_keeps_its_place(
    classify: Command, three: GitHub, tmp_path: Path, why: str, to_file: bool
) -> None:
    if "deleted" in why:
        three.gone.add("owner/repo#12")
    elif "refused" in why:
        three.troubles.append(Trouble("issues/12$", faults.forbidden()))
    output = tmp_path / "answers.jsonl"
    done = classify(*THREE, *(("--output", output) if to_file else ("--jsonl",)))
    text = output.read_text(encoding="utf-8") if to_file else done.out
    answers = [json.loads(line) for line in text.splitlines()]
    assert [answer["id"] for answer in answers] == [f"owner/repo#{number}" for number in (11, 12, 13)]
    assert [why in answer.get("error", "") for answer in answers] == [False, True, False]
    assert (done.code, why in done.err) == ((0, False) if to_file else (2, True))


def test_where_a_worker_dies_the_command_says_how_to_go_on(
    classify: Command, batch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "answers.jsonl"
    answer = local.answer

    def dying(*args: Any) -> Iterator[object]:
        yield from islice(answer(*args), 2)
        raise WorkerError("a worker process died")

    with monkeypatch.context() as patched:
        patched.setattr(local, "answer", dying)
        done = classify(batch, "--output", output)
    assert done.code == 2
    assert f"{output}.part holds 2 answers: --resume goes on" in done.err
    assert classify(batch, "--output", output, "--resume").code == 0
    assert len(output.read_text(encoding="utf-8").splitlines()) == 200


@pytest.mark.parametrize("form", ["--json", "--jsonl", "--output"])
@pytest.mark.parametrize("fault", [faults.rate_limit(int(time.time()) + 600), faults.dropped()])
def test_where_github_ends_the_run_what_was_answered_is_not_lost(
    classify: Command, three: GitHub, tmp_path: Path, form: str, fault: Fault
) -> None:
    output, part = tmp_path / "answers.jsonl", tmp_path / "answers.jsonl.part"
    three.troubles.append(Trouble("issues/13$", fault, times=9))
    options = (*THREE, form, *((output,) if form == "--output" else ()))
    done = classify(*options)
    assert done.code == 2 and ("rate limit is reached" in done.err or "cannot be reached" in done.err)
    text = part.read_text(encoding="utf-8") if form == "--output" else done.out
    answers = json.loads(text) if form == "--json" else [json.loads(line) for line in text.splitlines()]
    assert [answer["id"] for answer in answers] == ["owner/repo#11", "owner/repo#12"]
    if form == "--output":
        assert f"{part} holds 2 answers: --resume goes on" in done.err
        three.troubles.clear()
        assert classify(*options, "--resume").code == 0
        assert [json.loads(line)["id"][-2:] for line in output.read_text(encoding="utf-8").splitlines()] == [
            *("11", "12", "13")
        ]


def test_without_a_network_the_address_is_named(classify: Command) -> None:
    assert_one_line(classify("--issue", "owner/repo#12"), f"owner/repo#12: GitHub cannot be reached at {CLOSED_PORT}: ")
