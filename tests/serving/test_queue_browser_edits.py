# ruff: noqa: F401, F811  # fixtures
"""Labels chosen in a real browser and not saved yet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="needs playwright: pip install 'distriage[dev]'")

from playwright.sync_api import expect

from support.queue_browser import OpenPage, browser, open_page, page, site
from support.queue_server import Queue

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def axis_of(page: Page, axis: str) -> Locator:
    """An axis of an issue's page."""
    return page.locator("[data-axis]", has=page.locator(f"input[name='axis.{axis}']"))


def choose(page: Page, axis: str, key: str) -> Locator:
    """Open an axis by its key, and press a number."""
    wanted = axis_of(page, axis)
    while wanted.get_attribute("open") is None:
        page.keyboard.press("e")
    page.keyboard.press(key)
    return wanted


def test_a_label_chosen_has_its_own_figure_and_not_the_models_mark(site: Queue, open_page: OpenPage) -> None:
    site.add(1, "exhausted timeout")
    page = open_page("/queue/owner/repo/1")
    symptom = axis_of(page, "symptom")
    before = symptom.locator("[data-percent]").inner_text()
    assert re.fullmatch(r"\d+%", before)
    choose(page, "symptom", "2")
    own = symptom.locator("input:checked").get_attribute("data-percent-text") or ""
    assert own != before
    expect(symptom.locator("[data-percent]")).to_have_text(own)
    expect(symptom.locator("summary .mark")).to_be_hidden()
    page.keyboard.press("8")  # none of these
    expect(symptom.locator("[data-percent]")).to_have_text("")
    page.keyboard.press("1")
    expect(symptom.locator("[data-percent]")).to_have_text(before)
    expect(symptom.locator("summary .mark")).to_be_visible()
