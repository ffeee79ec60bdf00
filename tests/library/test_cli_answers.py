# ruff: noqa: F401, F811  # fixtures
"""What `distriage classify` prints for reports, and what the other commands of the library show."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import distriage
from distriage.base.terminal import MAINTAIN, READ, TRAIN
from distriage.model.taxonomy import default_taxonomy

from support.cli_reports import REPORT, classify, document, lines, report, schema
from support.command_line import Command, Finished, assert_one_line


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


@pytest.mark.parametrize("source", ["file", "standard input"])
def test_a_title_can_be_given_to_a_file_of_answers_too(
    classify: Command, report: Path, tmp_path: Path, source: str
) -> None:
    output = tmp_path / "answers.jsonl"
    arguments = [report] if source == "file" else []
    done = classify(*arguments, "--title", "Segfault", "--output", output, stdin=report.read_bytes())
    assert (done.code, json.loads(output.read_text(encoding="utf-8"))["title"]) == (0, "Segfault")


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


def test_one_label_is_shown_with_its_definition_and_its_checks(command: Command) -> None:
    finished = command("taxonomy", "symptom", "runtime-hang")
    assert finished.code == 0
    shown = " ".join(finished.out.split())
    label = default_taxonomy().axis("symptom").label("runtime-hang")
    assert " ".join(label.definition.split()) in shown
    assert "py-spy" in shown


def test_a_pipe_gets_whole_lines() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    piped = subprocess.run(
        [sys.executable, "-m", "distriage", "taxonomy", "cause"], env=environment, capture_output=True, text=True
    )
    definitions = [label.definition for label in default_taxonomy().axis("cause").labels]
    assert max(map(len, definitions)) > 80
    assert all(any(definition in line for line in piped.stdout.splitlines()) for definition in definitions)


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
    assert_one_line(
        command("taxonomy", "runtime-hang"), "unknown axis 'runtime-hang' (a label of axis symptom); known:"
    )
    assert_one_line(command("taxonomy", "symptoms"), "unknown axis 'symptoms'; did you mean symptom?")


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
    for name in ("classify", "taxonomy", "bench", "train", "export", "evaluate"):
        assert name in shown
        assert command(name, "--help").code == 0
