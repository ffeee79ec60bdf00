from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import distriage
from distriage.cli import main
from distriage.reading import MAX_REPORT_BYTES
from distriage.taxonomy import default_taxonomy
from distriage.terminal import MAINTAIN, READ, TRAIN

from support import faults
from support.checkout import REPOSITORY
from support.command_line import Command, Finished, assert_one_line
from support.files import rewrite
from support.github import CLOSED_PORT, GitHub

PROGRAM = Path(sys.executable).with_name("distriage")
REPORT = "Training hangs\n\nIt hangs with a timeout on 8 A100, torch 2.3.0.\n"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    file = tmp_path / "report.md"
    file.write_text(REPORT, encoding="utf-8")
    return file


@pytest.fixture
def classify(command: Command, keyword_bundle: Path) -> Command:
    """Calls `distriage classify` with the toy model."""

    def run(*arguments: object, stdin: bytes = b"") -> Finished:
        return command("classify", *arguments, "--model", keyword_bundle, stdin=stdin)

    return run


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return dict(json.loads((REPOSITORY / "schemas" / "verdict.schema.json").read_text(encoding="utf-8")))


def document(finished: Finished, schema: dict[str, Any]) -> Any:
    """The JSON on standard output, valid by the published schema, after a silent success."""
    assert (finished.code, finished.err) == (0, "")
    parsed = json.loads(finished.out)
    jsonschema.Draft202012Validator(schema).validate(parsed)  # `validate` checks the schema too, each time
    return parsed


def lines(finished: Finished, schema: dict[str, Any], summary: str | None = None) -> list[Any]:
    """The same of JSON lines; `summary`: the line on standard error that a batch ends with."""
    assert (finished.code, finished.err) == (0, "" if summary is None else f"{summary}\n")
    return [document(Finished(0, line, ""), schema) for line in finished.out.splitlines()]


# ---------------------------------------------------------------- what it prints


def test_a_file_gives_one_screen(classify: Command, report: Path) -> None:
    finished = classify(report)
    assert (finished.code, finished.err) == (0, "")
    shown = [line.rstrip() for line in finished.out.splitlines()]
    assert shown[0] == "Training hangs"
    assert shown[-1] == "toy, taxonomy 1, mode balanced"
    assert any(line.split()[:2] == ["Symptom", "hang"] for line in shown)
    assert "Environment  torch 2.3.0, gpu model A100, gpu count 8" in shown
    assert len(shown) <= 24


def test_several_files_come_in_order(classify: Command, tmp_path: Path, schema: dict[str, Any]) -> None:
    files = []
    for name in ("b", "a", "c"):
        (tmp_path / name).write_text(f"report {name}\nit hangs", encoding="utf-8")
        files.append(tmp_path / name)
    shown = classify(*files).out.split("\n\n")
    assert [block.split("\n")[0] for block in shown] == ["report b", "report a", "report c"]
    assert [answer["title"] for answer in document(classify("--json", *files), schema)] == [
        "report b",
        "report a",
        "report c",
    ]
    assert [answer["id"] for answer in lines(classify("--jsonl", *files), schema)] == list(map(str, files))


def test_json_of_one_report_is_one_document(classify: Command, report: Path, schema: dict[str, Any]) -> None:
    answer = document(classify(report, "--json"), schema)
    assert (answer["id"], answer["title"], answer["model"]) == (str(report), "Training hangs", "toy")
    assert answer["axes"]["symptom"]["label"] == "hang"
    assert all(axis["evidence"] is None for axis in answer["axes"].values())


def test_standard_input_is_the_default(classify: Command, schema: dict[str, Any]) -> None:
    assert document(classify("--json", stdin=REPORT.encode()), schema)["title"] == "Training hangs"
    assert (
        document(classify("-", "--json", stdin=b'{"title": "\\u5361\\u4f4f", "body": null, "id": "x/y#1"}'), schema)[
            "id"
        ]
        == "x/y#1"
    )


def test_a_title_can_be_given(classify: Command, report: Path, schema: dict[str, Any]) -> None:
    assert document(classify(report, "--title", "Mine", "--json"), schema)["title"] == "Mine"
    assert document(classify("--title", "Mine", "--json", stdin=b"it hangs"), schema)["title"] == "Mine"


@pytest.mark.parametrize(("mode", "outcome"), [("best", "apply"), ("balanced", "apply"), ("precise", "suggest")])
def test_the_mode(classify: Command, mode: str, outcome: str, schema: dict[str, Any]) -> None:
    answer = document(classify("--json", "--mode", mode, stdin=b"it hangs"), schema)  # p = 0.87
    assert (answer["mode"], answer["axes"]["symptom"]["outcome"]) == (mode, outcome)


