"""Menus of the queue by keys, in a real browser: while one is open, no letter acts on the page behind it."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="needs playwright: pip install 'distriage[dev]'")

from playwright.sync_api import expect

from distriage.base.references import IssueReference

from support.queue_browser import OpenPage
from support.queue_server import Queue
from support.waiting import until

if TYPE_CHECKING:
    from playwright.sync_api import Page

PLACES = {"issue": "scpmq", "list": "lscpmqf"}  # keys of menus and forms


def show(site: Queue, open_page: OpenPage, place: str, number: int) -> Page:
    """An issue's page, or a list that holds the issue and another, with its row marked."""
    for one in (number, number + 1):
        site.add(one, "exhausted timeout", author=f"author-{number}", age_s=3600.0 * (number + 2 - one))
    if place == "issue":
        return open_page(f"/queue/owner/repo/{number}")
    page = open_page(f"/queue?author=author-{number}")
    page.keyboard.press("j")
    return page


def acts(site: Queue, number: int) -> list[tuple[str, str | None]]:
    """What was done with an issue."""
    return [(act.what, act.assignee) for act in site.store.acts(IssueReference("owner/repo", number))]


@pytest.mark.parametrize(
    ("place", "key", "number"),
    [
        (place, key, 100 + 40 * (place == "list") + 4 * at)
        for place, keys in PLACES.items()
        for at, key in enumerate(keys)
    ],
)
def test_no_letter_acts_on_the_page_while_a_menu_is_open(
    site: Queue, open_page: OpenPage, place: str, key: str, number: int
) -> None:
    page = show(site, open_page, place, number)
    before, windows = page.url, len(page.context.pages)
    page.keyboard.press(key)
    menu = page.locator(".fold[open]" if key == "f" else f"details[data-menu={key}][open], form[data-menu={key}]")
    focused = menu.locator(":focus")
    expect(focused).to_have_count(1)
    if key == "f":  # a letter that is typed into a filter chooses there
        menu.locator("summary").focus()
    for letter in string.ascii_letters + "?":
        page.keyboard.press(letter)
        assert page.url == before and focused.count() == 1, letter
    assert len(page.context.pages) == windows
    assert [site.status(one) for one in (number, number + 1)] == ["open"] * 2
    assert acts(site, number) == []
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("Escape")
    for digit in "123":
        page.keyboard.press(digit)  # no choice of a menu that is closed
    if key == "f":
        page.keyboard.press("j")  # back to the row, which no menu has selected
    page.keyboard.press("d")
    until(lambda: site.status(number) == "dismissed")


@pytest.mark.parametrize(("place", "number"), [("issue", 300), ("list", 310)])
def test_an_assignee_is_typed_or_chosen_by_number(site: Queue, open_page: OpenPage, place: str, number: int) -> None:
    page = show(site, open_page, place, number)
    page.keyboard.press("m")
    page.keyboard.type("dave1")
    expect(page.locator("[data-menu=m] [name=to]:focus")).to_have_value("dave1")
    page.keyboard.press("Enter")
    until(lambda: acts(site, number) == [("assign", "dave1")])
    page = show(site, open_page, place, number + 2)
    page.keyboard.press("m")
    page.keyboard.press("1")
    until(lambda: [what for what, _ in acts(site, number + 2)] == ["assign"])
    assert acts(site, number + 2) != [("assign", "1")]


@pytest.mark.parametrize(("key", "number"), [("a", 400), ("d", 410), ("s1", 420)])
def test_undo_from_the_list_stays_there_with_the_row_marked(
    site: Queue, open_page: OpenPage, key: str, number: int
) -> None:
    page = show(site, open_page, "list", number)
    page.keyboard.press("j")  # to the last row
    row = page.locator("[data-open]").last.get_attribute("href")
    for one in key:
        page.keyboard.press(one)
    expect(page.locator("[data-open]")).to_have_count(1)
    page.keyboard.press("u")
    expect(page.locator(f"[data-open][href='{row}']")).to_be_focused()
    expect(page.locator("[data-open]")).to_have_count(2)
    assert f"author=author-{number}" in page.url


@pytest.mark.parametrize(("copies", "number"), [(0, 500), (70, 510)])
def test_all_that_match_are_selected_on_a_list_just_loaded(
    site: Queue, open_page: OpenPage, copies: int, number: int
) -> None:
    site.add(number, "exhausted timeout", author=f"author-{number}")
    if copies:
        site.multiply(number, copies)
    page = open_page(f"/queue?author=author-{number}")
    page.keyboard.press("X")
    expect(page.locator("[data-selected]")).to_have_text(f"{copies + 1} selected")
    expect(page.locator(".bulk")).to_be_visible()
    page.keyboard.press("s")
    expect(page.locator(".menu[open] :focus")).to_have_text("a day 1")
