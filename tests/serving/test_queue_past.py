from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.past.answer import named
from distriage.past.build import build_index
from distriage.past.index import PastIndex, PastQuery, make_index
from distriage.past.issue import PastIssue
from distriage.past.same import HOW_OFTEN
from distriage_serving.configuration.model import RepositoryConfig
from distriage_serving.judging.judge import look
from distriage_serving.judging.keeping import keep_issue
from distriage_serving.queue.login.sessions import Session
from distriage_serving.queue.pages import show

from support.queue_server import csrf, log_in, queue, visitor

TITLES = ("NCCL timeout in all_reduce", "Checkpoint lost <b>", "Loss is nan")
STATES = (("open", ""), ("closed", "duplicate of #1"), ("closed", "completed"))


def write_index(folder: Path, classifier: Classifier) -> Path:
    file = folder / "owner--repo.npz"
    issues = [
        (
            PastIssue(f"Owner/Repo#{number}", title, f"https://github.com/o/r/issues/{number}", *state),
            title,
        )
        for number, (title, state) in enumerate(zip(TITLES, STATES, strict=True), 1)
    ]
    reports = [(issue, IssueReport(title, f"{title}: it fails.", issue.id)) for issue, title in issues]
    build_index(reports, classifier).save(file)
    return file


def test_the_page_names_past_issues_and_one_click_marks_a_duplicate(
    keyword_classifier: Classifier, tmp_path: Path
) -> None:
    folder = tmp_path / "past"
    folder.mkdir()
    write_index(folder, keyword_classifier)
    with queue(keyword_classifier, tmp_path, past=str(folder)) as site, visitor(site) as client:
        site.add(9, "all_reduce: NCCL timeout", "It hangs.")
        site.add(9, "hangs", repository="owner/other")
        log_in(client)
        assert 'hx-get="/queue/owner/repo/9/past?' in client.get("/queue/owner/repo/9").text
        assert "/past?" not in client.get("/queue/owner/other/9").text  # it has no index
        part = client.get("/queue/owner/repo/9/past", headers={"HX-Request": "true"}).text
        assert part.index("NCCL timeout in all_reduce") < part.index("Checkpoint lost &lt;b&gt;")
        assert "<html" not in part and "completed" in part and "Likely the same" not in part
        assert part.count("Duplicate of #1</button>") == part.count("<button") == 2  # nobody joins a closed one
        page = client.get("/queue/owner/repo/9/past")
        assert page.text.startswith("<!doctype html>") and "Duplicate of #1</button>" in page.text
        client.post("/queue/owner/repo/9/act", data={"csrf": csrf(page), "what": "duplicate", "of": "1"})
        assert "To be closed as a duplicate of #1" in client.get("/queue").text
        assert client.get("/queue/no/such/9/past").status_code == 404
        assert "No past issue is like this one" in client.get("/queue/owner/other/9/past").text


def test_past_issues_of_the_database_are_shown_as_they_are_now(keyword_classifier: Classifier, tmp_path: Path) -> None:
    with queue(keyword_classifier, tmp_path) as site, visitor(site) as client:
        site.add(1, "NCCL timeout in all_reduce", "It hangs.")
        site.add(9, "all_reduce: NCCL timeout", "It hangs.")
        log_in(client)
        assert "/past?" not in client.get("/queue/owner/repo/9").text
        site.store.begin_past("owner/repo", "toy")
        earlier = site.store.get_issue("owner/repo", 1)
        assert earlier is not None
        report = IssueReport(earlier.title, earlier.body, str(earlier.reference))
        keep_issue(site.store, earlier, look(keyword_classifier, report, RepositoryConfig()).past, "toy")
        assert 'hx-get="/queue/owner/repo/9/past?' in client.get("/queue/owner/repo/9").text
        part = client.get("/queue/owner/repo/9/past").text
        assert "NCCL timeout in all_reduce" in part and "<span>open</span>" in part
        site.store.set_state(earlier.reference, "closed", earlier.updated_at, "completed")
        part = client.get("/queue/owner/repo/9/past").text
        assert "<span>closed</span> <span>completed</span>" in part


