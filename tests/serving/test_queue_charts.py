# ruff: noqa: F401, F811  # fixtures
"""The charts that lead a team: what they count, and what they say while there is nothing to count."""

from __future__ import annotations

import re
import time

import httpx

from distriage.answer.feedback import OWN_AXIS, own_axis
from distriage_serving.queue.charts import figures
from distriage_serving.store import WEEK_S, Store, Wait, week_of

from support.databases import NOW
from support.queue_server import Queue
from support.queue_site import admin, site, stranger
from support.stored_issues import TAXONOMY, issue, person, prediction

DAY_S = 86400.0


def test_an_issue_waits_until_it_is_decided_or_no_longer_open(store: Store) -> None:
    for number, state in ((1, "open"), (2, "open"), (3, "closed"), (4, "open"), (5, "open")):
        store.save_issue(issue(number, state=state, created_at=NOW - 9 * DAY_S, updated_at=NOW - number * DAY_S))
        store.save_verdict(prediction(number), TAXONOMY)
    ids = store.add_reviews(*(person(number=number, at=NOW - DAY_S) for number in (2, 4)))
    store.add_reviews(person("stage", "inference", number=2, at=NOW), person(number=5, at=NOW - 99 * DAY_S))
    store.add_reviews(person("stage", None, number=1, how="command", at=NOW - 2 * DAY_S))
    store.undo_reviews(ids[1])
    store.save_issue(issue(6, repository="other/repo", created_at=NOW, updated_at=NOW))
    filed = NOW - 9 * DAY_S
    waiting = Wait(filed, None, None)  # 5: the review is older than the issue, so it is another's of that number
    begun = Wait(filed, NOW - 2 * DAY_S, None)  # in a comment, on one axis of all
    expected = [begun, Wait(filed, NOW - DAY_S, NOW - DAY_S), Wait(filed, None, NOW - 3 * DAY_S), waiting, waiting]

    def by_time(waits: list[Wait]) -> list[tuple[float, ...]]:
        return sorted((wait.filed_at, wait.decided_at or 0, wait.left_at or 0) for wait in waits)

    assert by_time(store.waits(NOW - 4 * DAY_S, ["owner/repo"])) == by_time(expected)
    assert len(store.waits(NOW - 4 * DAY_S)) == 6 and len(store.waits(NOW - 2 * DAY_S)) == 5 and not store.waits(0, [])


def test_weeks_of_a_team_show_backlog_age_and_decisions() -> None:
    now = week_of(NOW) + 3 * DAY_S
    first = week_of(NOW) - 2 * WEEK_S
    waits = [
        Wait(first + DAY_S, None, None),
        Wait(first + DAY_S, first + WEEK_S + DAY_S, first + WEEK_S + DAY_S),  # decided after a week
        Wait(first - WEEK_S, None, first + 2 * DAY_S),  # closed
        Wait(now - DAY_S, None, None),
    ]
    weeks = figures.team_weeks(waits, now, 3)
    assert [(week.waiting, week.decided, week.took_days) for week in weeks] == [(2, 0, None), (1, 1, 7), (2, 0, None)]
    assert [week.age_days for week in weeks] == [6, 13, 8.5] and weeks[-1].oldest_days == 16
    assert figures.team_weeks([], now, 1) == [figures.TeamWeek(weeks[-1].day, 0, None, None, 0, None)]


def test_a_chart_of_counts_ends_at_a_round_number() -> None:
    for top, shown in ((0.4, ("1", "2")), (7, ("4", "8")), (35, ("20", "40")), (1234, ("1,000", "2,000"))):
        ticks = re.findall(r'text-anchor="end">([\d,]+)<', figures.plot("Backlog", ["01 Jan"], [top], "{:,.0f}"))
        assert tuple(ticks) == ("0", *shown)


def test_precision_of_own_labels_is_counted_by_label() -> None:
    def said(number: int, name: str, *, right: bool) -> figures.Review:
        return person(own_axis(name), name if right else None, number=number, predicted_label=name)

    reviews = [said(1, "area: net", right=True), said(1, "bug", right=True), said(2, "area: net", right=False)]
    missed = person(own_axis("bug"), "bug", number=3, predicted_label=None)  # a person added it
    found = figures.precision([*reviews, missed, person()], OWN_AXIS)
    assert [(label, right.hits, right.n) for label, right in found] == [("area: net", 1, 2), ("bug", 1, 1)]


def test_each_chart_says_what_fills_it_and_has_its_figures_in_a_table(site: Queue, admin: httpx.Client) -> None:
    page = admin.get("/queue/charts").text
    assert page.count("<code>distriage backfill OWNER/REPO --dry-run</code>") == 4 and 'class="plot"' not in page
    assert page.count("Nobody decided on an issue in the last 26 weeks") == 2
    assert "No decisions yet. They come" in page and "that <code>distriage learn</code> learned" in page
    for number in range(1, 7):
        site.add(number, "exhausted timeout", age_s=3 * DAY_S)
        said = {"repository": "owner/repo", "number": number, "at": time.time(), "predicted_label": "oom"}
        if number < 6:
            site.store.add_reviews(
                person(label="oom", **said), person("own:bug", "bug", **{**said, "predicted_label": "bug"})
            )
    page = admin.get("/queue/charts").text
    assert page.count('class="plot"') == 5 and "distriage backfill" not in page  # drift has no weeks before it
    assert page.count('<td class="number">57–100</td>') == 2  # five of five; binom::binom.wilson(5, 5)
    row = re.findall(r"<tr>.*?</tr>", page[page.index("Figures of the team") :])[26]
    assert re.findall(r'"number">([^<]+)', row) == ["1", "3", "3", "5", "3"]
