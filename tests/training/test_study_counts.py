from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.model.taxonomy import default_taxonomy
from distriage_training.study.correction import corrected_shares, true_shares
from distriage_training.study.counts import (
    MIN_PAIR,
    OTHER,
    Share,
    association,
    by_framework,
    by_series,
    distributed_share,
    flow,
    frequencies,
    trend,
)
from distriage_training.study.faults import Fault, framework_of, release_of

TAXONOMY = default_taxonomy()


def fault(number: int = 0, framework: str = "deepspeed", created: str = "", release: str = "", **labels: str) -> Fault:
    return Fault(f"a/b#{number}", framework, created, labels, release)


def test_frequencies_are_of_the_judged_reports() -> None:
    faults = [fault(stage="inference"), fault(stage="inference"), fault(stage="build-import"), fault(symptom="x")]
    assert frequencies(faults, TAXONOMY.axes["stage"]) == [
        Share(2, 3, "inference"),
        Share(1, 3, "build-import"),
    ]
    assert frequencies([], TAXONOMY.axes["stage"]) == []


def test_a_label_that_has_been_retired_keeps_its_row() -> None:
    """Else the shares do not add up to one."""
    stage = TAXONOMY.axes["stage"]
    retired = [label.model_copy(update={"retired": "9"} if label.id == "inference" else {}) for label in stage.labels]
    found = frequencies([fault(stage="inference")], stage.model_copy(update={"labels": tuple(retired)}))
    assert found == [Share(1, 1, "inference")]


def test_the_share_that_is_distributed_by_stage() -> None:
    faults = [fault(stage="inference", distributed=str(n < 1).lower()) for n in range(4)]
    faults += [fault(stage="communication-setup", distributed="true"), fault(stage="inference")]
    assert distributed_share(faults, "stage") == [Share(1, 4, "inference"), Share(1, 1, "communication-setup")]


def test_frameworks_with_few_reports_are_left_out() -> None:
    faults = [fault(framework="ray", stage="inference")] * 3 + [fault(framework="nccl", stage="inference")]
    assert list(by_framework(faults, "stage", 2)) == ["ray"]


@pytest.mark.parametrize(
    ("identifier", "framework"),
    [
        ("deepspeedai/DeepSpeed#1", "deepspeed"),
        ("microsoft/deepspeed#1", "deepspeed"),
        ("NVIDIA/Megatron-LM#2", "megatron-lm"),
        ("someone/else#3", "someone/else"),
        ("report.jsonl:1", "report.jsonl:1"),
    ],
)
def test_the_framework_of_a_repository(identifier: str, framework: str) -> None:
    assert framework_of(identifier) == framework


def test_unrelated_axes_have_no_association_and_equal_ones_a_full_one() -> None:
    crossed = [fault(cause=cause, fix=fix) for cause in "ab" for fix in "xy" for _ in range(25)]
    found = association(crossed, "cause", "fix")
    assert found is not None
    assert (found.n, found.cramers_v, found.pairs) == (100, 0.0, [])
    same = association([fault(cause=c, fix=c) for c in "ab" for _ in range(50)], "cause", "fix")
    assert same is not None
    assert same.cramers_v == pytest.approx(1.0, abs=1e-6)
    (one, other) = same.pairs
    assert (one.one, one.other, one.share, one.expected, one.lift) == ("a", "a", Share(50, 50), 25.0, 2.0)
    assert one.residual == pytest.approx(10.0)  # sqrt(n), by hand
    assert other.one == other.other == "b"


def test_cramers_v_by_hand() -> None:
    """A 2 x 2 table [[30, 10], [10, 30]]: phi squared .25, corrected .25 - 1/79, over 2 - 1/79 - 1 a side."""
    table = [("a", "x", 30), ("a", "y", 10), ("b", "x", 10), ("b", "y", 30)]
    found = association([fault(cause=c, fix=f) for c, f, n in table for _ in range(n)], "cause", "fix")
    assert found is not None
    assert found.cramers_v == pytest.approx(math.sqrt((0.25 - 1 / 79) / (1 - 1 / 79)))


def test_rare_pairs_are_not_shown_whatever_their_lift() -> None:
    faults = [fault(cause="a", fix="x")] * (MIN_PAIR - 1) + [fault(cause="b", fix="y")] * 90
    found = association(faults, "cause", "fix")
    assert found is not None
    assert [pair.one for pair in found.pairs] == ["b"]
    assert association([fault(cause="a")], "cause", "fix") is None


def test_a_flow_keeps_every_report() -> None:
    faults = [fault(symptom=s, cause=c, fix="x") for s, c in ("aA", "aA", "aB", "bA", "cC", "dC")] + [
        fault(symptom="a")
    ]
    found = flow(faults, ("symptom", "cause", "fix"), 2)
    assert found.columns == {
        "symptom": {"a": 3, "b": 1, OTHER: 2},
        "cause": {"A": 3, "C": 2, OTHER: 1},
        "fix": {"x": 6},
    }
    assert found.links[0, "a", "A"] == 2
    assert found.links[0, OTHER, "C"] == 2
    for i in range(2):
        assert sum(count for (place, _, _), count in found.links.items() if place == i) == 6


