"""The soak test for six seconds; `python -m support.soak` runs it for an hour."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.soak import soak


@pytest.mark.slow
def test_mixed_hostile_and_normal_traffic_leaves_nothing_undone_and_memory_flat(tmp_path: Path) -> None:
    figures = soak(tmp_path, 6)
    assert figures.issues > 5 and figures.accepted == figures.issues
    assert (figures.lost, figures.doubled) == (0, 0), figures
    assert figures.livez_s < 5, figures  # on a machine that is busy with other things
    assert max(figures.memory_mb) < 600 and figures.growth_mb < 100, figures