def test_explain_marks_the_lines(classify: Command, schema: dict[str, Any]) -> None:
    source = b"Trouble\nI start it.\nThen it hangs."
    answer = document(classify("--explain", "--json", stdin=source), schema)
    assert answer["axes"]["symptom"]["evidence"] == [{"line": "Then it hangs.", "weight": 3.0}]
    shown = classify("--explain", stdin=source).out.splitlines()
    assert shown[shown.index("Why symptom hang (log-odds lost without the line):") + 1] == "  +3.00  Then it hangs."


def test_the_exported_model_answers_on_every_axis(command: Command, tiny_bundle: Path, schema: dict[str, Any]) -> None:
    answer = document(command("classify", "--json", "--explain", "--model", tiny_bundle, stdin=REPORT.encode()), schema)
    assert answer["model"] == "tiny"
    assert list(answer["axes"]) == list(default_taxonomy().axes)


# ---------------------------------------------------------------- batches


def test_a_batch_gives_a_line_a_record_and_marks_the_bad_ones(
    classify: Command, tmp_path: Path, schema: dict[str, Any]
) -> None:
    rows = [
        '{"title": "it hangs", "id": "a/b#1"}',
        "not json",
        json.dumps({"title": "卡" * 400_000}, ensure_ascii=False),
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
            json.dumps({"title": f"it {words[i % 3]}", "id": str(i)}) + "\n" if i % 10 else "bad\n" for i in range(130)
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
    file.write_text('{"title": "it hangs"}\n', encoding="utf-8")
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


def test_an_empty_batch_gives_nothing(classify: Command, tmp_path: Path) -> None:
    (tmp_path / "reports.jsonl").write_bytes(b"")
    assert classify(tmp_path / "reports.jsonl") == Finished(0, "", "0 answers\n")
    assert json.loads(classify(tmp_path / "reports.jsonl", "--json").out) == []


# ---------------------------------------------------------------- bad input: one line, exit code 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.md", b"", "a.md: empty; expected a report"),
        ("a.md", b"#\n", "a.md: empty; expected a title or a body"),
        ("a.md", b"\x7fELF\x02\x01\x01\0\0\0", "a.md: binary data; expected text in UTF-8"),
        ("a.md", b"It hangs \xff", "a.md: not valid UTF-8 at byte 9"),
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
    assert_one_line(classify(log), f"tail -c 60000 '{log}' | distriage classify --title '...' -")


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


def test_a_folder(classify: Command, tmp_path: Path) -> None:
    assert_one_line(classify(tmp_path), "cannot be read: Is a directory")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--json", "--jsonl"], "--json and --jsonl: choose one"),
        (["--title", "t", "a.md", "b.md"], "--title goes with one FILE that holds a body"),
        (["--title", "t", "a.jsonl"], "--title goes with one FILE that holds a body"),
        (["--title", "t", "--issue", "a/b#1"], "--title goes with one FILE that holds a body"),
        (["--issue", "DeepSpeed"], "--issue 'DeepSpeed': expected owner/repo#number or the issue's URL"),
    ],
)
def test_options_that_do_not_go_together(classify: Command, arguments: list[str], message: str) -> None:
    assert_one_line(classify(*arguments), message)


def test_an_unknown_mode_is_refused_with_the_known_ones(classify: Command) -> None:
    refused = classify("--mode", "sure")
    assert refused.code == 2
    assert all(word in refused.err for word in ("--mode", "'sure'", "best", "balanced", "precise"))


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


# ---------------------------------------------------------------- GitHub


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
    assert_one_line(classify("--issue", "owner/repo#12"), "owner/repo#12: was deleted")
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


def test_without_a_network_the_address_is_named(classify: Command) -> None:
    assert_one_line(classify("--issue", "owner/repo#12"), f"owner/repo#12: GitHub cannot be reached at {CLOSED_PORT}: ")


# ---------------------------------------------------------------- taxonomy, bench, version


def test_the_taxonomy_is_shown(command: Command) -> None:
    finished = command("taxonomy")
    assert (finished.code, finished.err) == (0, "")
    shown = {line.rstrip() for line in finished.out.splitlines()}
    assert {
        "Symptom: What does the reporter observe? (34)",
        "Root cause: Why does it happen? (28)",
        "Kind: Is it a bug report at all? (4)",
    } <= shown
    first_words = {line.split()[0] for line in shown if line}
    assert first_words >= {label for axis in default_taxonomy().axes.values() for label in axis.label_ids}


def test_one_axis_is_shown_with_its_definitions(command: Command) -> None:
    out = command("taxonomy", "kind").out
    assert "Fix pattern" not in out
    for label in default_taxonomy().axis("kind").labels:
        assert label.id in out and label.definition.split()[0] in out


