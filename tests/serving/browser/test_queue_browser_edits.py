"""Labels chosen in a real browser and not saved yet."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="needs playwright: pip install 'distriage[dev]'")

from playwright.sync_api import expect

from distriage.base.references import IssueReference
from distriage.base.types import IssueReport, Outcome

from support.queue_browser import OpenPage
from support.queue_demo import add_issue, log_in
from support.queue_server import TOKEN, Queue
from support.waiting import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Locator, Page


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


def test_whoever_leaves_what_is_not_saved_is_asked(site: Queue, open_page: OpenPage) -> None:
    for number in (10, 11, 12):
        site.add(number, "segfault timeout", repository="owner/other", age_s=3600.0 + number)
    page = open_page("/queue?repository=owner/other")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector("#verdict")
    page.wait_for_load_state("networkidle")
    here, asked = page.url, []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    choose(page, "symptom", "2")
    for place, key in enumerate(("j", "k", "Escape", "u"), 1):
        page.keyboard.press(key)
        page.wait_for_timeout(300)
        assert asked == ["beforeunload"] * place and page.url == here, key
    page.keyboard.press("1")  # as it was: nothing to lose
    page.keyboard.press("j")
    page.wait_for_url(lambda url: url != here)
    page.go_back()
    page.wait_for_selector("#verdict")
    choose(page, "symptom", "2")
    page.keyboard.press("a")
    page.wait_for_url(lambda url: url != here)
    assert len(asked) == 4 and "corrected" in {site.status(number, "owner/other") for number in (10, 11, 12)}
    page.remove_listener("dialog", stay)


def test_a_correction_after_the_login_ended_leads_back_to_the_issue(site: Queue, browser: Browser) -> None:
    site.add(15, "exhausted timeout")
    page = browser.new_page()
    log_in(page, site.url, TOKEN)
    page.goto(f"{site.url}/queue/owner/repo/15?status=any")
    choose(page, "symptom", "2")
    chosen = axis_of(page, "symptom").locator("input:checked").get_attribute("value")
    page.context.clear_cookies()
    page.keyboard.press("a")
    expect(page.get_by_role("alert")).to_contain_text("Your login ended; nothing was saved.")
    page.get_by_label("Administrator's token").fill(TOKEN)
    page.get_by_role("button", name="Log in", exact=True).click()
    page.wait_for_url("**/queue/owner/repo/15?status=any")
    assert site.status(15) == "open"
    assert axis_of(page, "symptom").locator("input:checked").get_attribute("value") == chosen
    expect(page.locator("[data-accept-text]")).to_have_text("Save")
    page.keyboard.press("q")
    page.locator("[data-question]").fill("Which version?")
    page.context.clear_cookies()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_label("Administrator's token").fill(TOKEN)
    page.get_by_role("button", name="Log in", exact=True).click()
    expect(page.locator("[data-question]")).to_have_value("Which version?")
    page.reload()
    expect(page.locator("[data-question]")).not_to_have_value("Which version?")  # once


def test_a_correction_shows_what_it_leaves_open_until_somebody_chooses_it(site: Queue, open_page: OpenPage) -> None:
    report = IssueReport(title="exhausted timeout", body="")
    verdict = site.classifier.classify(report)
    said = verdict.axes["fix"].model_copy(update={"outcome": Outcome.SUGGEST, "probability": 0.6})
    verdict = verdict.model_copy(update={"axes": {**verdict.axes, "fix": said}})
    add_issue(site.store, "Owner/Repo", 20, report.title, "", verdict, time.time() - 60)
    page = open_page("/queue/owner/repo/20")
    fix = axis_of(page, "fix").locator("[data-chosen]")
    before = fix.inner_text()
    choose(page, "symptom", "2")
    expect(fix).to_have_text("Left open")
    choose(page, "symptom", "1")
    expect(fix).to_have_text(before)
    choose(page, "symptom", "2")
    choose(page, "fix", "1")  # the label that was chosen already
    expect(fix).to_have_text(before)
    page.keyboard.press("a")
    until(lambda: site.status(20) == "corrected")
    assert site.standing(20)["fix"] == said.label


def test_to_ask_the_author_takes_two_keys(site: Queue, open_page: OpenPage) -> None:
    site.add(1, "exhausted timeout")
    site.store.save_repository("owner/repo", installation_id=1)
    page = open_page("/queue/owner/repo/1")
    expect(page.locator("[data-question]")).to_have_value(re.compile(r"^Could you add this\?.*\n- ", re.DOTALL))
    page.keyboard.press("q")
    expect(page.locator(".ask button")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/queue")
    assert [act.what for act in site.store.acts(IssueReference("owner/repo", 1))] == ["ask"]
    page.goto(page.url.partition("/queue")[0] + "/queue/owner/repo/1")
    expect(page.get_by_text("waiting for its author")).to_be_visible()
    expect(page.locator(".ask")).to_have_count(0)
