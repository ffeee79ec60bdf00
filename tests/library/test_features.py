from __future__ import annotations

from collections import Counter
from itertools import pairwise
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.recipe.features import (
    HASH_BUCKETS,
    MAX_FEATURES,
    VIEWS,
    all_features,
    filed_features,
    hashed_features,
    words,
)
from distriage.recipe.text import ModelInput, prepare


def as_dict(report: ModelInput) -> dict[int, float]:
    return dict(zip(*hashed_features(report), strict=True))


def test_words_are_lower_case_words_identifiers_numbers_and_single_cjk_characters() -> None:
    assert words("NCCL_DEBUG=INFO all_reduce took 1800.5 s, 卡住 on rank7") == [
        "nccl_debug",
        "info",
        "all_reduce",
        "took",
        "1800.5",
        "s",
        "卡",
        "住",
        "on",
        "rank7",
    ]


@given(st.text(max_size=300), st.lists(st.text(max_size=80), max_size=4), st.text(max_size=1000))
def test_buckets_are_distinct_ascending_and_in_range(title: str, errors: list[str], prose: str) -> None:
    buckets, counts = hashed_features(ModelInput(title, tuple(errors), prose))
    assert buckets == sorted(set(buckets))
    assert all(0 <= bucket < HASH_BUCKETS for bucket in buckets)
    assert len(buckets) == len(counts) <= MAX_FEATURES
    assert all(count >= 1 for count in counts)


def test_the_buckets_of_a_known_report() -> None:
    """The model's weights are bound to these numbers: CRC-32 modulo 131,072, in every process and on every machine."""
    assert as_dict(ModelInput("", (), "nccl timeout nccl")) == {16194: 2.0, 21092: 1.0, 35897: 1.0, 95634: 1.0}


def test_a_word_counts_apart_in_title_errors_and_prose() -> None:
    title, errors, prose = (
        as_dict(report)
        for report in (ModelInput("hang", (), ""), ModelInput("", ("hang",), ""), ModelInput("", (), "hang"))
    )
    assert len(prose) == 1
    assert set(prose) < set(title) and set(prose) < set(errors)
    assert len(title) == len(errors) == 2 and title != errors


def test_order_of_words_matters() -> None:
    assert as_dict(ModelInput("", (), "rank lost node")) != as_dict(ModelInput("", (), "node lost rank"))


def test_of_too_many_features_the_most_frequent_stay() -> None:
    distinct = " ".join(f"word{i}" for i in range(MAX_FEATURES + 200))
    frequent = as_dict(ModelInput("", (), "timeout " * 5))
    kept = as_dict(ModelInput("", (), distinct + " timeout" * 5))
    assert len(kept) == MAX_FEATURES
    assert kept.keys() >= frequent.keys()


@given(st.text("ab é卡1._ ", max_size=60), st.integers(0, 40))
def test_the_fast_way_counts_what_the_definition_says(text: str, most: int) -> None:
    counts: Counter[int] = Counter()
    tokens = words(text)
    for ngrams in (tokens, [" ".join(pair) for pair in pairwise(tokens)]):
        counts.update(crc32(ngram.encode()) % HASH_BUCKETS for ngram in ngrams)
    kept = sorted(bucket for bucket, _ in counts.most_common(most))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("distriage.recipe.features.MAX_FEATURES", most)
        assert filed_features(ModelInput("", (), "", text)) == (kept, [float(counts[bucket]) for bucket in kept])


def test_nothing_gives_nothing() -> None:
    assert hashed_features(ModelInput("", (), "")) == ([], [])


@given(st.text(max_size=500), st.text(max_size=500))
def test_the_second_view_follows_the_first(prose: str, filed: str) -> None:
    report = ModelInput("", (), prose, filed)
    ids, counts = all_features(report)
    assert ids == sorted(set(ids)) and len(ids) == len(counts)
    assert all(0 <= number < VIEWS * HASH_BUCKETS for number in ids)
    cleaned, whole = hashed_features(report), filed_features(report)
    assert list(zip(ids, counts, strict=True)) == [
        *zip(*cleaned, strict=True),
        *((HASH_BUCKETS + i, n) for i, n in zip(*whole, strict=True)),
    ]


def test_the_second_view_reads_the_headings_that_the_first_one_drops() -> None:
    report = prepare("hang", "### Environment\n\nSomebody else's machine.\n")
    assert as_dict(report).keys().isdisjoint(as_dict(ModelInput("", (), "environment")))
    ids, _ = filed_features(report)
    assert set(as_dict(ModelInput("", (), "environment"))) <= set(ids)