def test_what_is_likely_the_same_says_so_and_only_the_web_is_linked() -> None:
    none = (np.zeros(0, np.int32), np.zeros(0, np.float32))
    vectors = [np.array(vector, np.float32) for vector in ((1, 0), (-1, 0))]
    issues = [
        PastIssue(f"o/r#{n}", "T", url, filed_at=1.0) for n, url in ((1, "https://x.org/1"), (2, "javascript:alert(1)"))
    ]
    index = make_index(issues, [none] * 2, vectors, "toy")

    def items(index: PastIndex) -> list[str]:
        query = PastQuery(none, vectors[0], filed_at=1.0, version="2.1")
        found = index.find(query, 2)
        past = [(match.issue, None) for match in found]
        same = named(index, query, found[0])
        page = show("past.html", Session(), past=past, same=same, how_often=HOW_OFTEN, may_close=False)
        return bytes(page.body).decode().split("<li>")[1:]

    first, second = items(index)
    assert 'href="https://x.org/1"' in first and f"<strong>Likely the same issue</strong>: {HOW_OFTEN}" in first
    assert "#2" in second and "href" not in second and "Likely" not in second
    fixed = replace(issues[1], state="closed", closed_by="#7", milestone="v2.0", url="https://x.org/2")
    chain = [replace(issues[0], state="closed", closed_by="Duplicate of #2"), fixed]
    first, _ = items(replace(index, issues=chain))
    said = 'a duplicate of <a href="https://x.org/2" rel="noreferrer noopener external"><bdi>o/r#2</bdi></a>, closed; '
    assert f"{said}probably fixed in 2.0; possible regression, as the report states a newer version" in first


def test_open_issues_of_one_cause_are_gathered_on_a_page(keyword_classifier: Classifier, tmp_path: Path) -> None:
    none = (np.zeros(0, np.int32), np.zeros(0, np.float32))
    known = [
        PastIssue(
            f"owner/repo#{number}", f"<b> {number}\u202e", f"https://x.org/{number}", state, "", 1e9, signature="ab"
        )
        for number, state in ((1, "open"), (2, "closed"), (3, "open"))
    ]
    issues = [*known, replace(known[0], id="owner/repo#4", version="2.1", reactions=7)]
    make_index(issues, [none] * 4, [np.ones(2, np.float32)] * 4, "toy").save(tmp_path / "owner--repo.npz")
    with queue(keyword_classifier, tmp_path, past=str(tmp_path)) as site, visitor(site) as client:
        site.add(4, "It hangs", "It hangs.")
        log_in(client)
        assert '<a href="/queue/owner/repo/clusters">Clusters</a>' in client.get("/queue?repository=owner/repo").text
        assert "/clusters" not in client.get("/queue").text  # several repositories
        page = client.get("/queue/owner/repo/clusters").text
        assert "&lt;b&gt; 1" in page and "<b> 1" not in page and "\u202e" not in page
        assert "<span>3 open</span> <span>1 closed</span>" in page and "<span>7 reactions</span>" in page
        assert "<span>latest version 2.1</span>" in page
        address = "/queue?search=owner/repo%234"
        assert f'<a href="{address}">#4</a>' in page and "#2</a>" not in page
        assert client.get(address, follow_redirects=True).url.path == "/queue/owner/repo/4"
        assert client.get("/queue/no/such/clusters").status_code == 404
        undated = [replace(issue, filed_at=0.0) for issue in issues]
        make_index(undated, [none] * 4, [np.ones(2, np.float32)] * 4, "toy").save(tmp_path / "owner--repo.npz")
        assert "1970" not in (page := client.get("/queue/owner/repo/clusters").text) and "3 open" in page
        make_index(issues[:2], [none] * 2, [np.ones(2, np.float32)] * 2, "toy").save(tmp_path / "owner--repo.npz")
        assert "No two open issues" in client.get("/queue/owner/repo/clusters").text
