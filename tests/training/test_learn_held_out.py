"""Own labels: what is measured and promised rests on issues that nothing was learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'distriage[learn]'")

from distriage.github.listed import ListedIssue
from distriage.own.features import OwnFeatures
from distriage.own.labels import OwnLabels
from distriage_training.learn.compare import held_out
from distriage_training.learn.examples import Issues, Wishes, choose, usable
from distriage_training.learn.fit import WORDS, Bools, Learned, blocks, calibrate, held_out_scores, learn
from distriage_training.learn.measure import SHOWN, LabelFigures, measure, what_would_help
from distriage_training.learn.run import learn_and_measure
from distriage_training.learn.thresholds import Promise, Threshold, find_threshold

PROMISE = Promise(0.8, 0.9)
DAY_S = 86_400.0
NAMES = ("bug", "docs")
COUNT = 200


def features(count: int = COUNT) -> list[OwnFeatures]:
    """Of reports with a word of their label, and words that others have too."""
    random = np.random.default_rng(1)
    rows = []
    for number in range(count):
        ids = np.unique(np.concatenate([[number % 2], random.integers(10, 60, 8)])) + (1 << 17)
        rows.append(
            OwnFeatures(ids, np.ones(len(ids)), random.normal(size=4).astype("f"), random.normal(size=3).astype("f"))
        )
    return rows


def truth(count: int = COUNT) -> Bools:
    """As the words say, save one in 25."""
    wrong = np.arange(count) % 25 == 7
    return np.array([(np.arange(count) % 2 == column) != wrong for column in range(len(NAMES))]).T


def issues(given: Bools, *, later: str = "") -> tuple[ListedIssue, ...]:
    """Issues with these labels; `later`: one that only the newest fifth has."""
    newer = len(given) * 4 // 5
    return tuple(
        ListedIssue(
            number,
            f"t{number}",
            "b",
            "",
            float(number),
            (
                *(name for name, has in zip(NAMES, row, strict=True) if has),
                *([later] if number >= newer and later else []),
            ),
            False,
        )
        for number, row in enumerate(given)
    )


# ---------------------------------------------------------------- nothing of later issues is learned from


def test_each_block_is_answered_without_its_labels_and_those_after_it() -> None:
    rows, given = features(), truth()
    before = held_out_scores(WORDS, rows, given)
    asked = blocks(COUNT)[0][0]
    assert before.shape == (COUNT - asked, 2)
    for first, end in blocks(COUNT):
        changed = given.copy()
        changed[first:] = ~changed[first:]
        after = held_out_scores(WORDS, rows, changed)
        assert np.array_equal(after[: end - asked], before[: end - asked])
        assert end == COUNT or not np.allclose(after[end - asked :], before[end - asked :])


def test_a_threshold_counts_what_was_right_on_issues_held_out() -> None:
    rows, given = features(), truth()
    learned = learn(WORDS, rows, given, PROMISE)
    held = given[blocks(COUNT)[0][0] :]
    p = learned.calibration.probabilities(held_out_scores(WORDS, rows, given))
    for column, threshold in enumerate(learned.thresholds):
        assert threshold is not None
        said = p[:, column] >= threshold.probability
        assert (threshold.given, threshold.right) == (said.sum(), (said & held[:, column]).sum())
        assert PROMISE.precision <= threshold.bound < threshold.right / threshold.given


def test_what_is_measured_does_not_hang_on_the_labels_of_later_issues() -> None:
    rows, given = features(), truth()
    changed = given.copy()
    changed[160:] = ~changed[160:]
    one, other = (
        learn_and_measure(Issues(past, 0, 0, 0), Wishes(), rows, PROMISE, lambda *_: None)
        for past in (issues(given), issues(changed, later="new"))
    )
    for before, after in zip(
        sorted(one.figures, key=lambda item: item.features),
        sorted(other.figures, key=lambda item: item.features),
        strict=True,
    ):
        assert (before.quality, before.issues) == (after.quality, after.issues) == (before.quality, 40)
        assert [label.name for label in after.labels] == list(NAMES)
        for left, right in zip(before.labels, after.labels, strict=True):
            assert (left.threshold, left.examples, left.given) == (right.threshold, right.examples, right.given)
            assert left.carried + right.carried == 40 and left.right + right.right == left.given
    assert set(other.labels.names) == {*NAMES, "new"}
    assert len(other.final.thresholds) == 3


def test_only_issues_after_those_that_earlier_heads_learned_from_decide() -> None:
    past = issues(truth(100))
    for until, first in ((79.0, 80), (50.0, 80), (80.0, 81), (90.5, 91), (99.0, 100)):
        previous = cast(OwnLabels, SimpleNamespace(manifest=SimpleNamespace(until=until)))
        assert held_out(past, previous) == first


# ---------------------------------------------------------------- which labels


def test_labels_of_bots_issues_are_not_counted() -> None:
    past = [
        replace(issue, labels=("bot's",), by_bot=True) if issue.number % 3 else issue for issue in issues(truth(400))
    ]
    labels = choose(usable(past).kept, Wishes())
    assert "bot's" not in {*labels.names, *labels.left_out} and "bug" in labels.names


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (range(181, 200), "on 19 issues; 20 are needed"),
        (range(180, 200), None),
        (range(10, 200), None),
        (range(9, 200), "on 191 of 200 issues: it tells none apart"),
        (range(119, 161), "out of use: on 1 of the newest 40 issues (--include learns it)"),
        (range(120, 162), None),
    ],
)
def test_from_how_many_issues_on_a_label_is_learned(given: range, why: str | None) -> None:
    past = [replace(issue, labels=("x",) if issue.number in given else ("y",)) for issue in issues(truth())]
    past = [replace(issue, labels=(*issue.labels, "z")) if issue.number % 2 else issue for issue in past]
    labels = choose(past, Wishes())
    assert labels.left_out.get("x") == why and ("x" in labels.names) == (why is None)
    forced = choose(past, Wishes(include=frozenset({"X"})))
    assert ("x" in forced.names) == (why is None or why.startswith("out of use"))


@pytest.mark.parametrize(
    ("given", "labelled", "apart_s", "why"),
    [
        (
            range(0, 900, 20),
            1000,
            DAY_S,
            "on none of the newest 119 labelled issues, where its share before lets expect 6",
        ),
        (range(0, 920, 20), 1000, DAY_S, None),  # 99 issues are no proof yet
        ([*range(0, 800, 40), 810, 890], 1000, DAY_S, None),  # on one in forty: 109 without it are no wonder
        (
            range(0, 900, 20),
            990,
            DAY_S,
            "on none of the newest 109 labelled issues, where its share before lets expect 6",
        ),
        (range(0, 900, 20), 980, DAY_S, None),  # the other twenty wait for their labels
        (range(0, 900, 20), 1000, DAY_S / 6, None),  # as all of them may, if they came within twenty days
    ],
)
def test_a_label_that_is_no_longer_given_is_out_of_use(
    given: Sequence[int], labelled: int, apart_s: float, why: str | None
) -> None:
    past = [
        replace(
            issue,
            created_at=place * apart_s,
            labels=(*(["x"] if place in given else []), "y" if place % 2 else "z") if place < labelled else (),
        )
        for place, issue in enumerate(issues(truth(1000)))
    ]
    assert choose(past, Wishes()).left_out.get("x") == (why and f"out of use: {why} (--include learns it)")


# ---------------------------------------------------------------- thresholds and figures


def test_equal_probabilities_are_decided_alike() -> None:
    p = np.repeat([0.99, 0.9, 0.8], 40)
    found = find_threshold(p, np.arange(120) < 90, PROMISE)
    assert found is not None and (found.probability, found.given, found.right) == (0.9, 80, 80)
    assert find_threshold(np.repeat(0.5, 40), np.ones(40, np.bool_), PROMISE) is not None
    assert find_threshold(np.repeat(0.4999, 40), np.ones(40, np.bool_), PROMISE) is None


def test_no_threshold_is_taken_whose_decisions_do_not_show_the_precision() -> None:
    random = np.random.default_rng(5)
    p = np.linspace(1, 0.5, 200)
    found = [find_threshold(p, random.random(200) < share, PROMISE) for share in np.linspace(0.75, 1, 100)]
    bounds = [one.bound for one in found if one is not None]
    assert 20 < len(bounds) < 100 and min(bounds) >= PROMISE.precision


def test_the_starts_share_the_risk_of_being_wrong() -> None:
    """That 53 of 60 are right has a chance of 7 % where the precision is too low: of two starts each may have 5 %."""
    p = np.full(60, 0.9)
    assert find_threshold(p, np.arange(60) < 53, PROMISE) is None
    assert find_threshold(p, np.arange(60) < 54, PROMISE) is not None


def test_labels_that_all_or_none_of_the_issues_held_out_have_are_left_as_scored() -> None:
    for given in (np.ones((5, 2), np.bool_), np.zeros((5, 2), np.bool_)):
        probabilities = calibrate(np.full((5, 2), 2.0), given).probabilities(np.full((1, 2), 2.0))
        assert probabilities == pytest.approx(np.full((1, 2), 1 / (1 + np.exp(-2.0))))


def test_the_strictest_threshold_is_tried_on_twice_the_fewest_that_can_show_it() -> None:
    assert find_threshold(np.repeat(0.6, 21), np.ones(21, np.bool_), PROMISE) is None
    found = find_threshold(np.linspace(0.7, 0.6, 22), np.ones(22, np.bool_), PROMISE)
    assert found is not None and found.given == 22


def test_figures_count_what_is_given_likely_and_right() -> None:
    """Six later issues; `bug` is given from .8 on, `docs` never."""
    given = np.array(
        [[True, False]] * 14
        + [[True, False], [True, True], [False, True], [False, False], [True, False], [False, True]]
    )
    p = np.array([[0.8, 0.1], [0.79, 0.2], [0.9, 0.5], [0.6, 0.49], [0.2, 0.7], [0.1, 0.6]])
    learned = SimpleNamespace(
        heads=SimpleNamespace(kind=WORDS), quality=0.5, thresholds=(Threshold(0.8, 22, 22, 0.9), None)
    )
    past = issues(given)
    figures = measure(NAMES, cast(Learned, learned), past, p, given)
    bug, docs = figures.labels
    assert (figures.issues, figures.covered, figures.given, figures.right) == (6, 2, 2, 1)
    assert (bug.examples, bug.carried, bug.given, bug.right, bug.likely, bug.likely_right) == (14, 3, 2, 1, 4, 2)
    assert (docs.examples, docs.carried, docs.given, docs.right, docs.likely, docs.likely_right) == (0, 3, 0, 0, 3, 2)
    assert figures.micro_f1 == pytest.approx(2 * 4 / (7 + 6))
    assert [(issue.number, p) for issue, p in bug.wrong] == [(16, 0.9), (17, 0.6)]
    assert [(issue.number, p) for issue, p in bug.missed] == [(18, 0.2), (15, 0.79)]
    assert bug.confused == (("docs", 1), ("", 1))
    assert (bug.precision, bug.found, docs.precision, docs.found) == (0.5, pytest.approx(1 / 3), None, 0)
    assert bug.interval[0] < 0.5 < bug.interval[1] and figures.coverage == pytest.approx(2 / 6)


def test_the_page_shows_the_surest_mistakes_only() -> None:
    given = np.zeros((40, 2), np.bool_)
    p = np.linspace([0.99, 0.0], [0.9, 0.0], 40)
    learned = SimpleNamespace(heads=SimpleNamespace(kind=WORDS), quality=0.5, thresholds=(None, None))
    (bug, _) = measure(NAMES, cast(Learned, learned), issues(given), p, given).labels
    assert [issue.number for issue, _ in bug.wrong] == list(range(SHOWN)) and bug.likely == 40


def test_what_would_help_a_label_that_is_never_given() -> None:
    label = LabelFigures("bug", 43, 0, None, 0, 0, 0, 0, (), (), ())
    assert (
        what_would_help(label, PROMISE) == "More examples: it is on 43 issues; with fewer than 44 nothing can be shown."
    )
    assert what_would_help(replace(label, examples=44), PROMISE).startswith("Its issues read like others")
    mixed = replace(label, examples=44, confused=(("docs", 3), ("", 1)))
    assert what_would_help(mixed, PROMISE).startswith("People gave 'docs' to issues that read like it")
