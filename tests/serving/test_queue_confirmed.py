# ruff: noqa: F401, F811  # fixtures
"""Nobody confirms by a key press what nobody has seen."""

from __future__ import annotations

import time

import httpx
import pytest

from distriage.base.types import IssueReport, Outcome
from distriage_serving.store import Review

from support.queue_demo import add_issue
from support.queue_server import Queue, csrf, field
from support.queue_site import admin, site, stranger

ALL = {"axis.kind": "bug", "axis.symptom": "oom", "axis.fix": "tuning"}


def add(site: Queue, number: int, **outcomes: tuple[str, float]) -> str:
    """An issue of kind `bug`, symptom `oom` and fix `tuning`: sure of each but for `outcomes`; its key in the list."""
    verdict = site.classifier.classify(IssueReport(title="exhausted timeout", body=""))
    assert {f"axis.{axis}": said.label for axis, said in verdict.axes.items()} == ALL
    axes = {}
    for axis, said in verdict.axes.items():
        outcome, probability = outcomes.get(axis, ("apply", 0.95))
        axes[axis] = said.model_copy(update={"outcome": Outcome(outcome), "probability": probability})
    verdict = verdict.model_copy(update={"axes": axes})
    verdict_id = add_issue(site.store, "Owner/Repo", number, "exhausted timeout", "", verdict, time.time() - 60)
    return f"owner/repo#{number}@{verdict_id}"


def save(client: httpx.Client, number: int, **changes: object) -> int:
    """Send an issue's form as its page shows it, but for `changes`; the status."""
    page = client.get(f"/queue/owner/repo/{number}")
    fields = {
        "csrf": csrf(page),
        "verdict": field(page, "verdict"),
        "decided": field(page, "decided"),
        **ALL,
        **changes,
    }
    return client.post(f"/queue/owner/repo/{number}", data={"action": "accept", **fields}).status_code


def test_the_list_accepts_what_its_rows_show_and_nothing_else(site: Queue, admin: httpx.Client) -> None:
    keys = [add(site, 1, symptom=("suggest", 0.6)), add(site, 2, fix=("abstain", 0.3))]
    page = admin.get("/queue")
    assert "Confirms the labels that a row shows, and no others" in page.text
    admin.post("/queue/bulk", data={"csrf": csrf(page), "action": "accept", "issue": keys})
    assert site.standing(1) == {"symptom": "oom", "fix": "tuning"}  # the kind is not in the row
    assert site.standing(2) == {"symptom": "oom"}
    assert site.status(1) == site.status(2) == "accepted"


def test_the_list_accepts_the_decision_that_its_row_shows(site: Queue, admin: httpx.Client) -> None:
    key = add(site, 3, fix=("suggest", 0.6))
    said = {"repository": "owner/repo", "number": 3, "who": "mara", "how": "command", "at": site.store.clock()}
    site.store.add_reviews(Review(axis="symptom", label="crash", **said), Review(axis="fix", label=None, **said))
    page = admin.get("/queue/owner/repo/3")
    fields = {"csrf": csrf(page), "action": "accept", "issue": f"{key}@{field(page, 'decided')}"}
    assert admin.post("/queue/bulk", data=fields).status_code == 303
    assert site.standing(3) == {"symptom": "crash", "fix": None}


@pytest.mark.parametrize(
    ("symptom", "changes", "standing"),
    [
        (("suggest", 0.6), {"axis.fix": "patch"}, {"kind": "bug", "fix": "patch"}),
        (("apply", 0.26), {"axis.fix": "patch"}, {"kind": "bug", "fix": "patch"}),  # best guess
        (("apply", 0.6), {"axis.fix": "patch"}, {"kind": "bug", "symptom": "oom", "fix": "patch"}),
        (
            ("suggest", 0.6),
            {"axis.fix": "patch", "touched": "symptom"},
            {"kind": "bug", "symptom": "oom", "fix": "patch"},
        ),
        (("suggest", 0.6), {"axis.fix": "left-open"}, {"kind": "bug"}),
        (("suggest", 0.6), {"axis.symptom": "crash"}, {"kind": "bug", "symptom": "crash", "fix": "tuning"}),
        (("suggest", 0.6), {}, {"kind": "bug", "symptom": "oom", "fix": "tuning"}),  # nothing corrected: all was seen
    ],
)
def test_a_correction_leaves_open_what_is_only_perhaps_and_was_not_touched(
    site: Queue,
    admin: httpx.Client,
    symptom: tuple[str, float],
    changes: dict[str, str],
    standing: dict[str, str],
) -> None:
    site.store.undo_reviews(*(row.id for row in site.store.reviews()))
    add(site, 10, symptom=symptom)
    assert save(admin, 10, **changes) == 303
    assert site.standing(10) == standing


def test_what_a_person_decided_before_is_confirmed_though_the_model_was_unsure(
    site: Queue, admin: httpx.Client
) -> None:
    add(site, 11, symptom=("suggest", 0.6))
    assert save(admin, 11, **{"axis.fix": "patch", "touched": "symptom"}) == 303
    assert save(admin, 11, **{"axis.kind": "bug", "axis.fix": "tuning"}) == 303
    assert site.standing(11) == {"kind": "bug", "symptom": "oom", "fix": "tuning"}


@pytest.mark.parametrize("in_list", [True, False])
def test_dismissing_takes_back_what_a_person_decided_where_the_model_says_that_it_does_not_apply(
    site: Queue, admin: httpx.Client, in_list: bool
) -> None:
    number = 20 + in_list
    unfit = ("not-applicable", 0.2)
    key = add(site, number, symptom=unfit, fix=unfit)
    said = {"repository": "owner/repo", "number": number, "who": "mara", "how": "command", "at": site.store.clock()}
    site.store.add_reviews(Review(axis="symptom", label="crash", **said))
    page = admin.get(f"/queue/owner/repo/{number}")
    names = ("csrf", "verdict", "decided")
    fields = {name: field(page, name) for name in names} | {"action": "dismiss"}
    if in_list:
        admin.post("/queue/bulk", data={**fields, "issue": f"{key}@{fields['decided']}"})
    else:
        admin.post(f"/queue/owner/repo/{number}", data=fields)
    assert site.standing(number) == {"kind": None, "symptom": None}  # of the fix nobody said anything
    assert site.status(number) == "dismissed"
