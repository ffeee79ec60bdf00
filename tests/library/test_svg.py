"""Where a chart's points are, and that every text is escaped."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

pytest.importorskip("markupsafe", reason="needs markupsafe: pip install 'distriage[serve]'")

from distriage.base.svg import Frame, polyline

FRAME = Frame(120, 70, left=10, right=10, top=5, bottom=15, peak=0.5)


def test_values_run_from_the_lower_edge_to_the_peak() -> None:
    assert (FRAME.x(0), FRAME.x(1)) == (10, 110)
    assert (FRAME.y(0), FRAME.y(0.5)) == (55, 5)


def test_a_gap_stays_a_gap() -> None:
    assert FRAME.runs([0, None, 0.5, 0.25, None]) == ["10.0,55.0", "60.0,5.0 85.0,30.0"]
    assert FRAME.runs([None]) == [] and FRAME.runs([]) == []


def test_names_stand_below_and_are_not_too_many() -> None:
    shown = [str(part) for part in FRAME.names_below([f"week {number}" for number in range(26)], 6)]
    assert len(shown) == 6 and ">week 0<" in shown[0] and ">week 25<" in shown[-1]


def test_a_chart_is_well_formed_and_hostile_text_is_escaped() -> None:
    parts = [*FRAME.grid(2, "<{:.0%}>".format), FRAME.below(0.5, "</text><script>"), polyline("line", "0,0 1,1")]
    root = ElementTree.fromstring(FRAME.svg('"><script>', parts, "plot"))
    assert root.get("aria-label") == '"><script>' and root.get("class") == "plot"
    assert [element.text for element in root.iter("text")] == ["<0%>", "<25%>", "<50%>", "</text><script>"]
    assert next(root.iter("polyline")).get("points") == "0,0 1,1"
