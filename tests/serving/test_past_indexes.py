from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from distriage.base.references import IssueReference
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.github.listed import ListedIssue
from distriage.past.packed import pack
from distriage.past.signature import signature_of
from distriage.reading.report import read
from distriage_serving.judging.indexes import ANEW_AT, PastIndexes
from distriage_serving.judging.keeping import keep_all, keep_issue
from distriage_serving.store import Issue, PastRow, PastState, Store

from support.databases import NOW
from support.past_index import BODY, TITLE, query, write_asked_before
from support.waiting import WAIT_S


def test_an_index_is_read_anew_once_it_changed_and_a_broken_one_is_none(shipped_bundle: Path, tmp_path: Path) -> None:
    classifier = Classifier(shipped_bundle, threads=1)
    model = classifier.bundle.manifest.name
    indexes = PastIndexes(tmp_path)
    assert indexes.index("Owner/Repo", model) is None and not indexes.has("owner/repo")
    file = write_asked_before(tmp_path, classifier)
    first = indexes.index("Owner/Repo", model)
    assert first is not None and indexes.index("owner/repo", model) is first and indexes.has("owner/repo")
    file.write_bytes(b"broken")
    os.utime(file, ns=(1, 1))
    assert indexes.index("owner/repo", model) is None
    assert PastIndexes(None).index("owner/repo", model) is None


def test_an_index_of_another_model_is_none(shipped_bundle: Path, tmp_path: Path) -> None:
    write_asked_before(tmp_path, Classifier(shipped_bundle, threads=1))
    assert PastIndexes(tmp_path).index("owner/repo", "another") is None


# ---------------------------------------------------------------- of the issues in the store


def put(store: Store, classifier: Classifier, number: int, title: str, after_s: float = 0.0) -> None:
    read = query(classifier, IssueReport(title, title))
    values = {"title": title, "url": "", "state": "open", "closed_by": "", "filed_at": NOW, "digest": title}
    row = PastRow(repository="o/r", number=number, updated_at=NOW + after_s, fingerprint=pack(read), **values)
    store.put_past(classifier.bundle.manifest.name, row)


@pytest.mark.parametrize("few", [True, False])
def test_an_index_follows_what_changes_in_the_store(
    sqlite_store: Store, keyword_classifier: Classifier, few: bool
) -> None:
    store, model = sqlite_store, keyword_classifier.bundle.manifest.name
    indexes = PastIndexes(None, store)
    assert indexes.index("o/r", model) is None and not indexes.has("O/R")
    store.begin_past("O/R", model)
    count = 2 if few else 4 * ANEW_AT  # a small index is made anew, a large one updated
    for number in range(1, count + 1):
        put(store, keyword_classifier, number, f"Question number {number} about memory")
    first = indexes.index("O/R", model)
    assert first is not None and len(first.issues) == count and indexes.has("O/R")
    assert indexes.index("o/r", model) is first and indexes.index("o/r", "another") is None

    def found(text: str) -> list[str]:
        index = indexes.index("o/r", model)
        assert index is not None
        return [match.issue.id for match in index.find(query(keyword_classifier, IssueReport(text, text)), 1)]

    put(store, keyword_classifier, 99, "Watchdog barks at the ring")
    assert found("Watchdog barks at the ring") == ["o/r#99"]
    put(store, keyword_classifier, 99, "Checkpoint lost its way", 1.0)
    assert found("Checkpoint lost its way") == ["o/r#99"]
    store.set_past_states(PastState(IssueReference("o/r", 99), "deleted", NOW))
    assert found("Checkpoint lost its way") != ["o/r#99"]
    latest = indexes.index("o/r", model)
    assert latest is not None and len(latest.issues) == count
    assert (latest.idf is first.idf) != few


def test_a_mark_of_a_maintainer_closes_nothing_yet(sqlite_store: Store, keyword_classifier: Classifier) -> None:
    store, model = sqlite_store, keyword_classifier.bundle.manifest.name
    store.begin_past("o/r", model)
    put(store, keyword_classifier, 1, "Old")
    store.settle_past("o/r", {1}, "duplicate of #7")
    indexes = PastIndexes(None, store)
    told = []
    for state in ("open", "closed"):
        store.set_past_states(PastState(IssueReference("o/r", 1), state, NOW + 9, "duplicate" * (state == "closed")))
        index = indexes.index("o/r", model)
        assert index is not None
        told.append(index.issues[0].closed_by)
    assert told == ["", "duplicate of #7"]


