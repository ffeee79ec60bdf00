"""The domain gate, on toys."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.answer.policy import WHY_SILENT
from distriage.answer.verdict import Verdict
from distriage.base.errors import BundleError
from distriage.base.types import IssueReport, Mode, Silence
from distriage.classifier import Classifier
from distriage.model.bundle import DOMAIN
from distriage.model.domain import DomainGate, shape_features
from distriage.recipe.features import HASH_BUCKETS, VIEWS, all_features
from distriage.recipe.text import ModelInput, prepare
from distriage.recipe.weights import tfidf

from support import keyword_model
from support.files import mark_encrypted, spoil
from support.toy_gate import FOREIGN, add_gate, arrays

AXES = ("kind", "symptom")
FEATURES = len(arrays(FOREIGN)["mean"])
PIE = IssueReport(
    "Apple pie",
    "It hangs over the rim of the dish. Memory exhausted by peeling sour apples, warm butter, wet flour.",
)


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Classifier:
    return Classifier(add_gate(keyword_model.build(tmp_path_factory.mktemp("gated") / "toy")), threads=1)


def verdict_of(classifier: Classifier, report: IssueReport, mode: Mode = Mode.BALANCED) -> Verdict:
    return classifier.classify(report, mode)


def write(file: Path, **changes: Any) -> Path:
    np.savez_compressed(file, **{**arrays(FOREIGN), **changes})
    return file


def probability(gate: DomainGate, text: str) -> float:
    report = prepare("", text)
    ids, counts = all_features(report)
    logits = {"kind": np.asarray([2.0, -1.0], np.float32)}
    return gate.probability(np.asarray(ids, np.int64), np.asarray(counts), report, logits)


@pytest.mark.parametrize("mode", Mode)
def test_what_is_outside_gets_no_label_but_its_kind(gated: Classifier, mode: Mode) -> None:
    verdict = verdict_of(gated, PIE, mode)
    assert not verdict.in_domain and verdict.domain_probability is not None and verdict.domain_probability < 0.5
    assert (verdict.axes["kind"].outcome, verdict.axes["kind"].label) == ("apply", "bug")
    for axis in ("symptom", "fix"):
        said = verdict.axes[axis]
        assert (said.outcome, said.silence, said.family) == ("abstain", "foreign", None)
        assert said.reason == WHY_SILENT[Silence.FOREIGN]
    assert verdict.missing == [] and verdict.checks == []


def test_what_says_too_little_is_told_so_and_asked_whatever_its_field(gated: Classifier) -> None:
    verdict = verdict_of(gated, IssueReport("Apple pie", "It hangs, please help"))
    assert not verdict.in_domain and verdict.axes["symptom"].silence == "thin"
    assert verdict.why_silent == "The report says too little for anybody to know; ask for what is missing."
    assert [item.fact for item in verdict.missing] == ["error"]
    question = verdict_of(gated, IssueReport("how", "how do I bake an apple"))
    assert question.missing == [] and question.why_silent.startswith("This does not read like")


def test_what_is_in_an_unlearned_script_gets_no_kind_and_no_field(gated: Classifier) -> None:
    verdict = verdict_of(
        gated, IssueReport("Пирог", "Печём пирог из кислых яблок, масла и муки (apple): всё подгорает, почему же?")
    )
    assert {(said.outcome, said.silence) for said in verdict.axes.values()} == {("abstain", "script")}
    assert verdict.why_silent.startswith("Much of the report is in a script")


def test_a_question_from_outside_has_no_symptom_for_being_a_question(gated: Classifier) -> None:
    verdict = verdict_of(gated, IssueReport("how", "how do I bake an apple"))
    assert not verdict.in_domain
    assert verdict.axes["symptom"].reason == "kind is question"


def test_what_is_inside_is_answered_as_without_a_gate(gated: Classifier, keyword_classifier: Classifier) -> None:
    report = IssueReport("It hangs", "hangs with a timeout")
    verdict, before = verdict_of(gated, report), verdict_of(keyword_classifier, report)
    assert verdict.in_domain and verdict.domain_probability is not None and verdict.domain_probability > 0.5
    assert verdict.axes == before.axes
    assert before.in_domain and before.domain_probability is None


def test_a_report_gets_the_same_answer_alone_and_among_others(gated: Classifier) -> None:
    reports = [IssueReport("", "it hangs"), PIE, IssueReport("", "segfault " * 50)]
    together = gated.predict_inputs([prepare(report.title, report.body) for report in reports])
    assert [item.in_domain for item in together] == [True, False, True]
    for report, found in zip(reports, together, strict=True):
        assert gated.predict(report).domain_probability == pytest.approx(found.domain_probability)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": np.asarray(9)}, "it is of format 9"),
        ({"axes": np.asarray('["stage"]')}, "it reads the axes stage; the model has kind, symptom"),
        ({"idf": np.ones(7, np.uint8)}, "reshape"),
        ({"mean": np.zeros(3)}, "mean does not fit"),
        ({"coefficients": np.full(FEATURES, np.nan)}, "coefficients does not fit"),
        ({"scale": np.zeros(FEATURES)}, "scale or thresholds are out of range"),
        ({"threshold": np.asarray(1.5)}, "scale or thresholds are out of range"),
    ],
)
def test_a_gate_that_does_not_fit_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    file = write(tmp_path / DOMAIN, **changes)
    with pytest.raises(BundleError, match="not a domain gate that this Distriage reads") as refused:
        DomainGate(file, AXES)
    assert message in str(refused.value) and str(file) in str(refused.value)


def test_a_file_that_is_no_gate_is_refused(tmp_path: Path) -> None:
    (tmp_path / DOMAIN).write_bytes(b"PK\x03\x04 but no zip")
    with pytest.raises(BundleError, match="not a domain gate"):
        DomainGate(tmp_path / DOMAIN, AXES)
    (tmp_path / DOMAIN).write_text("a report", encoding="utf-8")
    with pytest.raises(BundleError, match=r"no \.npz file, or one that broke off$"):
        DomainGate(tmp_path / DOMAIN, AXES)
    missing = {name: value for name, value in arrays(FOREIGN).items() if name != "bias"}
    np.savez_compressed(tmp_path / DOMAIN, **missing)
    with pytest.raises(BundleError, match="bias"):
        DomainGate(tmp_path / DOMAIN, AXES)


@pytest.mark.parametrize("damage", [lambda file: spoil(file, "idf.npy"), mark_encrypted])
def test_a_gate_whose_bytes_cannot_be_unpacked_is_refused(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    file = write(tmp_path / DOMAIN)
    damage(file)
    with pytest.raises(BundleError, match="not a domain gate"):
        DomainGate(file, AXES)


def test_a_damaged_gate_stops_the_bundle(tmp_path: Path) -> None:
    folder = add_gate(keyword_model.build(tmp_path / "toy"))
    content = (folder / DOMAIN).read_bytes()
    (folder / DOMAIN).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(BundleError, match=r"domain\.npz: its SHA-256"):
        Classifier(folder)


@given(st.lists(st.integers(0, VIEWS * HASH_BUCKETS - 1), unique=True, max_size=40), st.integers(1, 9))
def test_the_words_of_each_view_have_unit_length(ids: list[int], count: int) -> None:
    numbers = np.asarray(sorted(ids), np.int64)
    values = tfidf(numbers, np.full(len(ids), float(count)), np.linspace(1, 5, VIEWS * HASH_BUCKETS)[numbers])
    for view in range(VIEWS):
        own = values[numbers // HASH_BUCKETS == view]
        assert len(own) == 0 or np.linalg.norm(own) == pytest.approx(1)


@given(st.lists(st.floats(-30, 30, width=32), min_size=2, max_size=9))
def test_the_shape_of_logits_is_their_peak_energy_and_entropy(logits: list[float]) -> None:
    values = np.asarray(logits, np.float32)
    report = ModelInput("NCCL hangs", (), "", "NCCL hangs", field_words=(1, 2))
    *sizes, top, energy, entropy = shape_features(np.asarray([1, HASH_BUCKETS + 1]), report, {"kind": values})
    assert sizes == pytest.approx(np.log([2, 11, 2, 3]))
    assert top == values.max() and energy >= top and energy - top <= np.log(len(logits)) + 1e-6
    assert -1e-6 <= entropy <= np.log(len(logits)) + 1e-6


@given(st.text(max_size=300))
def test_any_text_has_a_probability(gated: Classifier, text: str) -> None:
    assert gated.gate is not None
    assert 0 <= probability(gated.gate, text) <= 1


@pytest.mark.parametrize("text", ["\n", "```\n", "[", "'\"", " ", "7", "é\u0301", "a b ", "\u4e2d"])
def test_hostile_text_takes_linear_time(gated: Classifier, text: str) -> None:
    assert gated.gate is not None
    took = []
    for characters in (50_000, 200_000):
        begin = time.process_time()
        probability(gated.gate, (text * characters)[:characters])
        took.append(time.process_time() - begin)
    assert took[1] < 8 * took[0] + 0.3
