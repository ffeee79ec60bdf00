"""What a second reader's answer changes in the first verdict, and what it cannot change."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from distriage.answer.differential import with_labels
from distriage.answer.playbooks import check_for
from distriage.answer.policy import reaches
from distriage.answer.verdict import AxisVerdict, Candidate, Differential, EvidenceLine, Verdict
from distriage.base.types import AxisScores, Mode, Prediction, Silence
from distriage.facts.situation import ORDINARY, Platform, Situation
from distriage.model.taxonomy import default_taxonomy
from distriage.second_reader.calibration import AxisFusion, ReaderCalibration
from distriage.second_reader.completion import complete, may_be_given

from support.verdicts import axis_verdict, make_verdict

TAXONOMY = default_taxonomy()
FUSION = AxisFusion(first=0.2, second=1.0, thresholds={"0.80": 0.5, "0.90": 0.7})
CALIBRATION = ReaderCalibration(reader="m", model="toy", axes={"symptom": FUSION, "cause": FUSION})


def completed(
    verdict: Verdict,
    shares: Mapping[str, Mapping[str | None, float]],
    calibrated: bool = True,
    situation: Situation = ORDINARY,
) -> Verdict:
    scores = {
        axis.id: AxisScores(axis.id, dict.fromkeys(axis.label_ids, 1 / len(axis.label_ids)))
        for axis in TAXONOMY.axes.values()
    }
    fusion = CALIBRATION if calibrated else None
    return complete(verdict, Prediction("toy", scores), shares, TAXONOMY, "m", fusion, situation=situation)


def test_what_no_probability_overrules_the_second_reader_does_not_either() -> None:
    silent = axis_verdict("symptom", outcome="abstain").model_copy(update={"silence": Silence.PERHAPS_FOREIGN})
    both = completed(make_verdict(silent), {"symptom": {"runtime-hang": 1.0}})
    assert both.axes["symptom"] == silent
    assert both.second_reading is not None and both.second_reading.axes == []


def test_a_report_that_may_be_of_another_field_gets_no_label_by_becoming_a_bug() -> None:
    question, silent = axis_verdict("kind", "question"), axis_verdict("symptom", outcome="not-applicable")
    first = make_verdict(question, silent).model_copy(update={"mode": Mode.PRECISE})
    scores = {axis.id: AxisScores(axis.id, dict.fromkeys(axis.label_ids, 0.1)) for axis in TAXONOMY.axes.values()}
    answers = {"kind": {"bug": 1.0}, "symptom": {"runtime-hang": 1.0}}
    calibration = ReaderCalibration(reader="m", model="toy", axes={"kind": FUSION, "symptom": FUSION})

    def symptom(surely: bool) -> AxisVerdict:
        prediction = Prediction("toy", scores, surely_in_domain=surely)
        return complete(first, prediction, answers, TAXONOMY, "m", calibration).axes["symptom"]

    assert (symptom(True).outcome, symptom(True).label) == ("apply", "runtime-hang")
    assert (symptom(False).outcome, symptom(False).silence) == ("abstain", "perhaps-foreign")


def test_a_report_that_may_be_of_another_field_gets_no_list_of_causes_by_becoming_a_bug() -> None:
    question, cause = axis_verdict("kind", "question"), axis_verdict("cause", outcome="not-applicable")
    first = make_verdict(question, cause).model_copy(update={"mode": Mode.PRECISE, "differential": None})
    scores = {axis.id: AxisScores(axis.id, dict.fromkeys(axis.label_ids, 0.1)) for axis in TAXONOMY.axes.values()}
    calibration = ReaderCalibration(reader="m", model="toy", axes={"kind": FUSION})
    for surely in (True, False):
        prediction = Prediction("toy", scores, surely_in_domain=surely)
        both = complete(first, prediction, {"kind": {"bug": 1.0}}, TAXONOMY, "m", calibration)
        assert (both.axes["kind"].label, both.axes["cause"].outcome) == ("bug", "abstain")
        assert (both.differential is not None) is surely


@pytest.mark.parametrize("label", ["runtime-hang", "memory-growth"])  # the likeliest before, and after
def test_an_axis_or_a_label_of_its_own_that_is_precise_is_as_careful_as_the_whole(label: str) -> None:
    first = make_verdict(axis_verdict("kind", "bug"), axis_verdict("symptom", "runtime-hang", outcome="suggest"))
    scores = {axis.id: AxisScores(axis.id, dict.fromkeys(axis.label_ids, 0.1)) for axis in TAXONOMY.axes.values()}
    prediction = Prediction("toy", scores, surely_in_domain=False)
    calibration = ReaderCalibration(reader="m", model="toy", axes={"symptom": FUSION})
    both = complete(
        first,
        prediction,
        {"symptom": {label: 1.0}},
        TAXONOMY,
        "m",
        calibration,
        lambda _, found: Mode.PRECISE if found == label else Mode.BALANCED,
    )
    assert (both.axes["symptom"].outcome, both.axes["symptom"].silence) == ("abstain", "perhaps-foreign")


@pytest.mark.parametrize(
    ("wanted", "outcome", "reason"),
    [
        (1.0, "apply", "at or above the configured 1.00"),
        (Mode.PRECISE, "suggest", "not calibrated to promise more"),
        (Mode.BALANCED, "apply", "at least 0.50: from there on, at least 80% were right on held-out reports"),
        (Mode.BEST, "apply", "the likeliest label"),
    ],
)
def test_a_configuration_says_how_sure_a_label_must_be(wanted: Mode | float, outcome: str, reason: str) -> None:
    fusion = AxisFusion(first=0.0, second=10.0, thresholds={"0.80": 0.4})
    calibration = ReaderCalibration(reader="m", model="toy", axes={"symptom": fusion})
    scores = {axis.id: AxisScores(axis.id, dict.fromkeys(axis.label_ids, 0.1)) for axis in TAXONOMY.axes.values()}
    said = complete(
        make_verdict(symptom="abstain"),
        Prediction("toy", scores),
        {"symptom": {"native-crash": 1.0}},
        TAXONOMY,
        "m",
        calibration,
        lambda *_: wanted,
    ).axes["symptom"]
    assert (said.label, said.outcome, said.reason) == ("native-crash", outcome, f"{reason}; read by m")


def test_what_a_label_lacks_is_said_as_the_first_reader_says_it() -> None:
    first = make_verdict(symptom="abstain").model_copy(update={"mode": Mode.PRECISE})
    said = completed(first, {"symptom": {"native-crash": 0.6, "runtime-hang": 0.4}}).axes["symptom"]
    assert (said.outcome, said.reason) == ("suggest", "precise needs 0.70 for this label; read by m")


@pytest.mark.parametrize(("share", "outcome"), [(0.79996, "apply"), (0.7999, "suggest")])
def test_a_configured_probability_is_reached_by_the_one_that_people_see(share: float, outcome: str) -> None:
    """As the first reader has it."""
    assert reaches(share, 0.8) is (outcome == "apply")
    fusion = AxisFusion(first=0.0, thresholds={"0.80": 0.6})
    calibration = ReaderCalibration(reader="m", model="toy", axes={"symptom": fusion})
    scores = {axis.id: AxisScores(axis.id, dict.fromkeys(axis.label_ids, 0.0)) for axis in TAXONOMY.axes.values()}
    shares: dict[str | None, float] = {"native-crash": share / 0.9, "runtime-hang": (1 - share) / 0.9}
    first = make_verdict(symptom="abstain")
    both = complete(first, Prediction("toy", scores), {"symptom": shares}, TAXONOMY, "m", calibration, lambda *_: 0.8)
    said = both.axes["symptom"]
    assert (said.label, said.outcome, said.probability) == ("native-crash", outcome, round(share, 4))


def test_a_label_of_the_first_reader_does_not_fall_to_a_calibration_without_thresholds() -> None:
    scores = {axis.id: AxisScores(axis.id, dict.fromkeys(axis.label_ids, 0.1)) for axis in TAXONOMY.axes.values()}
    calibration = ReaderCalibration(reader="m", model="toy", axes={"symptom": AxisFusion()})
    answers = {"symptom": {"native-crash": 1.0}}
    both = complete(make_verdict(), Prediction("toy", scores), answers, TAXONOMY, "m", calibration)
    assert both.axes["symptom"] == axis_verdict("symptom")


@pytest.mark.parametrize("label", ["runtime-hang", "native-crash"])
def test_evidence_and_differential_stay_where_the_answer_does_not_concern_them(label: str) -> None:
    spoken = axis_verdict("symptom", "runtime-hang", "abstain").model_copy(
        update={"evidence": [EvidenceLine(line="It hangs", weight=0.5)]}
    )
    causes = Differential(causes=[Candidate(label="api-misuse", probability=0.4, check="Look.")], right_among=0.7)
    first = make_verdict(spoken, cause="abstain").model_copy(update={"differential": causes})
    both = completed(first, {"symptom": {label: 1.0}})
    assert both.axes["symptom"].evidence == (spoken.evidence if label == "runtime-hang" else None)
    assert both.differential == causes


def test_a_label_that_was_sure_leaves_its_family_where_the_second_reader_doubts_it() -> None:
    families = TAXONOMY.axes["symptom"].families
    family, labels = next((name, labels) for name, labels in families.items() if len(labels) > 1)
    first = make_verdict(axis_verdict("symptom", labels[0], "apply"))
    said = completed(first, {"symptom": {labels[0]: 0.4, labels[1]: 0.2, None: 0.4}}).axes["symptom"]
    assert said.outcome != "apply" and (said.label, said.family) == (labels[0], family)


def test_a_reader_that_finds_another_field_names_no_family() -> None:
    families = TAXONOMY.axes["symptom"].families
    family, labels = next((name, labels) for name, labels in families.items() if len(labels) > 1)
    first = make_verdict(axis_verdict("kind", "bug"), axis_verdict("symptom", labels[0], "suggest", family))
    scores = {axis.id: AxisScores(axis.id, dict.fromkeys(axis.label_ids, 0.1)) for axis in TAXONOMY.axes.values()}
    prediction = Prediction("toy", scores, surely_in_domain=False)
    answer = {"symptom": {labels[1]: 1.0}}
    both = complete(first, prediction, answer, TAXONOMY, "m", CALIBRATION, lambda *_: Mode.PRECISE)
    said = both.axes["symptom"]
    assert (said.outcome, said.silence, said.family) == ("abstain", "perhaps-foreign", None)


@pytest.mark.parametrize("same_family", [True, False])
def test_a_family_stays_only_where_the_joined_label_is_of_it(same_family: bool) -> None:
    axis = TAXONOMY.axes["symptom"]
    family, labels = next((name, labels) for name, labels in axis.families.items() if len(labels) > 1)
    other = next(label for label in axis.label_ids if axis.label(label).family not in {None, family})
    first: AxisVerdict = axis_verdict("symptom", labels[0], "abstain", family)
    label = labels[1] if same_family else other
    said = completed(make_verdict(first), {"symptom": {label: 0.6, None: 0.4}}, calibrated=False).axes["symptom"]
    assert (said.label, said.family) == (label, family if same_family else None)
    assert said.family_probability is not None and said.family_probability != first.family_probability
    assert said.probability <= said.family_probability <= 1


@pytest.mark.parametrize("calibrated", [True, False])
def test_only_a_cause_that_is_given_has_its_check_at_the_top(calibrated: bool) -> None:
    first = make_verdict(axis_verdict("cause", outcome="abstain"))
    seen = Situation(seen=frozenset({"hangs", "no-stacks", "python", "own-process"}))
    both = completed(first, {"cause": {"concurrency-defect": 1.0}}, calibrated, situation=seen)
    check = check_for(
        TAXONOMY, "concurrency-defect", both.axes["symptom"].label, with_labels(seen, both.axes, TAXONOMY)
    )
    assert both.axes["cause"].outcome == ("apply" if calibrated else "suggest")
    beside = [cause.check for cause in both.differential.causes if cause.check] if both.differential else []
    assert check is not None
    assert (both.checks, beside) == (([check], []) if calibrated else ([], [check]))


def test_the_checks_of_both_readers_fit_what_the_job_ran_on() -> None:
    first = make_verdict(axis_verdict("symptom", outcome="abstain"), axis_verdict("cause", outcome="abstain"))
    scores = {axis.id: AxisScores(axis.id, dict.fromkeys(axis.label_ids, 0.1)) for axis in TAXONOMY.axes.values()}
    answers = {"symptom": {"native-crash": 1.0}, "cause": {"hardware-limitation": 0.5, "api-misuse": 0.1, None: 0.4}}
    rocm = Situation(Platform.ROCM, seen=frozenset({"card-fault", "card-unread", "gpu", "capture"}))
    both = complete(first, Prediction("toy", scores), answers, TAXONOMY, "m", CALIBRATION, situation=rocm)
    assert both.differential is not None and "`amdgpu` in `dmesg`" in str(both.differential.causes[0].check)
    assert both.checks == []  # one check a verdict


def test_a_symptom_that_is_no_longer_likely_loses_its_check() -> None:
    first = make_verdict(**dict.fromkeys(TAXONOMY.axes, "abstain"))
    assert first.checks != []
    unsure: dict[str | None, float] = dict.fromkeys(TAXONOMY.axes["symptom"].label_ids[:4], 0.25)
    assert completed(first, {"symptom": unsure}).checks == []


@pytest.mark.parametrize("calibrated", [True, False])
@pytest.mark.parametrize("outcome", ["apply", "suggest", "abstain"])
def test_none_of_these_leaves_an_axis_as_the_first_reader_had_it(outcome: str, calibrated: bool) -> None:
    said = axis_verdict("symptom", "runtime-hang", outcome)
    both = completed(make_verdict(said), {"symptom": {None: 0.6, "runtime-hang": 0.4}}, calibrated)
    assert both.axes["symptom"] == said
    assert both.second_reading is not None and (both.second_reading.axes, both.second_reading.note) == ([], None)


@pytest.mark.parametrize(("share", "given"), [(0.4, False), (0.7, True)])
def test_an_answer_may_be_given_from_the_least_threshold_on_but_never_below_the_floor(
    share: float, given: bool
) -> None:
    scores = {"symptom": AxisScores("symptom", dict.fromkeys("abc", 1 / 3))}
    fusion = AxisFusion(first=0.0, thresholds={"0.80": 0.3, "0.90": 0.99})
    calibration = ReaderCalibration(reader="m", model="toy", axes={"symptom": fusion})
    shares: dict[str | None, float] = {"a": share, "b": (1 - share) / 2, "c": (1 - share) / 2}
    prediction = Prediction("toy", scores)
    assert may_be_given(prediction, "symptom", shares, calibration) is given
    assert not may_be_given(prediction, "symptom", shares, None)
    assert not may_be_given(prediction, "symptom", {"a": 0.4, None: 0.6}, calibration)
