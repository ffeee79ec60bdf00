from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binomtest

from distriage.classifier import softmax
from distriage.model.taxonomy import default_taxonomy
from distriage_training.release.calibrate import (
    CONTRADICTION,
    MIN_LABEL_REPORTS,
    RISK,
    TARGETS,
    all_thresholds,
    among_three,
    confidence_loss,
    even_weights,
    family_thresholds,
    fit_confidence,
    fit_mix,
    label_thresholds,
    raised,
    threshold_for,
)

TAXONOMY = default_taxonomy()


def draw(logits: NDArray[np.floating], seed: int = 0) -> NDArray[np.int64]:
    """Labels drawn from the probabilities that logits stand for."""
    probabilities = softmax(logits.astype(np.float32), 1.0).astype(float)
    cumulated = probabilities.cumsum(1) / probabilities.sum(1, keepdims=True)
    return (np.random.default_rng(seed).random((len(logits), 1)) > cumulated[:, :-1]).sum(1)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0, 3.0])
def test_the_temperature_is_recovered(temperature: float) -> None:
    honest = np.random.default_rng(1).normal(0, 1.5, (6000, 5))
    truth = draw(honest)
    assert fit_confidence(honest * temperature, truth) == (
        pytest.approx(temperature, rel=0.1),
        pytest.approx(0, abs=0.03),
    )


def test_a_share_of_labels_drawn_at_random_makes_a_floor() -> None:
    rng = np.random.default_rng(4)
    logits = rng.normal(0, 3, (8000, 10))
    truth = draw(logits)
    doubtful = rng.random(8000) < 0.2
    truth[doubtful] = rng.integers(0, 10, doubtful.sum())
    assert fit_confidence(logits, truth) == (pytest.approx(1.0, rel=0.1), pytest.approx(0.2, abs=0.03))


@pytest.mark.parametrize("mix", [(0.0, 0.0), (0.5, 1.5), (1.0, 0.0)])
def test_the_weights_of_the_sparse_head_are_recovered(mix: tuple[float, float]) -> None:
    rng = np.random.default_rng(2)
    encoder, sparse = rng.normal(0, 1.5, (6000, 4)), rng.normal(0, 1.5, (6000, 2, 4))
    truth = draw(encoder + mix[0] * sparse[:, 0] + mix[1] * sparse[:, 1])
    assert fit_mix(3 * encoder, 3 * sparse, truth) == (pytest.approx(mix, abs=0.1), 0)


def test_the_bias_of_two_labels_is_recovered() -> None:
    rng = np.random.default_rng(2)
    encoder, sparse = rng.normal(0, 1.5, (6000, 2)), rng.normal(0, 1.5, (6000, 2, 2))
    truth = draw(encoder + 0.5 * sparse[:, 0] + [0, 1.2])
    mix, bias = fit_mix(3 * encoder, 3 * sparse, truth)
    assert mix == pytest.approx([0.5, 0], abs=0.1)
    assert bias == pytest.approx(3 * 1.2, abs=0.3)


def test_the_temperature_makes_the_likeliest_label_honest_even_where_the_others_are_not() -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 2, (6000, 6))
    truth = draw(logits)
    wrong = truth != logits.argmax(1)
    truth[wrong] = rng.integers(0, 6, wrong.sum())  # where the likeliest label fails, the others' order says nothing
    temperature, floor = fit_confidence(logits, truth)
    probabilities = softmax(logits.astype(np.float32), temperature, floor)
    assert probabilities.max(1).mean() == pytest.approx((probabilities.argmax(1) == truth).mean(), abs=0.02)


def test_confidence_loss_by_hand() -> None:
    logits = np.log(np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]]))
    assert confidence_loss(logits, np.array([0, 1]), 1.0) == pytest.approx(-(np.log(0.6) + np.log(0.4)) / 2, rel=1e-5)


def test_a_threshold_by_hand() -> None:
    confidence = np.linspace(0.99, 0.80, 20)
    right = np.array([True] * 12 + [False] * 8)
    # With a true precision of 0.8, twelve right ones in a row have a chance of 0.07; 13 with one wrong 0.23; 14
    # with two wrong 0.45
    assert threshold_for(confidence, right, 0.8) == confidence[12]
    assert threshold_for(confidence, right, 0.9) == confidence[11]  # 0.28; 0.9^11 would be above RISK with one wrong
    assert threshold_for(confidence, right, 0.97) is None


def test_lucky_reports_make_no_threshold() -> None:
    assert threshold_for(np.array([0.99, 0.98]), np.array([True, True]), 0.8) is None
    assert threshold_for(np.array([]), np.array([], bool), 0.5) is None


