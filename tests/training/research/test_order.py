"""The fit of the weights by which past issues are ordered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from distriage.classifier import Classifier
from distriage.model.bundle import thread_digest
from distriage_research.experiments.duplicates import Repository, read_repositories
from distriage_research.order import (
    TODAY,
    OrderResult,
    fit_order,
    found_by_grid,
    measure_order,
    named_pairs,
    order_table,
    sign_test,
    signs_of,
)

from support.command_line import Command, assert_one_line
from support.toys import write_lines

TITLES = ("Ranks hang in all_reduce", "Loss is nan in bf16", "all_reduce hangs", "Checkpoint lost", "nan loss", "Slow")


@pytest.fixture
def texts(tmp_path: Path) -> str:
    rows = [
        {"id": f"Own/r{place}#{n}", "title": title, "body": f"{title} on node {place}", "created": f"2024-05-0{n}"}
        for place in range(6)
        for n, title in enumerate(TITLES, 1)
    ]
    return str(write_lines(tmp_path / "issues.jsonl", rows))


@pytest.fixture
def repository(shipped_classifier: Classifier, texts: str) -> Repository:
    return read_repositories(shipped_classifier, [texts], [("own/r0#1", "own/r0#2")])[0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Probably as in #1.", [(0, 2)]),
        ("See https://github.com/own/R0/issues/1", [(0, 2)]),
        ("Related to own/r0#1, and fixed with #2", [(0, 2), (1, 2)]),
        ("Duplicate of #1", []),  # withheld pairs are probably among these
        ("own/other#1, page/#1, #99, #3 itself", []),
        ("#1 0x00007f in wait ()\n#2  std::thread::join (this=0x0)", []),  # of a trace
    ],
)
def test_a_pair_is_an_issue_and_another_that_a_comment_names(
    repository: Repository, text: str, found: list[tuple[int, int]]
) -> None:
    assert named_pairs(repository, {"own/r0#3": [text]}, frozenset(), frozenset()) == found


def test_issues_that_must_decide_nothing_are_in_no_pair(repository: Repository) -> None:
    comments = {"own/r0#1": ["As #3 and #4"], "own/r0#2": ["As #5"]}
    assert named_pairs(repository, comments, frozenset({"own/r0#3"}), frozenset()) == [(0, 3), (1, 4)]
    withheld = frozenset({thread_digest("own/r0#1")})
    assert named_pairs(repository, comments, frozenset(), withheld) == [(1, 4)]


def test_signs_with_todays_weights_are_the_similarity_of_the_index(repository: Repository) -> None:
    for row in range(len(TITLES)):
        scores, *_ = repository.index.scores(repository.known(row))
        assert signs_of(repository, row) @ TODAY == pytest.approx(scores, abs=1e-5)


def test_the_fit_finds_the_weights_that_chose() -> None:
    rng = np.random.default_rng(5)
    choices = []
    for _ in range(400):
        signs = rng.normal(size=(60, 4)) * [1, 1, 1, 8]
        scores = signs @ [0.6, 0.35, 0.5, -0.05]
        scores[7] = -np.inf
        choices.append((signs, 7, int(np.argsort(-scores)[4])))  # the fifth: any other weights lose some
    assert fit_order(found_by_grid(choices)) == pytest.approx([0.6, 0.35, 0.5, -0.05])


def test_pairs_won_and_lost_are_compared_with_a_coin() -> None:
    new, old = np.array([True] * 9 + [False] * 3), np.array([False] * 8 + [True] * 3 + [False])
    assert sign_test(new, old) == (8, 2, pytest.approx(0.109375))
    assert sign_test(old, old) == (0, 0, 1.0)
    far, near = np.full((2, 8), 9), np.ones((2, 8), int)
    table = order_table(OrderResult(TODAY, (far, near), (near, far)))
    assert table.count("8 won, 0 lost, p 0.008") == 4 and table.count("0 won, 8 lost, p 0.008") == 4
    assert "| 8 pairs to decide on, fitted | 1.000 / 1.000 / 1.000; 1.000 |" in table
    assert "| 8 pairs public, fitted | 0.000 / 0.000 / 1.000; 0.111 |" in table


def test_the_command_fits_without_the_public_pairs_and_measures_on_them_last(
    research: Command, shipped_classifier: Classifier, texts: str, tmp_path: Path
) -> None:
    pairs, judged = tmp_path / "pairs.csv", tmp_path / "judged.csv"
    pairs.write_text("issue,same_as\n" + "".join(f"own/r{n}#2,own/r{n}#5\n" for n in range(6)), encoding="utf-8")
    judged.write_text("issue,past,same\nown/r5#6,own/r5#4,no\n", encoding="utf-8")
    said = [{"id": f"own/r{n}#3", "comments": ["As #1, not #2", "#6?"]} for n in range(6)]
    threads = write_lines(tmp_path / "threads.jsonl", said)
    write_lines(
        tmp_path / "annotations.jsonl", [{"id": "Own/r4#6", "split": "test"}, {"id": "own/r4#1", "split": "train"}]
    )
    model = str(shipped_classifier.bundle.path)
    asked = ("duplicates", pairs, texts, "--judged", judged, "--fit", threads, "--corpus", tmp_path, "--model", model)
    done = research(*map(str, asked))
    assert done.code == 0, done.err
    rows = [line.split("|")[1].strip() for line in done.out.splitlines() if " pairs " in line]
    assert rows == [f"{of}, {by}" for of in ("10 pairs to decide on", "6 pairs public") for by in ("today's", "fitted")]
    write_lines(threads, said[:4])
    assert_one_line(research(*map(str, asked)), "4 repositories have issues that name each other; expected 5 or more")


def test_a_pair_is_ranked_by_weights_of_other_repositories(
    shipped_classifier: Classifier, texts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def remember(found: np.ndarray) -> np.ndarray:
        seen.append(found.shape[1])
        return TODAY

    monkeypatch.setattr("distriage_research.order.fit_order", remember)
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("issue,same_as\n" + "".join(f"own/r{n}#2,own/r{n}#5\n" for n in range(6)), encoding="utf-8")
    threads = write_lines(tmp_path / "threads.jsonl", [{"id": f"own/r{n}#3", "comments": ["As #1"]} for n in range(6)])
    write_lines(tmp_path / "annotations.jsonl", [])
    result = measure_order(shipped_classifier, [texts], threads, pairs, None, tmp_path)
    assert sorted(seen) == [4, 5, 5, 5, 5, 6]  # five folds of six repositories, then all
    assert np.array_equal(*result.named) and np.array_equal(*result.public)
