from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.answer.policy import FLOOR, WHY_SILENT, decide, family_scores
from distriage.base.types import AxisScores, Decision, Detail, Mode, Outcome, Prediction, Silence
from distriage.model.bundle import AxisCalibration
from distriage.model.taxonomy import parse_taxonomy

TAXONOMY = parse_taxonomy(
    """
name = "toy"
version = "1"
[axis.kind]
[axis.symptom]
requires = { axis = "kind", label = "bug" }
[[kind]]
id = "bug"
definition = "d"
[[kind]]
id = "question"
definition = "d"
[[symptom]]
id = "oom"
family = "memory"
definition = "d"
[[symptom]]
id = "leak"
family = "memory"
definition = "d"
[[symptom]]
id = "hang"
family = "execution"
definition = "d"
[[symptom]]
id = "crash"
family = "execution"
definition = "d"
""",
    "toy.toml",
)
CALIBRATION = {
    "kind": AxisCalibration(
        labels=("bug", "question"),
        temperature=1,
        thresholds={
            "0.50": {"bug": 0.5, "question": 0.5},
            "0.80": {"bug": 0.6, "question": 0.7},
            "0.90": {"bug": 0.8, "question": 0.9},
        },
    ),
    "symptom": AxisCalibration(
        labels=("oom", "leak", "hang", "crash"),
        temperature=1,
        thresholds={
            "0.50": {"oom": 0.4, "leak": 0.4, "hang": 0.4, "crash": None},
            "0.80": {"oom": 0.6, "leak": 0.6, "hang": 0.6, "crash": None},
            "0.90": {"oom": 0.8, "leak": 0.8, "hang": None, "crash": None},
        },
        family_thresholds={
            "0.50": {"memory": 0.5, "execution": 0.5},
            "0.80": {"memory": 0.7, "execution": None},
            "0.90": {"memory": 0.9, "execution": None},
        },
    ),
}


UNSURE = "balanced needs 0.60 for this label"


def decide_symptom(
    probabilities: tuple[float, float, float, float], mode: Mode = Mode.BALANCED, bug: float = 0.9
) -> Decision:
    symptom = dict(zip(("oom", "leak", "hang", "crash"), probabilities, strict=True))
    scores = {"kind": AxisScores("kind", {"bug": bug, "question": 1 - bug}), "symptom": AxisScores("symptom", symptom)}
    return decide(Prediction("toy", scores), CALIBRATION, TAXONOMY, mode)["symptom"]


@pytest.mark.parametrize(
    ("probabilities", "mode", "outcome", "family", "reason"),
    [
        (
            (0.60, 0.20, 0.10, 0.10),
            Mode.BALANCED,
            Outcome.APPLY,
            None,
            "at least 0.60: from there on, at least 80% were right on held-out reports",
        ),
        ((0.59, 0.05, 0.20, 0.16), Mode.BALANCED, Outcome.SUGGEST, None, f"{UNSURE}; still more likely right than not"),
        (
            (0.59, 0.11, 0.20, 0.10),
            Mode.BALANCED,
            Outcome.SUGGEST,
            "memory",
            f"{UNSURE}; still more likely right than not",
        ),
        ((0.39, 0.21, 0.20, 0.20), Mode.BALANCED, Outcome.ABSTAIN, None, UNSURE),
        ((0.39, 0.35, 0.16, 0.10), Mode.BALANCED, Outcome.ABSTAIN, "memory", UNSURE),
        ((0.05, 0.05, 0.45, 0.45), Mode.BALANCED, Outcome.SUGGEST, None, UNSURE),
        (
            (0.02, 0.02, 0.06, 0.90),
            Mode.BALANCED,
            Outcome.ABSTAIN,
            None,
            "on held-out reports this label was never right often enough for balanced",
        ),
        (
            (0.79, 0.11, 0.05, 0.05),
            Mode.PRECISE,
            Outcome.SUGGEST,
            "memory",
            "precise needs 0.80 for this label; still more likely right than not",
        ),
        (
            (0.80, 0.05, 0.05, 0.10),
            Mode.PRECISE,
            Outcome.APPLY,
            None,
            "at least 0.80: from there on, at least 90% were right on held-out reports",
        ),
        (
            (0.01, 0.01, 0.97, 0.01),
            Mode.PRECISE,
            Outcome.SUGGEST,
            None,
            "on held-out reports this label was never right often enough for precise; still more likely right than not",
        ),
        ((0.26, 0.25, 0.25, 0.24), Mode.BEST, Outcome.APPLY, None, "the likeliest label"),
        ((0.02, 0.02, 0.06, 0.90), Mode.BEST, Outcome.APPLY, None, "the likeliest label"),
    ],
)
def test_outcomes(
    probabilities: tuple[float, float, float, float], mode: Mode, outcome: Outcome, family: str | None, reason: str
) -> None:
    decision = decide_symptom(probabilities, mode)
    assert (decision.outcome, decision.family, decision.reason) == (outcome, family, reason)
    assert decision.probability == max(probabilities)


