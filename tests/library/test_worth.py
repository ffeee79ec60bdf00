"""Which questions and checks are worth showing: measures of a report, and the fitted cut."""

from __future__ import annotations

import math

import pytest

from distriage.answer.worth import CHECK, QUESTION, deserves, fits, measures
from distriage.base.types import AxisScores, IssueReport, Prediction
from distriage.classifier import Classifier
from distriage.model.taxonomy import default_taxonomy
from distriage.reading.report import read

from support.cut import set_cut

TAXONOMY = default_taxonomy()
HANG = (
    "It stops after a while and nothing is printed. Two GPUs, python -m torch.distributed.run train.py. "
    "The batch size makes no difference, and on the machine beside it the same script ends."
)
KNOWN = (
    "`all_to_all()` in `group.py` is never called since `if rank` skips it, so the others wait. "
    "The root cause is that `split()` drops the last piece instead of padding it."
)


def evenly() -> Prediction:
    return Prediction(
        "shipped",
        {
            axis.id: AxisScores(axis.id, dict.fromkeys(axis.label_ids, 1 / len(axis.label_ids)))
            for axis in TAXONOMY.axes.values()
        },
    )


def test_a_report_is_measured_by_its_words_and_by_the_scores() -> None:
    report = IssueReport("Hang in vLLM 0.9.1", KNOWN, "vllm-project/vllm#1")
    found = measures(read(report), evenly(), TAXONOMY)
    assert found["length"] == pytest.approx(math.log1p(len(KNOWN)))
    assert (found["known"], found["version"], found["explained"], found["errors"]) == (1.0, 1.0, 1.0, 0.0)
    assert found["mechanisms"] > math.log1p(2)
    assert found["fix/framework-patch"] == pytest.approx(1 / len(TAXONOMY.axes["fix"].label_ids))
    families = [name for name in found if name.startswith("cause:")]
    assert sum(found[name] for name in families) == pytest.approx(1)
    kinds = len(TAXONOMY.axes["kind"].label_ids)
    assert found["kind"] == pytest.approx(-math.log(kinds - 1))


def test_every_weight_is_of_a_measure_or_of_a_question() -> None:
    found = measures(read(IssueReport("A hang", HANG)), evenly(), TAXONOMY)
    for fit in fits().values():
        assert fit.weights.keys() <= found.keys() | {"asks/error", "asks/torch"}


def test_a_reporter_who_explains_the_failure_is_asked_less(shipped_classifier: Classifier) -> None:
    short, explained = (
        measures(one.read, one.prediction, TAXONOMY)
        for one in map(shipped_classifier.examine, (IssueReport("A hang", HANG), IssueReport("A hang", KNOWN)))
    )
    asks = {"asks/error": 1.0}
    question = fits()[QUESTION]
    assert question.probability(short | asks) > 2 * question.probability(explained | asks)
    assert question.least > question.probability(explained | asks)


def test_a_line_below_its_cut_is_shown_nowhere(shipped_classifier: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = shipped_classifier.examine(IssueReport("Training hangs on two nodes", HANG))
    set_cut(monkeypatch, 0.0)
    shown = findings.verdict()
    assert shown.missing and findings.situation.checkable
    set_cut(monkeypatch, 1.0)
    verdict = findings.verdict()
    assert not findings.situation.checkable
    assert verdict.missing == [] and verdict.checks == []
    assert all(cause.check is None for cause in (verdict.differential.causes if verdict.differential else []))
    assert verdict.axes == shown.axes and verdict.environment == shown.environment


def test_shorter_reports_than_readers_judged_are_not_cut(
    shipped_classifier: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_cut(monkeypatch, 1.0)
    said = IssueReport("GRPO run crashes", "verl 0.7.0, torch 2.8.0. Training crashes at step 2. No idea why.")
    assert [one.fact for one in shipped_classifier.classify(said).missing] == ["error"]


def test_another_taxonomy_has_no_cut() -> None:
    own = TAXONOMY.model_copy(update={"name": "ours"})
    assert deserves(CHECK, {"explained": 99.0}, own) and not deserves(CHECK, {"explained": 99.0}, TAXONOMY)
