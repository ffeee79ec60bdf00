from __future__ import annotations

import pytest

from distriage_serving.times import epoch_s


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2024-05-01T10:00:00Z", 1_714_557_600.0), ("May", 0.0), ("0001-01-01T00:00:00", 0.0), (None, 0.0), (7, 0.0)],
)
def test_what_is_no_time_is_zero(text: object, seconds: float) -> None:
    assert epoch_s(text) == seconds
