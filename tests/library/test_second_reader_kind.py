"""Is it a bug at all? What the second reader says of the kind decides which other axes apply."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from distriage.answer.verdict import Candidate, Differential, SimilarIssue, Verdict
from distriage.base.errors import ConfigError
from distriage.base.types import AxisScores, Prediction
from distriage.facts.situation import ORDINARY
from distriage.model.taxonomy import default_taxonomy
from distriage.second_reader.calibration import AxisFusion, ReaderCalibration, load_calibration
from distriage.second_reader.completion import complete
from distriage.second_reader.reader import question

from support.verdicts import axis_verdict, make_verdict

TAXONOMY = default_taxonomy()
BUG_AXES = ("stage", "symptom", "cause", "fix")
HANG = {"kind": {"bug": 1.0}, "symptom": {"runtime-hang": 1.0}, "cause": {"api-misuse": 1.0}}


def prediction(kind: str = "question", p: float = 0.6) -> Prediction:
    """A kind that is as likely as this, `bug` or `question` with the rest; every other axis is open."""
    other = "bug" if kind != "bug" else "question"
    scores = {axis.id: dict.fromkeys(axis.label_ids, 1 / len(axis.label_ids)) for axis in TAXONOMY.axes.values()}
    scores["kind"] = {label: p if label == kind else 1 - p if label == other else 0.0 for label in scores["kind"]}
    return Prediction("toy", {axis: AxisScores(axis, found) for axis, found in scores.items()})


def first(kind: str = "question", p: float = 0.6, outcome: str = "suggest") -> Verdict:
    """What the first reader says of the same."""
    applies = "abstain" if kind == "bug" else "not-applicable"
    verdict = make_verdict(axis_verdict("kind", kind, outcome=outcome), **dict.fromkeys(BUG_AXES, applies))
    axes = {**verdict.axes, "kind": verdict.axes["kind"].model_copy(update={"probability": p})}
    return verdict.model_copy(update={"axes": axes})


def asked(kind: str, p: float, outcome: str) -> tuple[str, ...] | None:
    verdict = first(kind, p, outcome)
    findings: Any = SimpleNamespace(
        read=SimpleNamespace(is_thin=False, input=SimpleNamespace(text="It waits.")),
        situation=ORDINARY,
        prediction=prediction(kind, p),
        bundle=SimpleNamespace(taxonomy=TAXONOMY),
        similar=(),
        verdict=lambda _: verdict,
    )
    found = question(findings, verdict)
    return tuple(found.axes) if found is not None else None


@pytest.mark.parametrize(
    ("kind", "p", "outcome", "axes"),
    [
        ("question", 0.6, "suggest", ("kind", *BUG_AXES)),
        ("question", 0.999, "apply", None),  # surely none: nobody is asked
        ("bug", 0.999, "apply", BUG_AXES),
        ("bug", 0.9, "apply", ("kind", *BUG_AXES)),
    ],
)
def test_where_the_kind_is_in_doubt_the_axes_of_bugs_are_asked_about_beside_it(
    kind: str, p: float, outcome: str, axes: tuple[str, ...] | None
) -> None:
    assert asked(kind, p, outcome) == axes


def test_a_report_that_the_second_reader_calls_a_bug_gets_the_axes_of_bugs() -> None:
    both = complete(first(), prediction(), HANG, TAXONOMY, "m")
    said = {axis: (found.outcome, found.label, found.read_by) for axis, found in both.axes.items()}
    assert said["kind"] == ("suggest", "bug", "second-reader")
    assert said["symptom"] == ("suggest", "runtime-hang", "second-reader")
    assert said["fix"] == ("abstain", "framework-patch", "model")  # it did not answer that
    assert both.axes["fix"].reason == "the second reader named no label"
    assert both.differential is not None and both.differential.causes[0].label == "api-misuse"


def test_a_report_that_the_second_reader_calls_a_question_loses_them() -> None:
    verdict = first("bug", 0.6).model_copy(
        update={
            "differential": Differential(
                causes=[Candidate(label="api-misuse", probability=0.4, check="Look.")], right_among=None
            ),
            "similar": [SimilarIssue(id="own/ring#1", url="", title="The ring waits", labels={}, similarity=0.9)],
        }
    )
    both = complete(verdict, prediction("bug"), {"kind": {"question": 1.0}}, TAXONOMY, "m")
    assert both.axes["kind"].label == "question" and both.differential is None
    assert (both.checks, both.missing, both.similar) == ([], [], [])
    for axis in BUG_AXES:
        assert (both.axes[axis].outcome, both.axes[axis].reason) == ("not-applicable", "kind is probably question")


@pytest.mark.parametrize("measured", [False, True])
def test_a_kind_that_the_first_reader_gives_falls_to_a_measured_reader_alone(measured: bool) -> None:
    fusion = AxisFusion(first=0.2, second=1.0, thresholds={"0.80": 0.5})
    calibration = ReaderCalibration(reader="m", model="toy", axes={"kind": fusion})
    both = complete(first(outcome="apply"), prediction(), HANG, TAXONOMY, "m", calibration if measured else None)
    assert both.axes["kind"].label == ("bug" if measured else "question")
    assert both.axes["kind"].outcome == "apply"
    assert both.axes["symptom"].outcome == ("suggest" if measured else "not-applicable")


def test_a_calibration_that_was_fitted_on_earlier_questions_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "reader.json"
    file.write_text('{"format": 1, "reader": "m", "model": "toy", "axes": {}}', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"reader\.json: format: expected 2, found 1"):
        load_calibration(file, "m", "toy")


@pytest.mark.parametrize(("reader", "model"), [("other", "toy"), ("m", "other")])
def test_a_calibration_of_another_reader_or_bundle_is_refused(reader: str, model: str, tmp_path: Path) -> None:
    file = tmp_path / "reader.json"
    file.write_text('{"reader": "m", "model": "toy", "axes": {}}', encoding="utf-8")
    assert load_calibration(file, "m", "toy").axes == {}
    with pytest.raises(ConfigError, match=r"reader\.json: made for the (reader 'm'|model 'toy'), not for 'other'"):
        load_calibration(file, reader, model)


@pytest.mark.parametrize(
    ("axes", "fault"),
    [
        ('{"cause": {"first": 1e999}}', r"axes\.cause\.first: expected less than or equal to 10, found inf"),
        ('{"cause": {"second": Infinity}}', r"axes\.cause\.second: expected less than or equal to 10"),
        ('{"cause": {"thresholds": {"0.8": 0.6}}}', r"axes\.cause\.thresholds: unknown key 0\.8; known: 0\.80, 0\.90"),
        ('{"couse": {}}', r"axes: unknown key couse; known: kind, stage, symptom, cause, fix"),
        ('{"cause": {"reports": -1}}', r"axes\.cause\.reports: expected greater than or equal to 0"),
    ],
)
def test_a_calibration_that_was_edited_wrongly_is_refused(axes: str, fault: str, tmp_path: Path) -> None:
    file = tmp_path / "reader.json"
    file.write_text(f'{{"reader": "m", "model": "toy", "axes": {axes}}}', encoding="utf-8")
    with pytest.raises(ConfigError, match=fault):
        load_calibration(file, "m", "toy")
