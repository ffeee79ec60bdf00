from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distriage.recipe.features import words
from distriage.recipe.text import prepare
from distriage_research.corpus.near_duplicates import MIN_WORDS, near_duplicates
from distriage_training.corpus.records import Record


def record(body: str, split: str = "train") -> Record:
    return Record("a/b#1", "", body, {}, split, "toys", "raw", "")


def numbered(*numbers: int) -> str:
    return " ".join(f"word{number}" for number in numbers)


def test_similarity_is_the_jaccard_index_of_word_triples() -> None:
    # 18 triples each, of which 17 are shared: 17 of 19
    records = [
        record(numbered(*range(20))),
        record("something else " + numbered(*range(100, 120))),
        record(numbered(*range(19), 99)),
    ]
    (pair,) = near_duplicates(records)
    assert (pair.first, pair.second) == (0, 2)
    assert pair.similarity == pytest.approx(17 / 19)


def test_the_threshold_is_inclusive() -> None:
    records = [record(numbered(*range(20))), record(numbered(*range(19), 99))]
    assert list(near_duplicates(records, 0.9)) == []
    assert len(list(near_duplicates(records, 17 / 19 - 1e-6))) == 1
    assert len(list(near_duplicates([record(numbered(*range(20)))] * 2, 1.0))) == 1


def test_short_texts_are_never_near_duplicates() -> None:
    assert list(near_duplicates([record(numbered(*range(MIN_WORDS - 1)))] * 3)) == []
    assert len(list(near_duplicates([record(numbered(*range(MIN_WORDS)))] * 3))) == 3
    assert list(near_duplicates([record("")] * 2)) == []
    assert list(near_duplicates([])) == []


def test_templates_and_environments_do_not_make_duplicates() -> None:
    boilerplate = (
        "## Describe the bug\nA clear and concise description of what the bug is.\n- PyTorch "
        "version: 2.1.0\n- CUDA: 12.1\n- OS: Ubuntu 22.04\n"
    )
    records = [record(boilerplate + numbered(*range(start, start + 14))) for start in (0, 50)]
    assert list(near_duplicates(records)) == []


def test_duplicates_are_found_across_blocks() -> None:
    bodies = [numbered(*range(n * 30, n * 30 + 15)) for n in range(1100)]
    bodies[1090] = bodies[3]
    bodies[700] = bodies[600]
    found = sorted((pair.first, pair.second) for pair in near_duplicates([record(body) for body in bodies]))
    assert found == [(3, 1090), (600, 700)]


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    bodies=st.lists(st.lists(st.integers(0, 3), min_size=8, max_size=30), min_size=2, max_size=6),
    threshold=st.sampled_from([0.2, 0.4, 0.6]),
)
def test_against_brute_force(bodies: list[list[int]], threshold: float) -> None:
    records = [record(numbered(*body)) for body in bodies]
    expected = {}
    for (i, one), (j, other) in combinations(enumerate(records), 2):
        a, b = (
            {tuple(tokens[k : k + 3]) for k in range(len(tokens) - 2)}
            for tokens in (words(prepare("", r.body).text) for r in (one, other))
        )
        long_enough = all(len(words(prepare("", r.body).text)) >= MIN_WORDS for r in (one, other))
        if long_enough and len(a & b) / len(a | b) >= threshold:
            expected[i, j] = len(a & b) / len(a | b)
    found = {(pair.first, pair.second): pair.similarity for pair in near_duplicates(records, threshold)}
    assert found == pytest.approx(expected)
