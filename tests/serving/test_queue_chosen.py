# ruff: noqa: F401, F811  # fixtures
"""A label that a person chose, and what the queue says beside it."""

from __future__ import annotations

import re

import httpx
import pytest

from distriage.answer.verdict import LabelProbability
from distriage.base.types import Mode
from distriage.classifier import Classifier
from distriage_serving.queue.issue_view import AxisView, view_axes
from distriage_serving.store import Review

from support.queue_server import Queue, csrf, field
from support.queue_site import admin, site, stranger
from support.reports import make_report


def symptom(classifier: Classifier, title: str, label: str | None, *, decided: bool = True) -> AxisView:
    verdict = classifier.classify(make_report(title=title, body=""), Mode.BALANCED)
    said = verdict.axes["symptom"]
    top = [LabelProbability(label="oom", probability=0.96), LabelProbability(label="leak", probability=0.03)]
    sure = said.model_copy(update={"outcome": "apply", "label": "oom", "probability": 0.96, "top": top})
    verdict = verdict.model_copy(update={"axes": {**verdict.axes, "symptom": sure}})
    person = Review(repository="o/r", number=1, axis="symptom", label=label, who="a", how="queue", at=1.0)
    views = view_axes(verdict, classifier.bundle.taxonomy, {"symptom": person} if decided else {})
    return next(axis for axis in views if axis.id == "symptom")


@pytest.mark.parametrize("label", ["oom", "leak", "crash", None])
def test_a_label_that_a_person_chose_has_no_figure_of_the_models(
    keyword_classifier: Classifier, label: str | None
) -> None:
    shown = symptom(keyword_classifier, "exhausted", label)
    assert (shown.outcome, shown.percent, shown.probability) == ("decided", "", 0.0)
    assert shown.model == "Oom"  # what it said stays to be read
    model = symptom(keyword_classifier, "exhausted", None, decided=False)
    assert (model.outcome, model.percent, model.model) == ("apply", "96%", "")


def summary(page: str, axis: str) -> str:
    """The line of an axis, as HTML."""
    found = re.search(rf'<summary>\s*<span class="axis-name">{axis}</span>.*?</summary>', page, re.S)
    assert found is not None
    return found[0]


def test_the_page_marks_a_persons_choice_as_decided_and_never_as_sure(site: Queue, admin: httpx.Client) -> None:
    site.add(1, "exhausted timeout")
    said = {"repository": "owner/repo", "number": 1, "who": "mara", "how": "queue", "at": site.store.clock()}
    site.store.add_reviews(Review(axis="symptom", label="crash", **said))
    line = summary(admin.get("/queue/owner/repo/1").text, "Symptom")
    assert 'aria-label="Decided by a person"' in line and "Crash" in line
    assert re.findall(r"data-percent>([^<]*)<", line) == [""]


def test_a_persons_kind_rules_out_what_does_not_apply_to_it(site: Queue, admin: httpx.Client) -> None:
    site.add(2, "exhausted timeout")
    said = {"repository": "owner/repo", "number": 2, "who": "mara", "how": "command", "at": site.store.clock()}
    site.store.add_reviews(Review(axis="kind", label="question", predicted_label="bug", **said))
    page = admin.get("/queue/owner/repo/2").text
    for axis in ("Symptom", "Fix"):
        assert "Does not apply" in summary(page, axis) and "%" not in summary(page, axis)
    chips = re.findall(r'data-chip="(\w+)"( hidden)?', page)
    assert chips == [("kind", ""), ("symptom", " hidden"), ("fix", " hidden")]  # that is what Accept stores
    assert "oom" not in row(admin, 2).lower()


def row(client: httpx.Client, number: int, **query: str) -> str:
    """An issue's row in the list, as words; empty: it is not there."""
    page = client.get("/queue", params={"status": "any", **query}).text
    rows = re.findall(r'<li class="issue".*?</li>', page, re.S)
    found = next((row for row in rows if f"Owner/Repo#{number}<" in row), "")
    return " ".join(
        re.sub(r"<(?!svg)[^>]*>", " ", re.sub(r'<svg[^>]*aria-label="([^"]*)"[^>]*>', r"[\1]", found)).split()
    )


def test_row_and_filters_have_the_label_that_stands(site: Queue, admin: httpx.Client) -> None:
    site.add(40, "exhausted timeout")
    before = row(admin, 40, symptom="oom")
    assert "Symptom [Likely] Oom" in before and row(admin, 40, symptom="crash") == ""
    page = admin.get("/queue/owner/repo/40")
    fields = {"csrf": csrf(page), "verdict": field(page, "verdict"), "decided": field(page, "decided")}
    admin.post("/queue/owner/repo/40", data={**fields, "action": "accept", "axis.symptom": "crash"})
    assert row(admin, 40, symptom="oom") == ""
    assert "Symptom [Decided by a person] Crash" in row(admin, 40, symptom="crash")
    assert "Oom" not in row(admin, 40, symptom="crash")
    admin.post("/queue/undo", data={"csrf": fields["csrf"]})
    assert row(admin, 40, symptom="oom") == before


def test_what_a_person_calls_no_bug_has_no_symptom_in_the_list(site: Queue, admin: httpx.Client) -> None:
    site.add(41, "exhausted timeout")
    page = admin.get("/queue/owner/repo/41")
    fields = {"csrf": csrf(page), "verdict": field(page, "verdict"), "decided": field(page, "decided")}
    admin.post("/queue/owner/repo/41", data={**fields, "action": "accept", "axis.kind": "question"})
    assert "Kind [Decided by a person] Question" in row(admin, 41) and "Symptom" not in row(admin, 41)
    site.add(42, "how")
    assert "Question" in row(admin, 42)
    labels = site.classifier.bundle.taxonomy.axes["symptom"].label_ids
    assert [label for label in labels if row(admin, 42, symptom=label)] == []