@pytest.mark.parametrize(
    ("top", "sibling", "outcome", "family"),
    [
        (0.30, 0.10, Outcome.ABSTAIN, None),
        (0.45, 0.40, Outcome.ABSTAIN, None),  # balanced would be sure of the family, but 0.95 is wanted
        (0.49, 0.46, Outcome.ABSTAIN, "memory"),
        (0.59, 0.37, Outcome.SUGGEST, "memory"),
        (0.90, 0.06, Outcome.SUGGEST, "memory"),  # balanced would give the label
        (0.94996, 0.01, Outcome.APPLY, None),  # people see 0.95
    ],
)
def test_a_wanted_probability_decides_label_and_family(
    top: float, sibling: float, outcome: Outcome, family: str | None
) -> None:
    symptom = {"oom": top, "leak": sibling, "hang": (1 - top - sibling) / 2, "crash": (1 - top - sibling) / 2}
    scores = {"kind": AxisScores("kind", {"bug": 0.9, "question": 0.1}), "symptom": AxisScores("symptom", symptom)}
    said = decide(Prediction("toy", scores), CALIBRATION, TAXONOMY, own_modes={"symptom": 0.95})["symptom"]
    assert (said.outcome, said.family) == (outcome, family)
    assert said.reason == f"{'at or above' if outcome is Outcome.APPLY else 'below'} the configured 0.95"


@pytest.mark.parametrize("mode", list(Mode))
def test_what_is_no_bug_has_no_symptom(mode: Mode) -> None:
    decision = decide_symptom((0.99, 0.01, 0.0, 0.0), mode, bug=0.4)
    assert decision.outcome is Outcome.NOT_APPLICABLE
    assert decision.reason == ("kind is question" if mode is Mode.BEST else "kind is probably question")  # .6
    assert (decision.label, decision.family) == ("oom", None)


def test_a_decision_keeps_what_the_model_said_whatever_the_outcome() -> None:
    decision = decide_symptom((0.30, 0.20, 0.35, 0.15))
    assert (decision.axis, decision.label, decision.probability) == ("symptom", "hang", 0.35)
    assert decision.family_probability == pytest.approx(0.5)


def test_an_axis_without_families_has_no_family_probability() -> None:
    scores = {
        "kind": AxisScores("kind", {"bug": 0.55, "question": 0.45}),
        "symptom": AxisScores("symptom", {"oom": 1.0, "leak": 0.0, "hang": 0.0, "crash": 0.0}),
    }
    kind = decide(Prediction("toy", scores), CALIBRATION, TAXONOMY)["kind"]
    assert (kind.outcome, kind.family, kind.family_probability) == (Outcome.SUGGEST, None, None)


def test_decisions_come_in_the_order_of_the_taxonomy() -> None:
    scores = {
        "symptom": AxisScores("symptom", {"oom": 1.0, "leak": 0.0, "hang": 0.0, "crash": 0.0}),
        "kind": AxisScores("kind", {"bug": 1.0, "question": 0.0}),
    }
    assert list(decide(Prediction("toy", scores), CALIBRATION, TAXONOMY)) == ["kind", "symptom"]


def test_family_scores_are_sums() -> None:
    scores = family_scores(
        TAXONOMY.axis("symptom"), AxisScores("symptom", {"oom": 0.1, "leak": 0.2, "hang": 0.3, "crash": 0.4})
    )
    assert scores == {"memory": pytest.approx(0.3), "execution": pytest.approx(0.7)}


