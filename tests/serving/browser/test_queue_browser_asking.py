"""A question to an author and the thread, in a real browser, by keys alone and by clicks alone; what an act costs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="needs playwright: pip install 'distriage[dev]'")

from playwright.sync_api import expect

from distriage.base.references import IssueReference
from distriage_serving.github.app_auth import App

from support.app_key import APP_ID, app_key
from support.github import INSTALLATION, PERSON, GitHub
from support.queue_browser import OpenPage, check_access
from support.queue_server import Queue
from support.waiting import until

if TYPE_CHECKING:
    from playwright.sync_api import Page

BODY = "All memory is exhausted on every rank.\n" * 12
LONG = "`" + "w" * 300 + "` <script>window.owned=1</script>\n\n| a | b |\n|---|---|\n| " + "x" * 200 + " | y |"


@pytest.fixture(scope="module")
def threads(site: Queue) -> Iterator[GitHub]:
    """A GitHub that shows the threads of a few issues."""
    github = GitHub(app=True)
    state = site.server.app.state
    state.desk = replace(state.desk, app=App(APP_ID, app_key(), github.url))
    site.store.save_repository("owner/repo", installation_id=INSTALLATION)
    for number in range(1, 30):
        github.open(f"owner/repo#{number}", "hangs", comments=2, assignees=[PERSON])
        github.comment(f"owner/repo#{number}", "I see it too.", PERSON)
        github.comment(f"owner/repo#{number}", LONG, PERSON)
        github.name_in_change(f"owner/repo#{number}", 90, "Set the timeout of the group " + "v" * 100, merged=True)
    yield github
    github.close()


def acts(site: Queue, number: int) -> list[str]:
    return [act.what for act in site.store.acts(IssueReference("owner/repo", number))]


def check(page: Page, width: int) -> None:
    """Nothing for axe to complain of, and nothing wider than the screen."""
    check_access(page)
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
@pytest.mark.usefixtures("threads")
def test_the_question_and_the_thread(site: Queue, open_page: OpenPage, width: int, height: int) -> None:
    keys, clicks = (2 + 4 * (width == 390) + more for more in (0, 1))
    for number in (keys, clicks):
        site.add(number, f"It fails {width}", BODY)
    page = open_page(f"/queue/owner/repo/{keys}", width=width, height=height)
    page.keyboard.press("t")
    expect(page.locator("#thread .comment")).to_have_count(2)
    assert page.evaluate("window.owned") is None
    page.keyboard.press("q")
    expect(page.locator("[data-question]")).to_have_value(re.compile(r"^Could you add this\?.*\n- ", re.DOTALL))
    page.wait_for_selector("[data-explained]")
    check(page, width)
    page.keyboard.press("Shift+Tab")  # to the text
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("Which version?")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    until(lambda: acts(site, keys) == ["ask"])
    expect(page.locator(".toast")).to_contain_text(f"To be asked: Owner/Repo#{keys}")
    page.keyboard.press("u")
    page.wait_for_url(f"**/queue/owner/repo/{keys}**")
    expect(page.locator(".toast")).to_contain_text("Undone: asking the author")
    page.goto(f"{site.url}/queue/owner/repo/{clicks}")
    page.locator(".ask summary").click()
    page.get_by_role("link", name="Read the thread").click()
    expect(page.get_by_role("link", name=re.compile("Set the timeout"))).to_be_visible()
    page.get_by_label("Question, as Markdown").fill("Which version?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator(".toast")).to_contain_text(f"To be asked: Owner/Repo#{clicks}")
    assert acts(site, clicks) == ["ask"]
    page.goto(f"{site.url}/queue?status=waiting-on-author")
    expect(page.locator(f"[data-open][href*='/{clicks}?']")).to_be_visible()
    check(page, width)
    (act,) = site.store.acts(IssueReference("owner/repo", clicks))
    assert act.text == "Which version?"


COSTS = {  # keys from an issue that one looks at, or whose row is marked
    "accept": (["a"], "accepted"),
    "correct": (["e", "2", "a"], "corrected"),
    "ask": (["q", "Enter"], "ask"),
    "snooze": (["s", "1"], "snooze"),
    "close": (["c", "1"], "completed"),
    "duplicate": (["p", "8", "Enter"], "duplicate"),
}


@pytest.mark.parametrize("where", ["issue", "list"])
@pytest.mark.usefixtures("threads")
def test_an_act_costs_few_keys(site: Queue, open_page: OpenPage, where: str) -> None:
    site.add(8, "The first one", BODY)
    allowed = {"accept": 1, "correct": 3, "ask": 2, "snooze": 2, "close": 2, "duplicate": 3}
    for place, (act, (keys, outcome)) in enumerate(COSTS.items(), 20 if where == "issue" else 40):
        site.add(place, "It fails", "exhausted timeout\n" + BODY, author=f"author-{place}")
        page = open_page(f"/queue/owner/repo/{place}" if where == "issue" else f"/queue?author=author-{place}")
        if where == "list":
            page.keyboard.press("j")  # marks the row
            keys = ["l", "c", "Enter"] if act == "correct" else keys
        assert len(keys) <= allowed[act]
        for key in keys:
            page.keyboard.press(key)
        until(lambda: outcome in (site.status(place), *acts(site, place)))  # noqa: B023


def test_without_the_app_the_question_is_copied(site: Queue, open_page: OpenPage) -> None:
    site.add(60, "It fails", BODY, repository="owner/other")
    site.store.save_repository("owner/other", enabled=False)
    page = open_page("/queue/owner/other/60")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect(page.get_by_text("the thread is only on GitHub")).to_be_visible()
    page.keyboard.press("q")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").startswith("Could you add this?")
    assert site.store.acts(IssueReference("owner/other", 60)) == []
    site.store.save_repository("owner/other", enabled=True)
