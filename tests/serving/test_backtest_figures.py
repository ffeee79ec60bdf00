"""The figures of a backtest: coverage, precision, thresholds, periods, intervals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.base.intervals import wilson
from distriage.base.types import Mode
from distriage.github.listed import ListedIssue
from distriage_serving.backtest.measure import THRESHOLDS, Claim, Replayed, by_period, measure, proposed_threshold


def replayed(number: int, label: str, probability: float, truth: str | None, *, applies: bool = True) -> Replayed:
    issue = ListedIssue(number, f"t{number}", "", "", 86400.0 * 20 * number, (), False)
    modes = frozenset(
        mode
        for mode, least in ((Mode.BEST, 0.0), (Mode.BALANCED, 0.7), (Mode.PRECISE, 0.9))
        if applies and probability >= least
    )
    return Replayed(
        issue,
        {"symptom": Claim(label, probability, applies, modes)},
        {} if truth is None else {"symptom": frozenset({truth})},
    )


ITEMS = [
    replayed(1, "hang", 0.95, "hang"),
    replayed(2, "hang", 0.85, "oom"),
    replayed(3, "oom", 0.75, "oom"),
    replayed(4, "oom", 0.65, None),
    replayed(5, "hang", 0.99, "hang", applies=False),
]


def test_coverage_counts_all_issues_and_precision_those_that_people_labelled() -> None:
    result = measure("symptom", ITEMS)
    assert [(tally.given, tally.right.n, tally.right.hits) for tally in result.at] == [
        (4, 3, 2),
        (4, 3, 2),
        (4, 3, 2),
        (3, 3, 2),
        (2, 2, 1),
        (1, 1, 1),
        (1, 1, 1),
    ]
    assert (result.issues, result.labelled, result.mapped) == (5, 4, ("hang", "oom"))
    assert {mode: (tally.given, tally.right.hits) for mode, tally in result.modes.items()} == {
        Mode.BEST: (4, 2),
        Mode.BALANCED: (3, 2),
        Mode.PRECISE: (1, 1),
    }
    assert [miss.issue.number for miss in result.misses] == [2]
    hang, oom = result.rows
    assert (hang.label, hang.carried, hang.at[0].given, hang.at[0].right.hits, hang.found[0]) == ("hang", 2, 2, 1, 0.5)
    assert (oom.label, oom.carried, oom.at[0].given, oom.at[0].right.n, oom.found[0]) == ("oom", 2, 2, 1, 0.5)
    assert [(point.coverage, point.precision) for point in result.curve] == [
        (0.25, 1.0),
        (0.5, 0.5),
        (0.75, pytest.approx(2 / 3)),
    ]
    assert len(hang.at) == len(THRESHOLDS)


def test_the_lowest_threshold_that_was_surely_right_is_proposed() -> None:
    wrong = [replayed(n, "hang", 0.65, "oom") for n in range(1, 20)]
    right = [replayed(n, "hang", 0.93, "hang") for n in range(20, 45)]
    found = proposed_threshold(measure("symptom", [*wrong, *right]))
    assert found is not None
    assert (found[0], found[1].right.hits, found[1].right.n) == (0.7, 25, 25)
    assert proposed_threshold(measure("symptom", [*wrong, *right[:10]])) is None  # too few
    assert proposed_threshold(measure("symptom", right)) is None  # no other label was judged


def test_an_axis_without_any_issue() -> None:
    result = measure("symptom", [])
    assert result.at[0].coverage is None and result.at[0].right.value is None and result.curve == ()


def test_periods_become_longer_with_the_history() -> None:
    months = by_period([replayed(number, "hang", 0.9, None) for number in range(1, 4)])
    assert [name for name, _ in months] == ["1970-01", "1970-02", "1970-03"]
    assert by_period([replayed(number * 2, "hang", 0.9, None) for number in range(1, 50)])[0][0] == "1970 Q1"
    assert by_period([replayed(number * 12, "hang", 0.9, None) for number in range(1, 60)])[0][0] == "1970"


@given(st.integers(0, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_s_interval_holds_the_share(pair: tuple[int, int]) -> None:
    right, n = pair
    low, high = wilson(right, n)
    assert 0 <= low <= high <= 1 and low - 1e-9 <= (right / n if n else 0.5) <= high + 1e-9


def test_wilson_s_interval_is_that_of_the_books() -> None:
    assert wilson(8, 10) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))
    assert wilson(0, 0) == (0.0, 1.0)