def test_another_model_s_issues_are_left_behind(
    sqlite_store: Store, keyword_classifier: Classifier, caplog: pytest.LogCaptureFixture
) -> None:
    store, model = sqlite_store, keyword_classifier.bundle.manifest.name
    indexes = PastIndexes(None, store)
    store.begin_past("o/r", model)
    put(store, keyword_classifier, 1, "Old")
    assert indexes.index("o/r", model) is not None
    store.begin_past("o/r", "another")
    assert indexes.index("o/r", model) is None and indexes.index("O/R", model) is None
    (said,) = caplog.records
    assert "read by another" in (reason := vars(said)["fields"]["reason"])
    assert "distriage backfill o/r --past" in reason
    store.begin_past("o/r", model)
    index = indexes.index("o/r", model)
    assert index is not None and list(index.issues) == []


def test_an_issue_is_kept_and_the_next_one_like_it_is_told(sqlite_store: Store, shipped_bundle: Path) -> None:
    classifier = Classifier(shipped_bundle, threads=1)
    indexes, model = PastIndexes(None, sqlite_store), classifier.bundle.manifest.name

    def keep(issue: Issue) -> None:
        read = IssueReport(issue.title, issue.body, str(issue.reference))
        keep_issue(sqlite_store, issue, query(classifier, read, issue.created_at), model)

    def duplicates(report: IssueReport, filed_at: float) -> list[tuple[str, str]] | None:
        found = indexes.duplicates(query(classifier, report, filed_at), model)
        return None if found is None else [(item.id, item.state) for item in found]

    new, report = {"author": "a", "created_at": NOW, "updated_at": NOW}, IssueReport(TITLE, BODY, "o/r#9")
    past = [
        Issue(
            repository="o/r",
            number=number,
            title=title,
            body=body,
            url=f"https://github.com/o/r/issues/{number}",
            **new,
        )
        for number, (title, body) in enumerate([(TITLE, BODY), ("Docs: a dead link", "See LoRA.")], 1)
    ]
    for issue in past:
        keep(issue)
    assert duplicates(report, NOW) is None  # nobody asked to keep them
    sqlite_store.begin_past("o/r", model)
    for issue in past:
        keep(issue)
    assert duplicates(report, NOW + 86400) == [("o/r#1", "open")]
    past[0].state = "closed"
    keep(past[0])
    assert duplicates(report, NOW + 86400) == [("o/r#1", "closed")]
    assert duplicates(IssueReport(TITLE, BODY, "o/r#1"), NOW) == []


def test_a_ready_index_is_looked_up_while_another_is_made(
    sqlite_store: Store, keyword_classifier: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, indexes = keyword_classifier.bundle.manifest.name, PastIndexes(None, sqlite_store)
    for repository in ("o/ready", "o/large"):
        sqlite_store.begin_past(repository, model)
    ready = indexes.index("o/ready", model)
    making, made, rows = threading.Event(), threading.Event(), sqlite_store.past_rows

    def slow_rows(repository: str, since: int, after: int) -> list[PastRow]:
        making.set()
        made.wait(WAIT_S)
        return rows(repository, since, after)

    monkeypatch.setattr(sqlite_store, "past_rows", slow_rows)
    with ThreadPoolExecutor(2) as threads:
        large = threads.submit(indexes.index, "o/large", model)
        assert making.wait(WAIT_S)
        again = threads.submit(indexes.index, "O/Ready", model)
        try:
            assert again.result(WAIT_S / 2) is ready is not None and not large.done()
        finally:
            made.set()
        assert large.result(WAIT_S) is not None


def test_what_github_tells_of_an_issue_and_what_it_states_are_in_the_index(
    sqlite_store: Store, keyword_classifier: Classifier
) -> None:
    body = "```\nShardError: rank 3 lost its shard\n```\nvLLM version: 0.8.5"
    listed = ListedIssue(
        *(7, "It crashes", body, "https://x.org/7", NOW, (), False),
        updated_at=NOW + 9,
        reason="completed",
        closed_at=NOW + 9,
        milestone="v0.9.0",
        reactions=4,
    )
    place, model = "vllm-project/vllm", keyword_classifier.bundle.manifest.name
    assert list(keep_all(sqlite_store, keyword_classifier, place, [listed])) == [(1, 1)]
    index = PastIndexes(None, sqlite_store).index(place, model)
    assert index is not None
    (issue,) = index.issues
    assert (issue.closed_at, issue.milestone, issue.version, issue.reactions) == (NOW + 9, "v0.9.0", "0.8.5", 4)
    assert issue.signature == signature_of(read(IssueReport("It crashes", body)).segments) != ""
    later = replace(listed, milestone="v0.9.1", reactions=5, updated_at=NOW + 10)
    assert list(keep_all(sqlite_store, keyword_classifier, place, [later])) == [(1, 0)]  # not read again
    (row,) = sqlite_store.past_rows(place, 0)
    assert (row.milestone, row.reactions, row.version, row.signature) == ("v0.9.1", 5, "0.8.5", issue.signature)