def test_reports_of_one_confidence_stand_or_fall_together() -> None:
    confidence = np.full(20, 0.9)
    assert threshold_for(confidence, np.array([True] * 10 + [False] * 10), 0.6) is None
    assert threshold_for(confidence, np.array([False] * 10 + [True] * 10), 0.4) == 0.9


VERDICTS = st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=60)


@settings(derandomize=True, deadline=None)
@given(verdicts=VERDICTS, target=st.sampled_from([0.5, 0.8, 0.9, 0.95]))
def test_a_threshold_is_the_lowest_that_the_test_supports(verdicts: list[tuple[int, bool]], target: float) -> None:
    confidence = np.array([level / 10 for level, _ in verdicts])
    right = np.array([good for _, good in verdicts])

    def supported(threshold: float) -> bool:
        rows = confidence >= threshold
        return bool(binomtest(int(right[rows].sum()), int(rows.sum()), target, "greater").pvalue <= RISK)

    threshold = threshold_for(confidence, right, target)
    if threshold is not None:
        assert supported(threshold)
    assert not any(supported(level) for level in confidence if threshold is None or level < threshold)


def test_a_shared_threshold_is_raised_until_the_labels_own_verdicts_allow_it() -> None:
    confidence = np.array([0.95, 0.94, 0.93, 0.92, *np.linspace(0.8, 0.7, 12)])
    right = np.array([True] * 4 + [False] * 12)
    assert (
        raised(0.6, confidence, right, 0.8) == confidence[6]
    )  # 3 wrong of 7 have a chance of 0.15, 4 of 8 one of 0.06
    assert raised(0.6, confidence, ~right, 0.8) == 0.6
    assert raised(0.6, confidence[4:], right[4:], 0.8) == pytest.approx(
        0.8
    )  # one wrong report alone contradicts nothing
    assert raised(0.6, np.full(9, 0.7), np.zeros(9, bool), 0.8) is None
    assert raised(0.6, np.array([]), np.array([], bool), 0.8) == 0.6
    assert raised(None, confidence, right, 0.8) is None


def random_axis(seed: int, count: int, labels: int, sharpness: float) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    logits = np.random.default_rng(seed).normal(0, sharpness, (count, labels))
    logits[:, 0] += sharpness / 2
    return softmax(logits.astype(np.float32), 1.0), draw(logits, seed)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("target", [0.5, 0.8, 0.9])
def test_label_thresholds_keep_their_precision(seed: int, target: float) -> None:
    labels = ["a", "b", "c", "d"]
    probabilities, truth = random_axis(seed, 600, 4, 2.5)
    thresholds = label_thresholds(probabilities, truth, labels, target)
    assert list(thresholds) == labels
    top, confidence = probabilities.argmax(1), probabilities.max(1)
    for number, label in enumerate(labels):
        assert (top == number).sum() >= MIN_LABEL_REPORTS
        threshold = thresholds[label]
        if threshold is not None:
            rows = (top == number) & (confidence >= threshold)
            assert binomtest(int((truth[rows] == number).sum()), int(rows.sum()), target, "less").pvalue > CONTRADICTION
            assert threshold == round(threshold, 4)


@pytest.mark.parametrize("lacking", [1, 0])
def test_rare_labels_share_the_threshold_of_their_axis(lacking: int) -> None:
    probabilities, truth = random_axis(7, 400, 3, 2.0)
    top = probabilities.argmax(1)
    rows = np.concatenate([np.flatnonzero(top == 0), np.flatnonzero(top == 2)[: MIN_LABEL_REPORTS - lacking]])
    probabilities, truth = probabilities[rows], truth[rows]
    top, confidence = probabilities.argmax(1), np.floor(probabilities.max(1).astype(float) * 1e4) / 1e4
    thresholds = label_thresholds(probabilities, truth, ["a", "b", "c"], 0.6)
    shared = threshold_for(confidence, top == truth, 0.6)
    assert shared is not None
    assert (top == 1).sum() == 0
    assert (top == 2).sum() == MIN_LABEL_REPORTS - lacking < (top == 0).sum()
    assert thresholds["b"] == shared
    own = threshold_for(confidence[top == 2], truth[top == 2] == 2, 0.6)
    raised_shared = raised(shared, confidence[top == 2], truth[top == 2] == 2, 0.6)
    assert own != raised_shared and thresholds["c"] == (raised_shared if lacking else own)
    assert thresholds["a"] == threshold_for(confidence[top == 0], truth[top == 0] == 0, 0.6)


