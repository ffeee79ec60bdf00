from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.base.intervals import wilson


@pytest.mark.parametrize(
    ("hits", "n", "expected"),
    [
        (0, 10, (0.0, 0.2775)),  # Brown, Cai & DasGupta, 2001, and R's prop.test(correct = FALSE)
        (8, 10, (0.4902, 0.9433)),
        (263, 637, (0.3752, 0.4515)),
    ],
)
def test_known_intervals(hits: int, n: int, expected: tuple[float, float]) -> None:
    assert wilson(hits, n) == pytest.approx(expected, abs=1e-4)


def test_nothing_seen_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@given(n=st.integers(1, 10_000), share=st.floats(0, 1))
def test_the_interval_holds_the_share_and_mirrors(n: int, share: float) -> None:
    hits = round(share * n)
    low, high = wilson(hits, n)
    assert 0 <= low <= hits / n + 1e-12 and hits / n - 1e-12 <= high <= 1
    assert wilson(n - hits, n) == pytest.approx((1 - high, 1 - low))
