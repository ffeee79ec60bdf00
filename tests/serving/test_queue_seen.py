# ruff: noqa: F401, F811  # fixtures
"""Measured in a real browser: the room that pages need, and that nothing is confirmed unseen."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("playwright", reason="needs playwright: pip install 'distriage[dev]'")

from playwright.sync_api import expect

from distriage.answer.feedback import own_label
from distriage.base.types import IssueReport, Outcome
from distriage.own.answer import OwnLabel

from support.queue_browser import OpenPage, browser, choose_filter, open_page, page, site
from support.queue_demo import add_issue
from support.queue_server import Queue
from support.waiting import until

if TYPE_CHECKING:
    from playwright.sync_api import Page

SCREENS = {"laptop": (1280, 800), "wide": (1920, 1080), "phone": (390, 844)}
# What Accept would store and a person sees: axis -> name of the label. A name that something covers is not seen.
SEEN = """() => {
    const inSight = (element) => {
        const box = element.getBoundingClientRect();
        const corners = [[box.left + 2, box.top + 2], [box.right - 2, box.bottom - 2]];
        return box.width > 0 && corners.every(([x, y]) => {
            const top = document.elementFromPoint(x, y);
            return top && (element.contains(top) || top.contains(element));
        });
    };
    const seen = {};
    for (const name of document.querySelectorAll("[data-chosen], [data-chip] b")) {
        const axis = name.closest("[data-axis]")?.dataset.axis ?? name.closest("[data-chip]").dataset.chip;
        if (inSight(name)) seen[axis] = name.textContent;
    }
    for (const own of document.querySelectorAll("[data-own] bdi, [data-own-chip]"))
        if (inSight(own)) seen[own.textContent] = own.textContent;
    return seen;
}"""


def show(open_page: OpenPage, path: str, screen: str) -> Page:
    """A page on a screen."""
    page = open_page(path)
    width, height = SCREENS[screen]
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_load_state("networkidle")
    return page


def add_certain(site: Queue, number: int, labels: int = 2) -> None:
    """An issue of which Accept stores all six axes and own labels."""
    report = IssueReport(title="exhausted timeout " * 6, body="A line of it.\n\n" * 80)
    verdict = site.classifier.classify(report)
    axes = {
        axis: said.model_copy(update={"outcome": Outcome.APPLY, "probability": 0.9})
        for axis, said in verdict.axes.items()
    }
    own = [OwnLabel(label=f"own: {place}", probability=0.8, applied=True) for place in range(labels)]
    verdict = verdict.model_copy(update={"axes": axes, "own": own})
    add_issue(site.store, "Owner/Repo", number, report.title, report.body, verdict, time.time() - 60)


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("opened", [None, "kind", "symptom", "fix"])
def test_whatever_accept_stores_is_in_sight(site: Queue, open_page: OpenPage, screen: str, opened: str | None) -> None:
    number = 100 + 10 * list(SCREENS).index(screen) + len(opened or "")
    add_certain(site, number)
    page = show(open_page, f"/queue/owner/repo/{number}", screen)
    expect(page.locator("[data-axis][open]")).to_have_count(0)
    if opened:
        page.locator(f"[data-axis={opened}] summary").click()
    expect(page.locator("[data-accept]")).to_be_in_viewport(ratio=1)
    seen: dict[str, Any] = page.evaluate(SEEN)
    page.keyboard.press("a")
    until(lambda: site.status(number) == "accepted")
    stored = {own_label(axis) or axis: label for axis, label in site.standing(number).items()}
    assert stored.keys() == seen.keys() and len(stored) == len(site.classifier.bundle.taxonomy.axes) + 2


@pytest.mark.parametrize(("screen", "least"), [("laptop", 14), ("wide", 22)])
def test_the_list_shows_many_issues_one_line_a_cell(site: Queue, open_page: OpenPage, screen: str, least: int) -> None:
    site.add(200, "exhausted timeout " * 9)
    site.multiply(200, 40)
    page = show(open_page, "/queue", screen)
    height = SCREENS[screen][1]
    bottoms = page.locator("[data-row]").evaluate_all("rows => rows.map(row => row.getBoundingClientRect().bottom)")
    assert sum(bottom <= height for bottom in bottoms) >= least
    expect(page.locator(".bulk")).to_be_hidden()
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator(".bulk")).to_be_in_viewport(ratio=1)


def test_on_a_phone_filters_are_folded_and_the_first_issue_is_near(site: Queue, open_page: OpenPage) -> None:
    site.add(300, "exhausted timeout")
    page = show(open_page, "/queue", "phone")
    first = page.locator("[data-row]").first.bounding_box()
    assert first is not None and first["y"] <= 240
    expect(page.get_by_label("Symptom")).to_be_hidden()
    choose_filter(page, "Symptom", "oom")
    page.wait_for_url("**symptom=oom**")


def test_a_decision_moves_no_row(site: Queue, open_page: OpenPage) -> None:
    for number in (310, 311, 312):
        site.add(number, "grows timeout", repository="owner/other", age_s=3600.0 + number)
    page = show(open_page, "/queue?repository=owner/other", "laptop")
    top = "document.querySelector('[data-row]').getBoundingClientRect().top"
    before = page.evaluate(top)
    page.keyboard.press("j")
    page.keyboard.press("d")
    expect(page.locator(".toast")).to_be_in_viewport(ratio=1)
    assert page.evaluate(top) == before


@pytest.mark.parametrize(
    ("keys", "status"),
    [("a", "accepted"), ("s2", "snoozed"), ("c2", "not_planned"), ("p7\n", "duplicate"), ("e2a", "corrected")],
)
def test_keystrokes_that_a_decision_takes(site: Queue, open_page: OpenPage, keys: str, status: str) -> None:
    number = 400 + len(status)
    site.add(7, "segfault", state="open")
    site.add(number, "exhausted timeout")
    page = show(open_page, f"/queue/owner/repo/{number}", "laptop")
    for key in keys:
        page.keyboard.press(key.replace("\n", "Enter"))
    page.wait_for_url(lambda url: f"/{number}" not in url)
    issue = site.store.get_issue("owner/repo", number)
    assert issue is not None
    acts = [act.what for act in site.store.acts(issue.reference)]
    assert issue.status == status or acts == [{"snoozed": "snooze"}.get(status, status)]


def test_without_the_app_decisions_stay_here_and_closing_is_off(site: Queue, open_page: OpenPage) -> None:
    site.store.save_repository("alone/here", display_name="Alone/Here")
    site.add(1, "segfault timeout", repository="alone/here")
    page = show(open_page, "/queue/alone/here/1", "laptop")
    expect(page.locator("#aside")).to_contain_text("The App is not installed on this repository: decisions stay here")
    for name in ("Mark and close", "completed", "not planned"):
        expect(page.get_by_role("button", name=name)).to_be_disabled()
    expect(page.get_by_role("button", name="a week")).to_be_enabled()
    page.goto(page.url.split("/queue")[0] + "/queue?repository=alone/here")
    expect(page.locator("#results")).to_contain_text("Decisions stay here")
