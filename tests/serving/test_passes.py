# ruff: noqa: F401, F811  # fixtures
"""App, HTTP and queue: a report goes through the model once, with past issues on."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage_serving.configuration.model import RepositoryConfig
from distriage_serving.judging.indexes import PastIndexes
from distriage_serving.judging.judge import look
from distriage_serving.judging.keeping import keep_issue
from distriage_serving.judging.lane import Lane, LaneJudge
from distriage_serving.metrics import Metrics
from distriage_serving.store import Store

from support import past_index
from support.bot import CONFIG, ISSUE, Bot, bot, github, make, store
from support.counting import Counting, passes
from support.databases import new_sqlite
from support.http_api import post
from support.queue_server import TOKEN, Queue, log_in, visitor
from support.server import running

NEW = "owner/repo#9"


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    return tmp_path / "calls"


def test_the_app_reads_an_issue_once(bot: Bot, shipped_bundle: Path, calls: Path) -> None:
    lane = Lane(partial(Counting, shipped_bundle, calls), processes=1, capacity=8, deadline_s=100.0)
    judge = LaneJudge(lane, lane.start(), PastIndexes(None, bot.store), Metrics())
    bot.worker._judge = judge
    bot.store.begin_past("owner/repo", judge.bundle.manifest.name)
    bot.github.files["owner/repo/.github/distriage.yml"] = f"{CONFIG}name-duplicates: true\n"
    for number, reference in enumerate((ISSUE, NEW), 1):
        bot.github.open(reference, past_index.TITLE, past_index.BODY)
        bot.deliver("issues", bot.github.payload("opened", reference))
        bot.settle()
        assert passes(calls) == number
    assert "/owner/repo/issues/1" in str(bot.github.written[-1].body), "no duplicate was named"
    lane.close()


def test_http_reads_a_report_once(shipped_bundle: Path, tmp_path: Path, calls: Path) -> None:
    past_index.write_asked_before(tmp_path, Classifier(shipped_bundle, threads=1))
    new = {"title": past_index.TITLE, "body": past_index.BODY, "id": NEW}
    with running(partial(Counting, shipped_bundle, calls), past=tmp_path) as server:
        assert len(post(server.client, {**new, "duplicates": "owner/repo"}).json()["duplicates"]) == 1
        assert passes(calls) == 1


def keep(store: Store, classifier: Classifier, number: int) -> None:
    issue = store.get_issue("owner/repo", number)
    assert issue is not None
    report = IssueReport(issue.title, issue.body, str(issue.reference))
    keep_issue(store, issue, look(classifier, report, RepositoryConfig()).past, classifier.bundle.manifest.name)


def test_the_queue_s_page_of_past_issues_reads_only_a_changed_text(
    keyword_classifier: Classifier, tmp_path: Path, calls: Path
) -> None:
    bundle = keyword_classifier.bundle
    with Store.open(new_sqlite(tmp_path / "queue.db")) as store:
        store.save_repository("owner/repo", display_name="Owner/Repo", installation_id=7)
        store.begin_past("owner/repo", bundle.manifest.name)
        with running(partial(Counting, bundle.path, calls), store=store, admin_token=TOKEN) as server:
            site = Queue(server, store, keyword_classifier, tmp_path / "queue.db")
            for number in (1, 9):
                site.add(number, "NCCL timeout in all_reduce", "It hangs.")
                keep(store, keyword_classifier, number)
            with visitor(site) as client:
                log_in(client)
                page = client.get("/queue/owner/repo/9/past").text
                assert "NCCL timeout in all_reduce" in page and passes(calls) == 0
                site.add(9, "NCCL timeout in all_reduce, again", "It hangs.")
                assert "NCCL timeout in all_reduce" in client.get("/queue/owner/repo/9/past").text
                assert passes(calls) == 1
