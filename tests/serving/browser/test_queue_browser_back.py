"""The way back in a real browser: what a page shows then is what its forms send."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="needs playwright: pip install 'distriage[dev]'")

from playwright.sync_api import expect

from support.queue_browser import OpenPage, choose_filter
from support.queue_server import Queue
from support.waiting import until

if TYPE_CHECKING:
    from playwright.sync_api import Page

NOTHING_TICKED = "document.querySelectorAll('[data-row] input:checked').length === 0"
LIST = "/queue?repository=owner/other&symptom=crash"


def restored(page: Page) -> None:
    """Wait until the browser has put back what it remembers of a page's forms, if it does."""
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(300)


def test_back_on_the_list_ticks_no_other_issues(site: Queue, open_page: OpenPage) -> None:
    for number in range(1, 6):
        site.add(number, "segfault timeout", repository="owner/other", age_s=3600.0 + number)
    page = open_page(LIST)
    for place in (1, 3):
        page.locator("[data-row] input").nth(place).check()
    first = page.locator("[data-open]").first
    href = first.get_attribute("href") or ""
    first.click()
    page.wait_for_url(f"**{href}")
    page.locator("[data-accept]").click()
    page.wait_for_url(lambda url: not url.endswith(href))
    page.go_back()
    page.wait_for_url(f"**{href}")
    page.go_back()
    page.wait_for_url("**/queue?**at=**")
    restored(page)
    expect(page.locator("[data-row]")).to_have_count(4)
    assert page.evaluate(NOTHING_TICKED)


def test_back_on_an_issue_shows_what_accept_will_store(site: Queue, open_page: OpenPage) -> None:
    for number in (11, 12):
        site.add(number, "grows timeout", repository="owner/other", age_s=3600.0 + number)
    page = open_page("/queue/owner/other/11?symptom=leak&repository=owner/other")
    symptom = page.locator("[data-axis]", has=page.locator("input[name='axis.symptom']"))
    if symptom.get_attribute("open") is None:
        symptom.locator("summary").click()
    symptom.locator(".choice input").nth(1).click()
    expect(page.locator("[data-accept-text]")).to_have_text("Save")
    page.once("dialog", lambda dialog: dialog.accept())
    page.locator("[data-list]").click()
    page.wait_for_url("**/queue?**")
    page.go_back()
    page.wait_for_url("**/queue/owner/other/11?**")
    restored(page)
    expect(page.locator("[data-accept-text]")).to_have_text("Accept")
    page.locator("[data-accept]").click()
    until(lambda: site.status(11, "owner/other") != "open")
    assert (site.status(11, "owner/other"), site.standing(11, "owner/other")["symptom"]) == ("accepted", "leak")


def filtered(page: Page) -> None:
    """Choose a filter."""
    choose_filter(page, "Symptom", "oom")
    page.wait_for_url("**symptom=oom**")


def test_undo_keeps_the_filter_that_was_chosen(site: Queue, open_page: OpenPage) -> None:
    site.add(21, "exhausted timeout", repository="owner/other")
    page = open_page("/queue")
    filtered(page)
    asked = page.locator("#undo input[name=query]")
    expect(asked).to_have_value("symptom=oom")
    page.go_back()
    expect(asked).to_have_value("")


def test_back_from_a_filter_the_help_opens_and_switches_the_keys_off(site: Queue, open_page: OpenPage) -> None:
    site.add(22, "exhausted timeout", repository="owner/other")
    page = open_page("/queue")
    filtered(page)
    page.go_back()
    expect(page.get_by_label("Symptom")).to_have_value("")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.get_by_label("Single keys act in this browser").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator("[data-open]:focus")).to_have_count(0)
    page.reload()
    page.locator("[data-help]").click()
    expect(page.get_by_label("Single keys act in this browser")).not_to_be_checked()
    page.get_by_label("Single keys act in this browser").check()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator("[data-open]:focus")).to_have_count(1)


def test_deciding_in_the_list_goes_on_with_the_row_behind(site: Queue, open_page: OpenPage) -> None:
    for number in range(31, 51):
        site.add(number, f"hangs {number}", repository="owner/other", age_s=3600.0 + number)
    page = open_page("/queue?repository=owner/other&symptom=hang")
    links = page.locator("[data-open]")
    hrefs = [link.get_attribute("href") for link in links.all()]
    for _ in range(15):
        page.keyboard.press("j")
    expect(links.nth(14)).to_be_focused()
    page.keyboard.press("d")
    behind = page.locator(f"[data-open][href='{hrefs[15]}']")
    expect(behind).to_be_focused()
    expect(behind).to_be_in_viewport()
    expect(page.locator(f"[data-open][href='{hrefs[14]}']")).to_have_count(0)
    expect(page.get_by_role("button", name="Undo")).to_be_in_viewport()
