"""Values that are kept for a while."""

from __future__ import annotations

from distriage.github.kept import Kept


def test_a_value_is_fresh_for_a_time_and_known_for_longer() -> None:
    now = 0.0
    kept = Kept[str, int](2, 60.0)
    kept.clock = lambda: now
    kept.put("a", 0)
    now = 59.0
    assert kept.get("a") == 0
    now = 60.0
    assert kept.get("a") is None and kept.get("a", stale=True) == 0
    kept.drop("a")
    assert kept.get("a", stale=True) is None


def test_the_oldest_goes_first() -> None:
    kept = Kept[str, int](2)
    for name in ("a", "b", "a", "c"):
        kept.put(name, 1)
    assert [kept.get(name) for name in "abc"] == [1, None, 1]