def test_a_label_that_is_never_right_enough_has_no_threshold() -> None:
    probabilities = np.tile(np.array([[0.9, 0.1], [0.1, 0.9]], np.float32), (40, 1))
    truth = np.zeros(80, int)  # verdict "a" is always right, "b" never
    assert label_thresholds(probabilities, truth, ["a", "b"], 0.9) == {"a": 0.8999, "b": None}


def test_families_sum_probability() -> None:
    axis = TAXONOMY.axes["cause"]
    assert axis.families
    probabilities, truth = random_axis(5, 500, len(axis.label_ids), 3.0)
    numbers = {label: i for i, label in enumerate(axis.label_ids)}
    thresholds = family_thresholds(probabilities, truth, axis, 0.8)
    assert list(thresholds) == list(axis.families)
    members = [[numbers[label] for label in labels] for labels in axis.families.values()]
    summed = np.stack([probabilities[:, group].sum(1) for group in members], 1)
    family_of = np.array([next(i for i, group in enumerate(members) if int(t) in group) for t in truth])
    assert any(value is not None for value in thresholds.values())
    for number, threshold in enumerate(thresholds.values()):
        rows = (summed.argmax(1) == number) & (summed.max(1) >= (2.0 if threshold is None else threshold))
        if threshold is not None and (summed.argmax(1) == number).sum() >= MIN_LABEL_REPORTS:
            assert (
                binomtest(int((family_of[rows] == number).sum()), int(rows.sum()), 0.8, "less").pvalue > CONTRADICTION
            )


def test_an_axis_without_families_has_no_family_thresholds() -> None:
    axis = TAXONOMY.axes["kind"]
    assert not axis.families
    probabilities, truth = random_axis(6, 100, len(axis.label_ids), 2.0)
    assert family_thresholds(probabilities, truth, axis, 0.8) == {}
    labels, families = all_thresholds(probabilities, truth, axis)
    assert (set(labels), families) == (set(TARGETS), {})


def test_all_thresholds_rise_with_the_target() -> None:
    axis = TAXONOMY.axes["symptom"]
    probabilities, truth = random_axis(8, 800, len(axis.label_ids), 4.0)
    labels, families = all_thresholds(probabilities, truth, axis)
    for table in (labels, families):
        assert list(table) == list(TARGETS)
        for lower, higher in pairwise(TARGETS):
            for label, threshold in table[higher].items():
                assert threshold is None or (table[lower][label] or 1) <= threshold
    assert any(value is not None for value in labels["0.90"].values())


def test_both_parts_of_validation_weigh_the_same() -> None:
    parts = np.array(["raw"] + ["restated"] * 3)
    assert even_weights(parts).tolist() == [2, 2 / 3, 2 / 3, 2 / 3]
    probabilities = np.array([[0.4, 0.3, 0.2, 0.1]] * 4)
    truth, weights = np.array([3, 0, 0, 0]), even_weights(parts)
    never: dict[str, float | None] = dict.fromkeys("abcd")
    assert among_three(probabilities, truth, weights, never) == pytest.approx(0.5)
    assert among_three(probabilities, truth, weights, never | {"a": 0.3}) is None


def test_verdicts_of_uneven_weight_prove_as_much_as_their_weights_are_worth() -> None:
    """Three of weight 30 and thirty of weight 1 are worth 5.3 of one weight: too few, even if all are right."""
    confidence, right = np.full(33, 0.9), np.ones(33, bool)
    weights = np.array([30.0] * 3 + [1.0] * 30)
    assert threshold_for(confidence, right, 0.8, weights) is None
    assert threshold_for(confidence, right, 0.8, np.full(33, 120 / 33)) == 0.9


def test_few_raw_reports_count_as_much_as_many_restated_ones() -> None:
    """Restated ones are right at any confidence, raw ones half of the time: a quarter is wrong by equal weight."""
    axis = default_taxonomy().axes["stage"]
    size = len(axis.label_ids)
    top = np.arange(1200) % size
    probabilities = np.full((1200, size), 0.1 / (size - 1))
    probabilities[np.arange(1200), top] = 0.9
    parts = np.array(["raw"] * 200 + ["restated"] * 1000)
    truth = np.where((parts == "raw") & (np.arange(1200) // size % 2 == 0), (top + 1) % size, top)
    together, _ = all_thresholds(probabilities, truth, axis)
    apart, _ = all_thresholds(probabilities, truth, axis, even_weights(parts))
    assert set(together["0.90"].values()) == {0.9}
    assert set(apart["0.50"].values()) == {0.9} and set(apart["0.80"].values()) == {None}
