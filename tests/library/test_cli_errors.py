# ruff: noqa: F401, F811  # fixtures
"""Bad input: one line, exit code 2."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from distriage.commands.main import main
from distriage.reading.report import MAX_REPORT_BYTES

from support.cli_reports import classify, report
from support.command_line import Command, Finished, assert_one_line
from support.files import rewrite


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.md", b"", "a.md: empty; expected a report"),
        ("a.md", b"#\n", "a.md: empty; expected a title or a body"),
        ("a.md", b"\x7fELF\x02\x01\x01\0\0\0", "a.md: binary data; expected text in UTF-8"),
        ("a.md", b"It hangs" + b"\xff" * 7, "a.md: not valid UTF-8 at byte 8"),
        pytest.param("a.md", b"x" * (2 * MAX_REPORT_BYTES), "a.md: more than 1,048,576 bytes", id="large"),
        ("a.json", b"{", "a.json: not valid JSON"),
        ("a.json", b"[]", "a.json: expected a JSON object with `title` and `body`, found list"),
        ("a.json", b'{"body": "b"}', "a.json: `title` is missing; expected a string"),
        ("a.json", b'{"title": "t", "body": 5}', "a.json: `body` is int; expected a string or null"),
        ("a.json", b'{"title": "", "body": ""}', "a.json: empty; expected a title or a body"),
        ("a:100:.json", b"{", "a:100:.json: not valid JSON"),
        ("a[red].md", b"", "a[red].md: empty; expected a report"),
    ],
)
def test_a_bad_file(classify: Command, tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert_one_line(classify(tmp_path / name), f"/{message}")


def test_an_error_that_quotes_a_report_obeys_no_escape_sequence_of_it(classify: Command, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        json.dumps({"id": "\x1b]0;x\x07\x9b31m\u202e", "title": "", "body": ""}), encoding="utf-8"
    )
    assert_one_line(classify(tmp_path / "a.json"), " ]0;x  31m : empty; expected a title or a body")


def test_a_bad_file_among_others_costs_none_of_their_answers(classify: Command, tmp_path: Path, report: Path) -> None:
    (tmp_path / "last.md").write_text("It hangs as well", encoding="utf-8")
    files = (report, tmp_path / "none.md", tmp_path / "last.md")
    message = f"{tmp_path / 'none.md'}: cannot be read: No such file or directory"
    shown = classify(*files)
    assert (shown.code, shown.err) == (2, f"distriage: {message}\n")
    assert [block.split("\n")[0] for block in shown.out.split("\n\n")] == ["Training hangs", "It hangs as well"]
    for option in ("--json", "--jsonl"):
        answered = classify(*files, option)
        assert (answered.code, answered.err) == (2, shown.err)
        text = answered.out if option == "--json" else f"[{','.join(answered.out.splitlines())}]"
        assert [answer.get("error") for answer in json.loads(text)] == [None, message, None]


def test_bad_standard_input(classify: Command) -> None:
    assert_one_line(classify(stdin=b""), "standard input: empty; expected a report")
    assert_one_line(
        classify("--title", "t", "-", stdin=b""), "standard input: empty; expected the body that --title goes with"
    )
    assert_one_line(classify("-", stdin=b"\0\1\2"), "standard input: binary data; expected text in UTF-8")
    assert_one_line(classify(stdin=b'{"body": 1}'), "standard input: `title` is missing; expected a string")


@pytest.mark.parametrize("name", ["none.md", "none.jsonl", "none.json"])
def test_a_missing_file(classify: Command, tmp_path: Path, name: str) -> None:
    assert_one_line(classify(tmp_path / name), f"/{name}: cannot be read: No such file or directory")


def test_words_in_place_of_a_file_are_answered_with_the_pipe_that_they_need(classify: Command) -> None:
    assert_one_line(
        classify("my training's hung"),
        "No such file or directory; text goes through a pipe: echo 'my training'\"'\"'s hung' | distriage classify",
    )


def test_a_log_that_is_too_long_is_answered_with_what_cuts_it(classify: Command, tmp_path: Path) -> None:
    log = tmp_path / "my train.log"
    log.write_bytes(b"x" * (MAX_REPORT_BYTES + 1))
    assert_one_line(classify(log), f"tail -c 20000 '{log}' | distriage classify --title '...' -")


def test_a_person_who_types_nothing_is_told_what_is_waited_for(
    keyword_bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keyboard = io.TextIOWrapper(io.BytesIO(b"It hangs"))
    monkeypatch.setattr(keyboard, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", keyboard)
    monkeypatch.setattr(sys, "argv", ["distriage", "classify", "--model", str(keyword_bundle)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert capsys.readouterr().err == "distriage: reading a report from standard input; end it with Ctrl-D\n"


def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", None)  # as Python leaves it after `<&-`
    monkeypatch.setattr(sys, "argv", ["distriage", "classify"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert_one_line(Finished(ended.value.code, *capsys.readouterr()), "standard input: closed; expected a report")  # type: ignore[arg-type]


def test_a_folder(classify: Command, tmp_path: Path) -> None:
    assert_one_line(classify(tmp_path), "cannot be read: Is a directory")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--json", "--jsonl"], "--json and --jsonl: choose one"),
        (["--title", "t", "a.md", "b.md"], "--title goes with one FILE that holds a body"),
        (["--title", "t", "a.jsonl"], "--title goes with one FILE that holds a body"),
        (["--title", "t", "--issue", "a/b#1"], "--title goes with one FILE that holds a body"),
        (["--second-reader", "http://x", "--json", "a.jsonl"], "--second-reader does not go with a batch or --output"),
        (["--show-request", "a.md", "--output", "o.jsonl"], "--show-request does not go with a batch or --output"),
        (["--json", "a.md", "--output", "o.jsonl"], "--json does not go with --output"),
        (["--workers", "2", "a.md"], "--workers does not go with single reports or --json"),
        (["--workers", "2", "--json", "a.jsonl"], "--workers does not go with single reports or --json"),
        (
            ["a.jsonl", "--issue", "a/b#1", "--engine", "ray", "--output", "o"],
            "--issue does not go with --engine ray",
        ),
        (["--issue", "DeepSpeed"], "--issue 'DeepSpeed': expected owner/repo#number or the issue's URL"),
    ],
)
def test_options_that_do_not_go_together(classify: Command, arguments: list[str], message: str) -> None:
    assert_one_line(classify(*arguments), message)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("classify --mode sure", "--mode: 'sure' is not one of 'best', 'balanced', 'precise'"),
        ("serve --port abc", "--port: expected a valid integer, found 'abc'"),
        ("learn a/b --precision 2", "--precision: expected less than or equal to 0.99, found '2'"),
        ("past find --top 0 a b", "--top: expected greater than or equal to 1, found '0'"),
        ("evaluate run.toml --split train", "--split: 'train': expected validation or test"),
        ("serve --host", "Option '--host' requires an argument.\n"),
        ("classify --nope", "No such option: --nope"),
        ("past find", "Missing argument 'INDEX'. See `distriage past find --help`"),
        ("classifi", "No such command 'classifi'. Did you mean 'classify'? See `distriage --help`"),
    ],
)
def test_a_slip_in_what_was_typed_is_one_line(command: Command, typed: str, said: str) -> None:
    assert_one_line(command(*typed.split()), f"distriage: {said}")


def test_an_unknown_model_and_a_folder_without_one(command: Command, tmp_path: Path, report: Path) -> None:
    assert_one_line(
        command("classify", report, "--model", "maxilm-v9"),
        "model 'maxilm-v9': no such directory and no shipped model of that name",
    )
    assert_one_line(
        command("classify", report, "--model", tmp_path),
        "bundle.json: not found or not readable; expected a model bundle",
    )


def test_a_damaged_model_is_refused(command: Command, toy_copy: Path, report: Path) -> None:
    rewrite(toy_copy / "model.onnx", (toy_copy / "model.onnx").read_bytes()[:-1] + b"\0\0")
    assert_one_line(command("classify", report, "--model", toy_copy), "model.onnx: ", "truncated or swapped")


def test_a_broken_model_is_one_line_however_long_the_library_talks(
    command: Command, toy_copy: Path, report: Path
) -> None:
    from support.keyword_model import seal

    rewrite(toy_copy / "model.onnx", b"not a graph\n" * 100)
    seal(toy_copy)
    assert_one_line(command("classify", report, "--model", toy_copy), "model.onnx: onnxruntime cannot load it")