@given(st.tuples(*[st.floats(0.001, 1)] * 4), st.floats(0, 1))
def test_a_stricter_mode_never_applies_more(weights: tuple[float, float, float, float], bug: float) -> None:
    total = sum(weights)
    a, b, c, d = (weight / total for weight in weights)
    outcomes = [decide_symptom((a, b, c, d), mode, bug).outcome for mode in (Mode.PRECISE, Mode.BALANCED, Mode.BEST)]
    applied = [outcome is Outcome.APPLY for outcome in outcomes]
    assert applied == sorted(applied)
    assert len({outcome is Outcome.NOT_APPLICABLE for outcome in outcomes}) == 1


# ---------------------------------------------------------------- no false confidence


def with_thresholds(
    balanced: float | None, precise: float | None, suggested: float | None
) -> dict[str, AxisCalibration]:
    """The calibration with other thresholds of every symptom."""
    labels = TAXONOMY.axes["symptom"].label_ids
    thresholds = {"0.50": suggested, "0.80": balanced, "0.90": precise}
    symptom = CALIBRATION["symptom"].model_copy(
        update={
            "thresholds": {target: dict.fromkeys(labels, value) for target, value in thresholds.items()},
            "family_thresholds": {target: {"memory": 0.1, "execution": 0.1} for target in thresholds},
        }
    )
    return {**CALIBRATION, "symptom": symptom}


@pytest.mark.parametrize(
    ("mode", "probability", "outcome"),
    [
        (Mode.BALANCED, 0.49, Outcome.SUGGEST),
        (Mode.BALANCED, 0.50, Outcome.APPLY),
        (Mode.PRECISE, 0.69, Outcome.SUGGEST),
        (Mode.PRECISE, 0.70, Outcome.APPLY),
        (Mode.BEST, 0.40, Outcome.APPLY),
    ],
)
def test_no_label_is_applied_below_the_floor_of_its_mode(mode: Mode, probability: float, outcome: Outcome) -> None:
    """Thresholds may be as low as .28 where the labels above them were right on average (M12)."""
    rest = (1 - probability) / 3
    scores = {
        "kind": AxisScores("kind", {"bug": 0.9, "question": 0.1}),
        "symptom": AxisScores("symptom", {"oom": rest, "leak": rest, "hang": probability, "crash": rest}),
    }
    made = decide(Prediction("toy", scores), with_thresholds(0.28, 0.28, 0.2), TAXONOMY, mode)["symptom"]
    assert made.outcome is outcome


@given(
    st.lists(st.floats(0.01, 1), min_size=4, max_size=4),
    st.tuples(*[st.one_of(st.none(), st.floats(0.05, 0.99))] * 3),
    st.sampled_from([Mode.BALANCED, Mode.PRECISE]),
)
def test_the_words_never_contradict_the_figure(
    parts: list[float], thresholds: tuple[float | None, float | None, float | None], mode: Mode
) -> None:
    symptom = dict(zip(("oom", "leak", "hang", "crash"), (part / sum(parts) for part in parts), strict=True))
    scores = {"kind": AxisScores("kind", {"bug": 0.9, "question": 0.1}), "symptom": AxisScores("symptom", symptom)}
    made = decide(Prediction("toy", scores), with_thresholds(*thresholds), TAXONOMY, mode)["symptom"]
    if made.outcome is Outcome.APPLY:
        assert made.probability >= FLOOR[mode]
    if "more likely right than not" in made.reason:
        assert made.probability > 0.5
    if needed := re.search(r"needs ([\d.]+)", made.reason):
        assert made.probability < float(needed.group(1)) + 0.005
    if made.family is not None:
        assert made.family_probability is not None and made.family_probability >= FLOOR[mode]


@pytest.mark.parametrize("mode", list(Mode))
def test_a_thin_report_gets_no_answer_that_needs_detail(mode: Mode) -> None:
    axes = {axis.id: axis.model_copy(update={"needs_detail": axis.id == "symptom"}) for axis in TAXONOMY.axes.values()}
    scores = {
        "kind": AxisScores("kind", {"bug": 0.99, "question": 0.01}),
        "symptom": AxisScores("symptom", {"oom": 0.0, "leak": 0.0, "hang": 1.0, "crash": 0.0}),
    }
    taxonomy = TAXONOMY.model_copy(update={"axes": axes})
    made = decide(Prediction("toy", scores), CALIBRATION, taxonomy, mode, detail=Detail.LITTLE)
    assert (made["symptom"].outcome, made["symptom"].silence) == (Outcome.ABSTAIN, Silence.THIN)
    assert made["symptom"].reason == WHY_SILENT[Silence.THIN]
    assert made["kind"].outcome is Outcome.APPLY
