from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distriage_training.measure.scoring import (
    accuracy,
    accuracy_of_draws,
    among_likeliest,
    bootstrap_interval,
    brier,
    coverage_at_precision,
    expected_calibration_error,
    macro_f1,
    macro_f1_of_draws,
    precision_coverage_curve,
    weighted_f1,
)

TRUTH = np.array([0, 0, 0, 1, 1, 2])
PREDICTED = np.array([0, 0, 1, 1, 2, 2])
# F1: label 0 2*2/(3+2), label 1 2*1/(2+2), label 2 2*1/(1+2)
F1 = (4 / 5, 1 / 2, 2 / 3)


def test_scores_by_hand() -> None:
    assert accuracy(TRUTH, PREDICTED) == pytest.approx(4 / 6)
    assert macro_f1(TRUTH, PREDICTED) == pytest.approx(sum(F1) / 3)
    assert weighted_f1(TRUTH, PREDICTED) == pytest.approx((3 * F1[0] + 2 * F1[1] + 1 * F1[2]) / 6)


def test_macro_f1_counts_labels_of_truth_and_of_prediction_and_no_others() -> None:
    assert macro_f1(np.array([5, 5, 5, 5]), np.array([5, 5, 5, 7])) == pytest.approx((6 / 7 + 0) / 2)


def test_a_label_is_among_the_likeliest_or_not() -> None:
    probabilities = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.1, 0.45, 0.45]])
    assert among_likeliest(np.array([1, 2, 2]), probabilities, 2).tolist() == [True, False, True]
    assert among_likeliest(np.array([0, 2, 2]), probabilities, 1).tolist() == [True, False, False]
    assert among_likeliest(np.array([0, 1, 2]), probabilities, 5).all()


# confidence .9 .8 .7 .6 .6, right yes no yes yes no
PROBABILITIES = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.4, 0.6], [0.6, 0.4]])
LABELS = np.array([0, 0, 0, 1, 1])


def test_calibration_error_by_hand() -> None:
    # five bins of one report each
    assert expected_calibration_error(LABELS, PROBABILITIES, bins=5) == pytest.approx((0.1 + 0.8 + 0.3 + 0.4 + 0.6) / 5)
    assert expected_calibration_error(LABELS, PROBABILITIES, bins=10) == pytest.approx(0.44)
    # one bin: mean confidence 0.72, accuracy 0.6
    assert expected_calibration_error(LABELS, PROBABILITIES, bins=1) == pytest.approx(0.12)
    # two bins, ascending confidence: (.6 .6 .7: accuracy 2/3) and (.8 .9: accuracy 1/2)
    assert expected_calibration_error(LABELS, PROBABILITIES, bins=2) == pytest.approx(
        (3 * abs(1.9 / 3 - 2 / 3) + 2 * abs(0.85 - 0.5)) / 5
    )


@pytest.mark.parametrize(("count", "bins"), [(100, 5), (299, 5), (420, 8), (2000, 15)])
def test_bins_hold_about_fifty_reports(count: int, bins: int) -> None:
    rng = np.random.default_rng(count)
    probabilities = rng.dirichlet([1, 1, 1], count)
    truth = (rng.random((count, 1)) > probabilities.cumsum(1)[:, :2]).sum(
        1
    )  # honest probabilities: what remains is the noise of the bins
    found = expected_calibration_error(truth, probabilities)
    assert found == expected_calibration_error(truth, probabilities, bins=bins)
    assert found != expected_calibration_error(truth, probabilities, bins=bins - 1)


def test_honest_confidence_has_no_calibration_error() -> None:
    probabilities = np.tile([0.75, 0.25], (400, 1))
    truth = (np.arange(400) % 4 == 0).astype(int)
    assert expected_calibration_error(truth, probabilities, bins=1) == pytest.approx(0.0)


def test_brier_by_hand() -> None:
    by_hand = [2 * 0.1**2, 2 * 0.8**2, 2 * 0.3**2, 2 * 0.4**2, 2 * 0.6**2]
    assert brier(LABELS, PROBABILITIES) == pytest.approx(sum(by_hand) / 5)
    assert brier(np.array([0, 1]), np.eye(2)) == 0.0
    assert brier(np.array([1, 0]), np.eye(2)) == 2.0


def test_coverage_at_precision_by_hand() -> None:
    # by falling confidence: right wrong right right wrong; precision 1, 1/2, 2/3, 3/4, 3/5
    assert coverage_at_precision(LABELS, PROBABILITIES, 1.0) == pytest.approx(1 / 5)
    assert coverage_at_precision(LABELS, PROBABILITIES, 0.75) == pytest.approx(4 / 5)
    assert coverage_at_precision(LABELS, PROBABILITIES, 0.6) == pytest.approx(1.0)
    assert coverage_at_precision(1 - LABELS, PROBABILITIES, 0.9) == 0.0


def test_the_curve_by_hand() -> None:
    coverage, precision = precision_coverage_curve(LABELS, PROBABILITIES)
    assert coverage.tolist() == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert precision.tolist() == pytest.approx([1, 1 / 2, 2 / 3, 3 / 4, 3 / 5])


def test_the_interval_of_an_accuracy_is_the_binomial_one() -> None:
    truth = np.zeros(400, int)
    predicted = (np.arange(400) % 5 == 0).astype(int)  # right in 80 %
    low, high = bootstrap_interval(truth, predicted, accuracy_of_draws)
    half = 1.96 * (0.8 * 0.2 / 400) ** 0.5
    assert low == pytest.approx(0.8 - half, abs=0.008)
    assert high == pytest.approx(0.8 + half, abs=0.008)
    assert (low, high) == bootstrap_interval(truth, predicted, accuracy_of_draws)
    assert (low, high) != bootstrap_interval(truth, predicted, accuracy_of_draws, seed=8)


def test_the_interval_of_a_perfect_score_is_a_point() -> None:
    assert bootstrap_interval(TRUTH, TRUTH, accuracy_of_draws, draws=50) == (1.0, 1.0)


def test_the_scores_of_draws_are_those_of_the_reports_that_were_drawn() -> None:
    rows = np.random.default_rng(0).integers(0, len(TRUTH), (50, len(TRUTH)))
    times = np.array([np.bincount(drawn, minlength=len(TRUTH)) for drawn in rows], float)
    for direct, of_draws in ((accuracy, accuracy_of_draws), (macro_f1, macro_f1_of_draws)):
        expected = [direct(TRUTH[drawn], PREDICTED[drawn]) for drawn in rows]
        assert of_draws(TRUTH, PREDICTED, times).tolist() == pytest.approx(expected)


SPLITS = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.integers(1, 20), min_size=3, max_size=3)), min_size=1, max_size=40
)


@settings(derandomize=True, deadline=None)
@given(rows=SPLITS)
def test_bounds_and_the_link_of_coverage_and_curve(rows: list[tuple[int, list[int]]]) -> None:
    truth = np.array([label for label, _ in rows])
    probabilities = np.array([np.array(weights) / sum(weights) for _, weights in rows])
    assert 0 <= expected_calibration_error(truth, probabilities) <= 1
    assert 0 <= brier(truth, probabilities) <= 2
    coverage, precision = precision_coverage_curve(truth, probabilities)
    assert precision[-1] == pytest.approx(accuracy(truth, probabilities.argmax(1)))
    for target in (0.5, 0.8, 1.0):
        assert coverage_at_precision(truth, probabilities, target) == max(
            [float(c) for c, p in zip(coverage, precision, strict=True) if p >= target], default=0.0
        )
