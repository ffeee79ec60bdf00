"""The bot names a likely duplicate: in its one comment, and only where the repository asks for it."""

# ruff: noqa: F811  # fixtures
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from distriage.base.references import IssueReference
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage_serving.configuration.model import RepositoryConfig
from distriage_serving.judging.indexes import PastIndexes
from distriage_serving.judging.lane import Lane, LaneJudge
from distriage_serving.metrics import Metrics
from distriage_serving.store import Act, close_job

from support import faults, past_index
from support.bot import CONFIG, ISSUE, OTHER_BOT, TITLE, Bot, bot, github, make, store  # noqa: F401
from support.faults import Trouble
from support.github import INSTALLATION, PERSON

NEW = "owner/repo#9"


@pytest.fixture
def knowing(bot: Bot, shipped_bundle: Path, tmp_path: Path) -> Iterator[Bot]:
    """The bot with the shipped model in its lane and an index of the repository's past issues."""
    past_index.write_asked_before(tmp_path, Classifier(shipped_bundle, threads=1))
    load = partial(Classifier, shipped_bundle, threads=1)
    lane = Lane(load, processes=1, capacity=8, deadline_s=100.0)
    bot.worker._judge = LaneJudge(lane, lane.start(), PastIndexes(tmp_path), Metrics())
    bot.github.open(NEW, past_index.TITLE, past_index.BODY)
    yield bot
    lane.close()


def test_a_likely_duplicate_is_named_where_the_configuration_says_so(knowing: Bot) -> None:
    knowing.deliver("issues", knowing.github.payload("opened", NEW))
    knowing.settle()
    assert not any("comments" in path for _, path in knowing.writes())
    knowing.github.files["owner/repo/.github/distriage.yml"] = f"{CONFIG}name-duplicates: true\n"
    knowing.deliver("issues", knowing.github.payload("reopened", NEW))
    knowing.settle()
    assert [path for _, path in knowing.writes() if "comments" in path] == ["/repos/owner/repo/issues/9/comments"]
    assert "/Owner/Repo/issues/1)" in str(knowing.github.written[-1].body)
    judge = knowing.worker._judge
    assert judge.past is not None
    for report, found in ((IssueReport("It hangs", "", "owner/other#1"), None), (IssueReport("Docs", "", NEW), [])):
        query = judge.look(report, RepositoryConfig(), past_index.FILED_AT).past
        assert judge.past.duplicates(query, judge.bundle.manifest.name) == found


@pytest.mark.parametrize("stale", [False, True])
def test_a_suggested_duplicate_costs_one_request_more(knowing: Bot, *, stale: bool) -> None:
    """The index has GitHub's own id of the original; only if that is another by now, GitHub is asked for it."""
    github, made = knowing.github, {}
    github.suggesting.add("owner/repo")
    knowing.store.save_repository("owner/repo", no_suggestions_until=0.0)
    if stale:
        github.issues[ISSUE]["id"] = 77
    for number, config in ((9, CONFIG), (10, f"{CONFIG}suggestions: perhaps\n")):
        github.open(f"owner/repo#{number}", past_index.TITLE, past_index.BODY)
        github.files["owner/repo/.github/distriage.yml"] = config
        since = len(github.requests)
        knowing.deliver("issues", github.payload("opened", f"owner/repo#{number}"))
        knowing.settle()
        made[number] = [
            f"{one.method} {one.path}" for one in github.requests[since:] if f"/issues/{number}" in one.path
        ]
        asked = [one for one in github.requests[since:] if one.path.endswith("/issues/1")]
    (suggested,) = github.pending("owner/repo#10")
    assert (suggested["action"], suggested["target_id"]) == ("close_issue", 77 if stale else 2_000_000_001)
    assert len(made[10]) == len(made[9]) + 1 + stale and len(asked) == stale
    assert github.issues["owner/repo#10"]["state"] == "open"


def test_a_duplicate_that_a_person_approved_is_known_by_its_original(knowing: Bot) -> None:
    github = knowing.github
    github.suggesting.add("owner/repo")
    knowing.store.begin_past("owner/repo", knowing.worker._judge.bundle.manifest.name)
    github.files["owner/repo/.github/distriage.yml"] = f"{CONFIG}suggestions: perhaps\n"
    knowing.deliver("issues", github.payload("opened", NEW))
    knowing.settle()
    (suggested,) = github.pending(NEW)
    github.decide(NEW, suggested["id"], PERSON, approve=True)
    knowing.deliver("issues", github.payload("reopened", NEW))
    knowing.settle()
    assert [row.closed_by for row in knowing.store.past_rows("owner/repo", 0)] == ["duplicate of #1"]


