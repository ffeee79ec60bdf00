from __future__ import annotations

import numpy as np
import pytest

from distriage.past.index import PastIndex, PastQuery, assemble, make_index
from distriage.past.issue import PastIssue
from distriage.past.packed import pack, unpack
from distriage.past.update import updated
from distriage.past.words import BUCKETS, LINES, POSTINGS, TITLES, Features, Floats, postings, titled, unit, weighted
from distriage.recipe.features import HASH_BUCKETS

Issue = tuple[PastIssue, Features, Floats]


def random_issue(random: np.random.Generator, number: int, width: int = 4) -> Issue:
    buckets = np.sort(random.choice(TITLES, 300, replace=False)).astype(np.int32)
    counts = random.integers(1, 9, 300).astype(np.float32)
    past = PastIssue(f"o/r#{number}", f"T{number}", filed_at=1e9 + number)
    return past, (buckets, counts), random.normal(size=width).astype(np.float32)


def made(issues: list[Issue], model: str = "toy") -> PastIndex:
    return make_index(
        [one for one, _, _ in issues], [one for _, one, _ in issues], [one for _, _, one in issues], model
    )


@pytest.mark.parametrize("width", [4, 0])
def test_an_updated_index_is_that_of_all_its_issues(width: int) -> None:
    random = np.random.default_rng(7)
    old = [random_issue(random, number, width) for number in range(1, 9)]
    new = [random_issue(random, number, width) for number in (3, 9)]
    before = made(old)
    index = updated(before, {"o/r#5"}, *([one[part] for one in new] for part in range(3)))  # type: ignore[arg-type]
    wanted = [one for one in old if one[0].number not in {3, 5}] + new
    vectors = np.array([unit(vector) for _, _, vector in wanted], np.float32) if width else np.zeros((0, 0), np.float32)
    found = postings([titled(features, past.title) for past, features, _ in wanted], before.idf)
    whole = assemble("toy", [past for past, _, _ in wanted], before.idf, found, vectors)
    assert [issue.number for issue in index.issues] == [1, 2, 4, 6, 7, 8, 3, 9]
    _, features, vector = random_issue(random, 10, width)
    for asked in (PastQuery(features, vector), PastQuery(new[0][1], new[0][2]), PastQuery(old[4][1], old[4][2])):
        # Weights that come from the index were rounded to 16 bits before.
        np.testing.assert_allclose(index.scores(asked)[0], whole.scores(asked)[0], atol=1e-3)
    assert len(before.issues) == 8  # as it was


def test_what_a_report_needs_survives_its_bytes() -> None:
    random = np.random.default_rng(7)
    for known in (
        PastQuery(*random_issue(random, 1)[1:]),
        PastQuery((np.zeros(0, np.int32), np.zeros(0, np.float32)), np.zeros(0, np.float32)),
    ):
        (buckets, counts), vector = unpack(pack(known))
        np.testing.assert_array_equal(buckets, known.features[0])
        np.testing.assert_array_equal(counts, known.features[1])
        np.testing.assert_allclose(vector, known.vector, atol=1e-2)


def test_the_heaviest_words_of_each_view_are_kept_at_unit_length() -> None:
    buckets = np.concatenate([np.arange(200), LINES + np.arange(100)]).astype(np.int32)
    features, idf = (buckets, np.arange(1, 301, dtype=np.float32)), np.ones(BUCKETS, np.float32)
    kept = postings([features], idf)
    assert set(kept.columns) == {
        *range(200 - POSTINGS[0], 200),
        *range(LINES + 100 - POSTINGS[2], LINES + 100),
    }
    for ids, weights in (weighted(features, idf), (kept.columns, kept.weights)):
        for view in (0, LINES // HASH_BUCKETS):
            assert np.linalg.norm(weights[ids // HASH_BUCKETS == view]) == pytest.approx(1)