@pytest.mark.parametrize("arguments", [[], ["cause"]])
def test_the_taxonomy_as_json(command: Command, arguments: list[str]) -> None:
    taxonomy = json.loads(command("taxonomy", *arguments, "--json").out)
    packaged = default_taxonomy()
    assert (taxonomy["name"], taxonomy["version"]) == (packaged.name, packaged.version)
    assert list(taxonomy["axes"]) == (arguments or list(packaged.axes))
    for axis_id, axis in taxonomy["axes"].items():
        assert [(label["id"], label["family"], label["definition"]) for label in axis["labels"]] == [
            (label.id, label.family, label.definition) for label in packaged.axis(axis_id).labels
        ]


def test_an_unknown_axis_names_the_known_ones(command: Command) -> None:
    assert_one_line(
        command("taxonomy", "severity"), "unknown axis 'severity'; known: kind, distributed, stage, symptom, cause, fix"
    )
    assert_one_line(command("taxonomy", "severity", "--json"), "unknown axis 'severity'")
    assert_one_line(command("taxonomy", "symptoms"), "unknown axis 'symptoms' (did you mean symptom?)")


def test_the_version(command: Command) -> None:
    assert command("--version") == Finished(0, f"distriage {distriage.__version__}\n", "")


def test_help_is_grouped_by_task(command: Command) -> None:
    shown = command("-h").out
    places = [shown.index(word) for word in (READ, "classify", MAINTAIN, "backtest", TRAIN, "evaluate")]
    assert places == sorted(places)
    assert "--install-completion" in shown
    assert command("classify", "-h").out == command("classify", "--help").out


def test_every_command_has_help(command: Command) -> None:
    shown = command("--help").out
    for name in ("classify", "taxonomy", "bench", "train", "export", "evaluate", "corpus"):
        assert name in shown
        assert command(name, "--help").code == 0


# ---------------------------------------------------------------- the installed program, in a process of its own


def program(*arguments: object, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *map(str, arguments)],
        input=stdin.decode(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        check=False,
    )


def test_the_program_classifies(keyword_bundle: Path, schema: dict[str, Any]) -> None:
    done = program("classify", "--json", "--model", keyword_bundle, stdin=REPORT.encode())
    assert document(Finished(done.returncode, done.stdout, done.stderr), schema)["axes"]["symptom"]["label"] == "hang"


def test_the_program_ends_bad_input_in_one_line(keyword_bundle: Path, tmp_path: Path) -> None:
    done = program("classify", tmp_path / "none.md", "--model", keyword_bundle)
    assert_one_line(
        Finished(done.returncode, done.stdout, done.stderr), "none.md: cannot be read: No such file or directory"
    )


def test_a_file_whose_name_is_not_utf8(keyword_bundle: Path, tmp_path: Path, schema: dict[str, Any]) -> None:
    name = os.fsencode(tmp_path) + b"/r\xff.md"
    try:
        Path(os.fsdecode(name)).write_text(REPORT, encoding="utf-8")
    except OSError:
        pytest.skip("this file system refuses such names")
    done = subprocess.run(
        [PROGRAM, "classify", name, "--json", "--model", keyword_bundle],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert document(Finished(done.returncode, done.stdout, done.stderr), schema)["id"].endswith("/r?.md")


def test_a_reader_that_goes_away_gets_no_traceback(keyword_bundle: Path, tmp_path: Path) -> None:
    file = tmp_path / "reports.jsonl"
    file.write_text('{"title": "it hangs"}\n' * 400, encoding="utf-8")
    with subprocess.Popen(
        [PROGRAM, "classify", file, "--model", keyword_bundle], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().startswith(b"{")
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode != 0


def test_a_command_whose_extra_is_missing_says_what_to_type(tmp_path: Path) -> None:
    """Blocks the import of torch, as in an installation without the extra; `test_install.py` tries the real one."""
    code = (
        "import sys; sys.modules['torch'] = None; from distriage.cli import main; sys.argv = "
        "['distriage', 'train', sys.argv[1]]; main()"
    )
    config = REPOSITORY / "configs" / "tiny.toml"
    done = subprocess.run(
        [sys.executable, "-c", code, config], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert_one_line(
        Finished(done.returncode, done.stdout, done.stderr),
        "this command needs torch; type: pip install 'distriage[train]' (in a checkout: '.[train]')",
    )


@pytest.mark.parametrize(
    "module", ["distriage", "distriage.cli", "distriage.taxonomy", "distriage.recipe.text", "distriage.github"]
)
def test_imports_stay_light(module: str) -> None:
    code = (
        f"import sys, {module}; "
        f"print(sorted({{'torch', 'transformers', 'onnxruntime', 'numpy', 'fastapi', 'sklearn'}} & "
        f"set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_main_is_the_entry_point() -> None:
    from importlib.metadata import entry_points

    (point,) = entry_points(group="console_scripts", name="distriage")
    assert point.load() is main