@pytest.mark.parametrize(
    ("act", "became"),
    [
        ({"what": "duplicate", "duplicate_of": 1}, "approved"),
        ({"what": "duplicate", "duplicate_of": 2}, "dismissed"),
        ({"what": "completed"}, "dismissed"),
    ],
)
def test_closing_in_the_queue_decides_the_suggestion(knowing: Bot, act: dict[str, Any], became: str) -> None:
    """It costs two requests: a list, since GitHub told no id, and the decision. Without a suggestion it costs none."""
    github, store, costs = knowing.github, knowing.store, []
    store.save_repository("owner/repo", display_name="Owner/Repo", installation_id=INSTALLATION)
    for number, suggests in ((9, True), (10, False)):
        if suggests:
            github.suggesting.add("owner/repo")
        github.files["owner/repo/.github/distriage.yml"] = f"{CONFIG}suggestions: {'perhaps' if suggests else 'off'}\n"
        github.open(f"owner/repo#{number}", past_index.TITLE, past_index.BODY)
        knowing.deliver("issues", github.payload("opened", f"owner/repo#{number}"))
        knowing.settle()
        since, issue = len(github.requests), IssueReference("owner/repo", number)
        store.add_act(Act(repository="owner/repo", number=number, who="mara", at=knowing.clock(), **act))
        for _ in range(2):  # the second time nothing is left to do
            store.put_job(close_job(issue, INSTALLATION))
            knowing.settle()
        costs.append(sum("/issues/" in one.path for one in github.requests[since:]))
    assert [one["state"] for one in github.suggestions[NEW]] == [became]
    assert [row.state for row in store.suggestions(IssueReference("owner/repo", 9))] == [became]
    assert costs[0] == costs[1] + 2


def test_a_decision_that_github_refuses_leaves_the_issue_closed(knowing: Bot) -> None:
    github, store = knowing.github, knowing.store
    github.suggesting.add("owner/repo")
    github.files["owner/repo/.github/distriage.yml"] = f"{CONFIG}suggestions: perhaps\n"
    knowing.deliver("issues", github.payload("opened", NEW))
    knowing.settle()
    github.troubles.append(Trouble("POST .*/suggestions/", faults.status(403)))
    store.add_act(Act(repository="owner/repo", number=9, what="completed", who="mara", at=knowing.clock()))
    store.put_job(close_job(IssueReference("owner/repo", 9), INSTALLATION))
    knowing.settle()
    (act,) = store.acts(IssueReference("owner/repo", 9))
    assert act.carried_out and act.refused is None and github.issues[NEW]["state"] == "closed"
    assert "the suggestion" in (knowing.job().last_error or "")


def past(bot: Bot) -> tuple[str, str, str] | None:
    (row,) = bot.store.past_rows("owner/repo", 0)
    return None if row.fingerprint is None else (row.title, row.state, row.closed_by)


def test_what_happens_to_an_issue_happens_to_the_past_issue(bot: Bot) -> None:
    bot.issue("opened")
    assert bot.store.past_rows("owner/repo", 0) == []
    bot.store.begin_past("owner/repo", "toy")
    bot.issue("reopened")
    assert past(bot) == (TITLE, "open", "")
    bot.github.issues[ISSUE].update(title="It still hangs", updated_at="2024-05-02T00:00:00Z")
    bot.issue("edited")
    assert past(bot) == ("It still hangs", "open", "")
    bot.github.issues[ISSUE].update(state="closed", state_reason="not_planned", updated_at="2024-05-03T00:00:00Z")
    bot.issue("closed", OTHER_BOT)
    assert past(bot) == ("It still hangs", "closed", "not_planned")
    bot.github.issues[ISSUE].update(state="open", state_reason="reopened", updated_at="2024-05-04T00:00:00Z")
    bot.issue("reopened")
    assert past(bot) == ("It still hangs", "open", "")
    bot.issue("transferred")
    assert past(bot) is None
