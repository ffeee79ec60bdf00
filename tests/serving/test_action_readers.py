# ruff: noqa: F401, F811  # fixtures
"""What a second reader, own labels and past issues add to a run of the Action."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from distriage.classifier import Classifier

from support import past_index
from support.action import Act, act, double, outputs, runner, summary
from support.github import PERSON, GitHub
from support.reader import calibration_file, endpoint, saying

DOUBTFUL = "One worker prints memory and other numbers, drops its connection, and nobody can tell why it waits."


@pytest.mark.parametrize("calibrated", [False, True])
def test_a_second_reader_completes_the_verdict(
    double: GitHub, runner: Path, act: Act, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calibrated: bool
) -> None:
    double.open("owner/repo#1", "Strange", DOUBTFUL)
    monkeypatch.setenv("DISTRIAGE_SECOND_READER_KEY", "a-key")
    with endpoint() as reader:
        reader.answer = saying("oom", "tuning")
        file = str(calibration_file(tmp_path)) if calibrated else ""
        assert act(second_reader=reader.url, reader_model="m", reader_calibration=file) == 0
        assert reader.keys == ["Bearer a-key"] * (2 if calibrated else 1)
    assert double.labels("owner/repo#1") == (["symptom: oom"] if calibrated else [])
    assert "**Second reader**: `m: read symptom, fix`" in summary(runner)


@pytest.mark.parametrize(("strict", "kind", "code"), [("", "warning", 0), ("true", "error", 2)])
def test_a_second_reader_that_fails_leaves_the_first_verdict(
    double: GitHub, runner: Path, act: Act, capsys: pytest.CaptureFixture[str], strict: str, kind: str, code: int
) -> None:
    double.open("owner/repo#1", "Strange", DOUBTFUL)
    with endpoint() as reader:
        reader.answer = lambda _: (500, b"zebra")
        assert act(strict, second_reader=reader.url, reader_model="m") == code
    assert f"::{kind} title=Distriage::the second reader refused (HTTP 500)" in capsys.readouterr().out
    assert "the second reader refused (HTTP 500)" in summary(runner) and "zebra" not in summary(runner)
    assert json.loads(outputs(runner)["prediction"])["axes"]["symptom"]["read_by"] == "model"


def test_own_labels_that_the_repository_has_are_set(double: GitHub, runner: Path, act: Act, own_labels: Path) -> None:
    double.open("owner/repo#1", "A typo", "The page of the manual has a typo.")
    double.define("owner/repo", "docs")
    assert act(own_labels=str(own_labels)) == 0
    assert "docs" in double.labels("owner/repo#1")
    assert json.loads(outputs(runner)["prediction"])["own"][0]["label"] == "docs"


def test_an_own_label_that_is_gone_or_was_taken_off_is_not_set(
    double: GitHub, runner: Path, act: Act, own_labels: Path
) -> None:
    double.open("owner/repo#1", "A typo", "The page of the manual has a typo.")
    assert act(own_labels=str(own_labels)) == 0
    assert "docs" not in double.labels("owner/repo#1") and "no longer has" in summary(runner)
    double.label("owner/repo#1", "docs", PERSON)
    double.unlabel("owner/repo#1", "docs", PERSON)
    assert act(own_labels=str(own_labels)) == 0
    assert "docs" not in double.labels("owner/repo#1") and "somebody took it off" in summary(runner)


def test_own_labels_of_another_repository_are_named_and_not_used(
    double: GitHub, runner: Path, act: Act, own_labels: Path, tmp_path: Path
) -> None:
    double.open("owner/repo#1", "A typo", "The page of the manual has a typo.")
    double.define("owner/repo", "docs")
    other = Path(shutil.copytree(own_labels, tmp_path / "own"))
    (other / "own.json").write_text((own_labels / "own.json").read_text().replace('"owner/repo"', '"owner/old"'))
    assert act(own_labels=str(other), strict="true") == 2
    assert "learned from owner/old" in summary(runner) and "docs" not in double.labels("owner/repo#1")
    double.renamed["owner/old"] = "owner/repo"
    assert act(own_labels=str(other), strict="true") == 0
    assert "docs" in double.labels("owner/repo#1")


UNUSABLE = {
    "own_labels": "own.json",
    "past_issues": "none: missing",
    "reader_calibration": "none: not found or not readable",
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_what_cannot_be_used_is_left_out_and_the_axes_are_labelled(
    double: GitHub, runner: Path, act: Act, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    double.open("owner/repo#2", "Training hangs", "It hangs and hangs after a timeout.")
    for number, strict, code, kind in (("1", "", 0, "warning"), ("2", "true", 2, "error")):
        given = {what: str(tmp_path / "none"), "second_reader": "http://127.0.0.1:9", "reader_model": "m"}
        if what != "reader_calibration":
            del given["second_reader"]
        assert act(strict, issue_number=number, **given) == code
        assert double.labels(f"owner/repo#{number}") == ["symptom: hang"]
        (said,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::")]
        assert (
            said.startswith(f"::{kind} ")
            and UNUSABLE[what] in said
            and said.endswith("; the axes are labelled without it")
        )
        assert "**Warning**: `" in summary(runner) and UNUSABLE[what] in summary(runner)


def test_the_summary_names_the_past_issue_that_is_likely_the_same(
    double: GitHub, runner: Path, act: Act, shipped_bundle: Path, tmp_path: Path
) -> None:
    double.open("owner/repo#9", past_index.TITLE, past_index.BODY)
    file = past_index.write_asked_before(tmp_path / "past", Classifier(shipped_bundle, threads=1))
    given = {"model": str(shipped_bundle), "issue_number": "9", "past_issues": str(file)}
    assert act(**given) == 0
    assert "**Likely the same issue**" in summary(runner) and "[`Owner/Repo#1`](https://redirect" in summary(runner)
    assert [item["id"] for item in json.loads(outputs(runner)["prediction"])["duplicates"]] == ["Owner/Repo#1"]
    assert not any("/comments" in write.path for write in double.written)
    double.files["owner/repo/.github/distriage.yml"] = "name-duplicates: true\n"
    assert act(**given) == 0
    (comment,) = [write for write in double.written if write.path.endswith("/comments")]
    assert "redirect.github.com/Owner/Repo/issues/1" in str(comment.body)


def test_the_summary_says_where_a_closed_issue_was_fixed(
    double: GitHub, runner: Path, act: Act, shipped_bundle: Path, tmp_path: Path
) -> None:
    double.open("owner/repo#9", past_index.TITLE, past_index.BODY)
    index, file, table = past_index.asked_before(Classifier(shipped_bundle)), tmp_path / "past.npz", tmp_path / "r.json"
    closed = replace(index.issues[0], state="closed", closed_by="completed", closed_at=1.7e9)
    replace(index, issues=[closed, *index.issues[1:]]).save(file)
    releases = [{"tag": "v2.0.0", "published_at": 1.6e9}, {"tag": "v2.1.0", "published_at": 1.8e9}]
    table.write_text(json.dumps({"repositories": {"owner/repo": {"fetched_at": 1.9e9, "releases": releases}}}))
    given = {"model": str(shipped_bundle), "issue_number": "9", "past_issues": str(file), "releases": str(table)}
    assert act(**given) == 0
    assert "(closed: `completed`; probably fixed in 2.1.0)" in summary(runner)


def test_an_index_of_past_issues_of_another_model_is_left_out(
    act: Act, shipped_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = past_index.write_asked_before(tmp_path, Classifier(shipped_bundle, threads=1))
    assert act("true", past_issues=str(file)) == 2
    assert "input past-issues: " in (said := capsys.readouterr().out) and "expected toy" in said
