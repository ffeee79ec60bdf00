"""The queue in a real browser: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="needs playwright: pip install 'distriage[dev]'")

from playwright.sync_api import expect

from distriage_serving.store import Job

from support.queue_browser import WAIT_MS, OpenPage, choose_filter
from support.queue_demo import log_in
from support.queue_server import TOKEN, Queue
from support.waiting import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

HOSTILE = (
    "<script>window.owned=1</script><img src=x onerror=window.owned=1> \u202egnp.exe\x1b[31m {{7*7}} "
    "${7*7} </textarea></title><svg onload=window.owned=1>"
)
PICTURES = (  # the second one as GitHub writes what is pasted
    "It hangs: ![the graph](https://pictures.invalid/graph.png)\n\n"
    '<img width="4000" height="1000" alt="as pasted" src="https://pictures.invalid/pasted.png" />'
)
LOG = "2024-01-01 00:00:00 [rank0]: RuntimeError: memory exhausted " + "x" * 3000


def test_an_issue_is_corrected_by_keyboard_written_back_and_undone(site: Queue, open_page: OpenPage) -> None:
    for number, title in ((1, "exhausted memory timeout"), (2, "exhausted grows timeout"), (3, "segfault timeout")):
        site.add(number, title, LOG, age_s=86400 * (10 - number))
    page = open_page("/queue?repository=owner/repo")
    first, second = (page.locator("[data-open]").nth(place).get_attribute("href") or "" for place in (0, 1))
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{first}")
    page.keyboard.press("j")
    page.wait_for_url(f"**{second}")
    page.keyboard.press("k")
    page.wait_for_url(f"**{first}")
    number = int(first.partition("?")[0].rpartition("/")[2])
    symptom = page.locator("[data-axis]", has=page.locator("input[name='axis.symptom']"))
    while symptom.get_attribute("open") is None:
        page.keyboard.press("e")
    page.keyboard.press("2")
    chosen = symptom.locator("input:checked")
    label = chosen.get_attribute("value")
    expect(page.locator("[data-accept-text]")).to_have_text("Save")
    page.keyboard.press("a")
    page.wait_for_url(f"**{second}")  # on to the next
    expect(page.locator(".toast")).to_contain_text(f"Corrected: Owner/Repo#{number}")
    assert site.standing(number)["symptom"] == label and site.status(number) == "corrected"
    assert [job.kind for job in site.store.list_work(Job) if job.issue == number] == ["decide"]
    page.keyboard.press("u")
    page.wait_for_url(f"**{first}")
    assert site.status(number) == "open" and site.standing(number) == {}
    page.keyboard.press("d")
    page.wait_for_url(f"**{second}")
    assert site.status(number) == "dismissed"
    page.keyboard.press("u")
    page.wait_for_url(f"**{first}")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("Escape")
    page.wait_for_url("**/queue?repository=owner%2Frepo&at=owner%2Frepo%23*")


def test_several_are_selected_by_keyboard_and_accepted_at_once(site: Queue, open_page: OpenPage) -> None:
    for number in (31, 32, 33):
        site.add(number, f"segfault timeout {number}", repository="owner/other")
    page = open_page("/queue?repository=owner/other")
    for _ in range(2):
        page.keyboard.press("j")
        page.keyboard.press("x")
    expect(page.locator("[data-selected]")).to_have_text("2 selected")
    page.keyboard.press("a")
    expect(page.locator(".toast")).to_contain_text("Decided 2 issues.")
    assert sorted(site.status(number, "owner/other") for number in (31, 32, 33)) == ["accepted", "accepted", "open"]
    expect(page.locator("[data-row]")).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("[data-row]")).to_have_count(3)
    page.keyboard.press("j")
    page.keyboard.press("X")  # all that match are shown
    expect(page.locator("[data-selected]")).to_have_text("3 selected")
    expect(page.locator(".whole")).to_be_hidden()


def test_going_back_leads_to_the_row_that_one_left(site: Queue, open_page: OpenPage) -> None:
    site.add(3000, "segfault", repository="owner/other")
    site.multiply(3000, 119, "owner/other")
    page = open_page("/queue?repository=owner/other&symptom=crash")
    page.get_by_role("link", name="Show more").click()
    expect(page.locator("[data-open]")).to_have_count(100)
    row = page.locator("[data-open]").nth(77)
    href = row.get_attribute("href")
    for go_back in (lambda: page.go_back(), lambda: page.keyboard.press("Escape")):
        page.locator(f"[data-open][href='{href}']").click()
        page.wait_for_url(f"**{href}")
        go_back()
        page.wait_for_url("**/queue?**at=**")
        focused = page.locator(f"[data-open][href='{href}']")
        expect(focused).to_be_focused()
        expect(focused).to_be_in_viewport()


def test_the_buttons_are_in_sight_on_any_screen(site: Queue, open_page: OpenPage) -> None:
    site.add(72, "exhausted timeout", "\n".join([LOG] * 60))
    for width in (1280, 390):
        page = open_page("/queue/owner/repo/72", width=width)
        expect(page.get_by_role("button", name="Accept")).to_be_in_viewport(ratio=1)


def test_many_at_once_are_decided_only_after_a_question(site: Queue, open_page: OpenPage) -> None:
    for number in range(4000, 4008):
        site.add(number, f"grows {number} timeout", repository="owner/other")
    page = open_page("/queue?repository=owner/other&symptom=leak")
    asked: list[str] = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    page.get_by_label("All shown").check()
    page.keyboard.press("a")
    assert asked == ["Accept 8 issues?"] and site.status(4000, "owner/other") == "open"
    page.once("dialog", lambda dialog: dialog.accept())
    page.keyboard.press("a")
    expect(page.locator(".toast")).to_contain_text("Decided 8 issues.")
    assert site.status(4000, "owner/other") == "accepted"


def test_hostile_text_is_shown_as_text_and_runs_nothing(site: Queue, open_page: OpenPage) -> None:
    site.add(
        41,
        f"{HOSTILE} exhausted exhausted",
        f"{HOSTILE}\n```\n{HOSTILE}\n```\n{LOG}",
        author=HOSTILE,
        labels=[HOSTILE],
        age_s=86400 * 99,
        url=f'https://github.com/"{HOSTILE}',
    )
    page = open_page("/queue?symptom=oom")
    assert "<script>window.owned=1</script>" in page.locator("[data-open]").first.inner_text()
    page.goto(f"{site.url}/queue/owner/repo/41")
    page.wait_for_selector("[data-explained]")
    shown = page.locator("#report").inner_text()
    assert (
        shown.count("<script>window.owned=1</script>") == 2
        and "U+202E" in shown
        and "U+001B" in shown
        and "{{7*7}} ${7*7}" in shown
    )
    assert page.evaluate("window.owned") is None
    assert page.locator("article script, article img, article svg").count() == 0


def test_pictures_are_loaded_when_asked_for_and_only_then(site: Queue, open_page: OpenPage) -> None:
    site.add(43, "A picture", PICTURES)
    page = open_page("/queue/owner/repo/43")
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.headers.get("referer", "none"))
        route.fulfill(content_type="image/svg+xml", body='<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 1"/>')

    page.route("https://pictures.invalid/**", answer)
    page.wait_for_selector("[data-explained]")
    expect(page.get_by_role("link", name="Picture: the graph")).to_be_visible()
    assert asked == []
    page.get_by_role("link", name="Load the 2 pictures").click()
    page.wait_for_selector("[data-explained] img")
    expect(page.get_by_alt_text("the graph")).to_be_attached()
    assert asked and set(asked) == {"none"}  # its server learns nothing of us
    box = page.get_by_alt_text("as pasted").bounding_box()
    assert box is not None and box["height"] == pytest.approx(box["width"] / 4, abs=1)  # narrower, in its shape


def test_lines_that_carried_the_verdict_are_marked_after_the_page_is_there(site: Queue, open_page: OpenPage) -> None:
    site.add(42, "A title", "Nothing here.\nAll memory is exhausted on every rank.\nThanks.")
    page = open_page("/queue/owner/repo/42")
    page.wait_for_selector("[data-explained]")
    assert page.locator("#report .prose mark").all_inner_texts() == ["All memory is exhausted on every rank."]
    marked = page.locator("#report mark.on")
    expect(marked).to_have_count(0)  # nobody looks at an axis
    page.locator("[data-axis=symptom] summary").hover()
    expect(marked).to_have_text("All memory is exhausted on every rank.")
    page.locator("[data-axis=kind] summary").hover()
    expect(marked).to_have_count(0)


def test_a_choice_in_a_filter_acts_at_once_and_stands_in_the_address(site: Queue, open_page: OpenPage) -> None:
    site.add(51, "segfault of fifty-one")
    site.add(52, "grows of fifty-two")
    page = open_page()
    choose_filter(page, "Symptom", "leak")
    page.wait_for_url("**symptom=leak**")
    expect(page.get_by_text("grows of fifty-two")).to_be_visible()
    expect(page.get_by_text("segfault of fifty-one")).to_have_count(0)
    page.reload()
    expect(page.get_by_label("Symptom")).to_have_value("leak")


def test_a_slash_searches_and_a_number_leads_to_its_issue(site: Queue, open_page: OpenPage) -> None:
    site.add(53, "grows of fifty-three", state="closed")
    page = open_page()
    page.keyboard.press("/")
    expect(page.get_by_label("Search")).to_be_focused()
    page.keyboard.type("#53")
    page.keyboard.press("Enter")
    page.wait_for_url("**/queue/owner/repo/53")
    expect(page.get_by_role("heading", name="grows of fifty-three")).to_be_visible()


def test_everything_needed_works_without_scripts(site: Queue, browser: Browser) -> None:
    site.add(61, "segfault timeout", LOG)
    page = browser.new_page(java_script_enabled=False)
    page.set_default_timeout(WAIT_MS)
    log_in(page, site.url, TOKEN)
    page.goto(f"{site.url}/queue?symptom=crash")
    choose_filter(page, "Symptom", "crash")
    page.get_by_role("button", name="Filter").click()
    assert page.locator("kbd:visible").count() == 0  # no key acts
    page.goto(f"{site.url}/queue/owner/repo/61")
    assert page.locator("kbd:visible").count() == 0
    expect(page.get_by_text("Looking…")).to_be_hidden()
    page.get_by_role("link", name="Which lines carried the verdict?").click()
    expect(page.locator("[data-explained]")).to_be_visible()
    page.get_by_role("button", name="Accept").click()
    until(lambda: site.status(61) == "accepted")
    page.get_by_role("button", name="Undo").click()
    until(lambda: site.status(61) == "open")


def test_a_phone_needs_no_sideways_scrolling_for_long_words(site: Queue, open_page: OpenPage) -> None:
    site.add(71, "exhausted " + "w" * 300, LOG, labels=["l" * 50])
    beside = """form => {
        const parts = [...form.querySelectorAll("input:not([type=hidden]), button")];
        const inside = parts.map((part) => part.getBoundingClientRect());
        return inside.every((one, place) => inside.slice(place + 1).every((other) => one.right <= other.left ||
            other.right <= one.left || one.bottom <= other.top || other.bottom <= one.top));
    }"""
    for path in ("/queue", "/queue/owner/repo/71", "/queue/charts", "/docs"):
        page = open_page(path, width=320)
        page.wait_for_load_state("networkidle")
        for width in (320, 360, 375):  # no script asks for the width: a page that is turned is as one that is loaded
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") == width, (path, width)
            for form in page.locator(".close form").all():
                assert form.evaluate(beside), (path, width)


def test_long_words_of_a_label_stay_whole_on_a_phone(site: Queue, open_page: OpenPage) -> None:
    site.add(73, "exhausted", LOG)
    page = open_page("/queue/owner/repo/73", width=360)
    rows = """(label, word) => {
        label.textContent = word;
        const text = document.createRange();
        text.selectNodeContents(label);
        return new Set([...text.getClientRects()].map((part) => part.top)).size;
    }"""
    shown = page.locator("[data-axis]", has=page.locator("input[name='axis.symptom']")).locator("[data-chosen]")
    words = ("Hyperparameter", "misconfiguration", "desynchronization")
    assert [shown.evaluate(rows, word) for word in words] == [1, 1, 1]


def test_ten_thousand_open_issues_are_paged_by_key(
    site: Queue, open_page: OpenPage, capsys: pytest.CaptureFixture[str]
) -> None:
    site.add(91, "hangs among ten thousand")
    site.multiply(91, 10_000)
    page = open_page()
    timings: dict[str, float] = {}
    for path in ("/queue", "/queue?symptom=hang", "/queue?decision=suggest&stage=", "/queue/owner/repo/105000"):
        started_s = time.perf_counter()
        page.goto(site.url + path, wait_until="commit")
        timings[path] = time.perf_counter() - started_s
    page.goto(f"{site.url}/queue?symptom=hang")
    assert int(page.locator("#results").get_attribute("data-count") or 0) >= 10_000
    seen = page.locator("[data-open]").count()
    page.get_by_role("link", name="Show more").click()
    expect(page.locator("[data-open]")).to_have_count(2 * seen)
    addresses = page.locator("[data-open]").evaluate_all("links => links.map(link => link.href)")
    assert len(set(addresses)) == 2 * seen
    with capsys.disabled():
        sys.stdout.write(
            "\n10,000 open issues, time to the answer: "
            + ", ".join(f"{path} {seconds * 1000:.0f} ms" for path, seconds in timings.items())
            + "\n"
        )