def test_a_trend_has_no_gaps() -> None:
    faults = [
        fault(created="2023-11-30", stage="inference"),
        fault(created="2024-02-01", stage="build-import"),
        fault(),
        *(fault(created=odd, stage="inference") for odd in ("1700000000", "2024/01/02", "2024-13-01", "yesterday")),
    ]
    found = trend(faults, "stage", 7)
    assert list(found) == ["2023-11", "2023-12", "2024-01", "2024-02"]
    assert (found["2023-11"]["inference"], found["2023-12"].total()) == (1, 0)
    assert list(trend(faults, "stage", 4)) == ["2023", "2024"]
    assert trend([fault(stage="inference")], "stage", 7) == {}


@pytest.mark.parametrize(
    ("framework", "facts", "release"),
    [
        ("deepspeed", {"framework": "DeepSpeed", "framework_version": "0.14.2+cu118"}, "0.14"),
        ("colossalai", {"framework": "Colossal-AI", "framework_version": "0.3.6"}, "0.3"),
        ("deepspeed", {"framework": "Megatron-LM", "framework_version": "0.8.0"}, ""),
        ("pytorch", {"framework": "PyTorch FSDP", "torch": "2.10.0a0"}, "2.10"),
        ("pytorch", {"framework": "DeepSpeed", "framework_version": "0.14.2"}, ""),
        ("vllm", {"framework": "vLLM"}, ""),
        ("a/b", {}, ""),
    ],
)
def test_the_release_of_the_repositorys_own_framework(framework: str, facts: dict[str, object], release: str) -> None:
    assert release_of(framework, facts) == release


def test_releases_are_ordered_as_versions_and_need_a_neighbour() -> None:
    faults = [fault(release=release, stage="inference") for release in ("0.10", "0.9", "0.9", "0.10", "1.0")]
    faults += [fault(framework="ray", release="2.9", stage="inference")] * 2 + [fault(release="0.9", symptom="x")]
    found = by_series(faults, "stage", 2, lambda fault: fault.release or "")
    assert list(found) == [("deepspeed", "0.9"), ("deepspeed", "0.10")]
    assert found["deepspeed", "0.9"]["inference"] == 2


# ---------------------------------------------------------------- correction


ERRORS = np.array([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.0, 0.3, 0.7]])


def test_the_true_shares_are_found_behind_known_errors() -> None:
    truth = np.array([0.6, 0.1, 0.3])
    assert true_shares(1000 * ERRORS, 5000 * truth @ ERRORS) == pytest.approx(truth, abs=1e-6)


def test_a_label_without_validation_reports_is_taken_as_counted() -> None:
    confusion = np.array([[90.0, 10, 0], [10, 90, 0], [0, 0, 0]])
    assert true_shares(confusion, np.array([45.0, 45.0, 10.0]))[2] == pytest.approx(0.1, abs=1e-6)


@given(st.lists(st.integers(0, 500), min_size=3, max_size=3).filter(any), st.integers(0, 2**31))
def test_shares_are_shares(counted: list[int], seed: int) -> None:
    confusion = np.random.default_rng(seed).integers(0, 40, (3, 3))
    found = true_shares(confusion.astype(float), np.array(counted, float))
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    """200 validation reports and 400 counted ones, drawn 60 times: 95 % intervals may miss a few times, not often."""
    generator = np.random.default_rng(3)
    truth = np.array([0.6, 0.1, 0.3])
    inside = naive = 0
    for _ in range(60):
        confusion = np.array([generator.multinomial(70, row) for row in ERRORS])
        counted = dict(zip("abc", map(int, generator.multinomial(400, truth @ ERRORS)), strict=True))
        rows = {row.name: row for row in corrected_shares(confusion, counted, "abc", draws=120)}
        low, high = rows["b"].interval
        inside += low <= 0.1 <= high
        naive += abs(rows["b"].counted - 0.1) < 0.05
    assert inside >= 52
    assert naive < 10  # what the classifier counts is far from the truth


def test_nothing_counted_gives_nothing() -> None:
    assert corrected_shares(np.eye(2, dtype=int), {}, "ab") == []


def test_a_share_that_the_errors_explain_away_is_at_the_boundary() -> None:
    confusion = np.array([[60, 40], [0, 100]])  # 40 of 100 a are taken for b
    found = {row.name: row for row in corrected_shares(confusion, {"a": 60, "b": 20}, "ab")}
    assert found["b"].counted == 0.25 and found["b"].value == pytest.approx(0)
    assert found["a"].at_boundary and found["b"].at_boundary
    mixed = corrected_shares(confusion, {"a": 30, "b": 70}, "ab")
    assert not any(row.at_boundary for row in mixed)
