"""Measured in a real browser: the room that pages need, and that nothing is confirmed unseen."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("playwright", reason="needs playwright: pip install 'distriage[dev]'")

from playwright.sync_api import expect

from distriage.answer.feedback import own_label
from distriage.answer.verdict import FirstReading
from distriage.base.types import IssueReport, Outcome
from distriage.own.answer import OwnLabel

from support.queue_browser import OpenPage, check_access
from support.queue_demo import add_issue
from support.queue_server import Queue
from support.waiting import until

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

LOG = "2024-01-01 00:00:00 [rank0]: RuntimeError: memory exhausted " + "x" * 3000
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
    width, height = SCREENS[screen]
    page = open_page(path, width=width, height=height)
    if path.split("?")[0].rpartition("/")[2].isdecimal():  # an issue, whose evidence comes after it
        page.wait_for_selector("[data-explained]")
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


@pytest.fixture(scope="module")
def many(site: Queue) -> None:
    """More issues than one page of the list holds; of the first, two readers differ."""
    verdict = site.classifier.classify(IssueReport(title="exhausted timeout", body=""))
    first = FirstReading(outcome=Outcome.APPLY, label="hang", probability=0.5)
    differ = {**verdict.axes, "symptom": verdict.axes["symptom"].model_copy(update={"first_reading": first})}
    verdict = verdict.model_copy(update={"axes": differ})
    add_issue(site.store, "Owner/Repo", 8999, "exhausted timeout", "", verdict, time.time() - 60)
    site.add(9000, "exhausted timeout " * 9, LOG)
    site.multiply(9000, 60)


def tab_to(page: Page, target: Locator) -> None:
    """Go to a link, a button or a field with Tab."""
    for _ in range(80):
        if target.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {target}")


def follow(page: Page, link: Locator, hand: str) -> None:
    """Follow a link: with the mouse, or with Tab and Enter."""
    if hand == "mouse":
        link.click()
    else:
        tab_to(page, link)
        page.keyboard.press("Enter")


def check_page(page: Page, width: int, *, with_axe: bool = False) -> None:
    """Nothing sticks out at the side, and axe has nothing to complain of."""
    assert page.evaluate("document.documentElement.scrollWidth") == width
    if with_axe:
        check_access(page)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    ("screen", "hand"), [("laptop", "keys"), ("wide", "mouse"), ("phone", "keys"), ("phone", "mouse")]
)
def test_everything_works_on_any_screen_by_keys_and_by_mouse(
    site: Queue, open_page: OpenPage, screen: str, hand: str
) -> None:
    keys, (width, height), who = hand == "keys", SCREENS[screen], f"{screen}-{hand}"
    with_axe = keys or screen == "wide"  # once for each layout
    first = 100 * (1 + 2 * list(SCREENS).index(screen) + keys)
    for number in range(first, first + 3):
        site.add(number, "exhausted timeout", age_s=60, author=who)
    page = show(open_page, "/queue", screen)

    # the room of the list, and why an issue stands there
    rows = page.locator("[data-row]").evaluate_all("rows => rows.map(row => row.getBoundingClientRect().toJSON())")
    if screen == "phone":
        assert rows[0]["top"] <= 240
        expect(page.get_by_label("Symptom")).to_be_hidden()
    assert sum(row["bottom"] <= height for row in rows) >= {"laptop": 14, "wide": 22, "phone": 1}[screen]
    expect(page.locator(".issue .reason").first).to_be_visible()
    expect(page.locator(".bulk")).to_be_hidden()
    check_page(page, width)

    # all that match, which is not accepted unseen, and is asked about
    count = int(page.locator("#results").get_attribute("data-count") or 0)
    asked: list[str] = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    if keys:
        for key in "jXs1":
            page.keyboard.press(key)
    else:
        page.locator("[data-row] input").first.check()
        page.locator("[data-whole]").check()
        page.locator(".menu[data-menu=s] summary").click()
        page.get_by_role("button", name="a day").click()
    assert asked == [f"Snooze {count} issues (a day)?"] and count > 60
    expect(page.locator("[data-selected]")).to_have_text(f"{count} selected")
    expect(page.locator("[data-seen]")).to_be_disabled()
    expect(page.locator(".bulk")).to_be_in_viewport(ratio=1)
    check_page(page, width)

    # a view, then a filter
    page.goto(page.url)
    follow(page, page.locator(".views a", has_text="Snoozed"), hand)
    page.wait_for_url("**/queue?status=snoozed")
    if keys:
        page.keyboard.press("f")
        tab_to(page, page.locator(".panel [name=author]"))
        page.keyboard.type(who)
        page.keyboard.press("Enter")
    else:
        page.locator(".fold summary").click()
        page.locator(".panel [name=author]").fill(who)
        page.get_by_role("button", name="Filter", exact=True).click()
    page.wait_for_url(f"**author={who}**")
    follow(page, page.locator(".set-filters a", has_text="Status"), hand)
    page.wait_for_url(lambda url: "status" not in url)
    expect(page.locator("[data-row]")).to_have_count(3)

    # an edit of several
    if keys:
        for key in "jxjxm1":
            page.keyboard.press(key)
    else:
        for place in (0, 1):
            page.locator("[data-row] input").nth(place).check()
        page.locator(".menu[data-menu=m] summary").click()
        page.locator(".menu[data-menu=m] button").first.click()
    expect(page.locator(".toast")).to_contain_text("Assigned to")
    expect(page.locator(".issue .meta", has_text="for default")).to_have_count(2)
    check_page(page, width, with_axe=with_axe)  # with few rows: axe looks at each element

    # whatever Accept stores is in sight, whichever axis is open
    add_certain(site, number := first + 50)
    page = show(open_page, f"/queue/owner/repo/{number}", screen)
    expect(page.locator(".reason")).to_be_visible()
    expect(page.locator("[data-axis][open]")).to_have_count(0)
    check_page(page, width, with_axe=with_axe)
    seen: list[dict[str, Any]] = [page.evaluate(SEEN)]
    for axis in page.locator("[data-axis]").all():
        page.keyboard.press("e") if keys else axis.locator("summary").click()
        expect(axis).to_have_attribute("open", "")
        expect(page.locator("[data-accept]")).to_be_in_viewport(ratio=1)
        seen.append(page.evaluate(SEEN))
    page.keyboard.press("a") if keys else page.locator("[data-accept]").click()
    until(lambda: site.status(number) == "accepted")
    stored = {own_label(axis) or axis for axis in site.standing(number)}
    assert all(part.keys() == stored for part in seen)
    assert len(stored) == len(site.classifier.bundle.taxonomy.axes) + 2

    page = show(open_page, "/queue/charts", screen)
    check_page(page, width, with_axe=with_axe)


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


KEYSTROKES = {"a": "accepted", "s2": "snooze", "c2": "not_planned", "p7\n": "duplicate"}


@pytest.mark.parametrize(
    ("place", "keys", "status"),
    [
        *(("issue", keys, status) for keys, status in {**KEYSTROKES, "e2a": "corrected"}.items()),
        *(("list", keys, status) for keys, status in {**KEYSTROKES, "lh\n": "corrected"}.items()),
    ],
)
def test_keystrokes_that_a_decision_takes(site: Queue, open_page: OpenPage, place: str, keys: str, status: str) -> None:
    number = 4000 + 20 * (place == "list") + "ascpel".index(keys[0])
    site.add(7, "segfault", state="open")
    site.add(number, "exhausted timeout", author=f"author-{number}")
    if place == "list":
        page = show(open_page, f"/queue?author=author-{number}", "laptop")
        page.keyboard.press("j")  # to the row
    else:
        page = show(open_page, f"/queue/owner/repo/{number}", "laptop")
    for key in keys:
        page.keyboard.press(key.replace("\n", "Enter"))
    expect(page.locator(".toast")).to_contain_text(f"#{number}")
    issue = site.store.get_issue("owner/repo", number)
    assert issue is not None
    acts = [act.what for act in site.store.acts(issue.reference)]
    assert issue.status == status or acts == [status]


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
