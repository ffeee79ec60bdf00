"""A queue with toy issues behind a real server, for the tests of its pages."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from distriage.base.references import IssueReference
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage_serving.store import Store

from support import local_http
from support.databases import new_sqlite
from support.queue_demo import add_issue
from support.server import ANEW, Running, running
from support.waiting import WAIT_S

TOKEN = "a-token-for-the-tests"
KEY = "5e" * 32  # half of it is the salt of the token
REPOSITORIES = ("Owner/Repo", "owner/other")


@dataclass(frozen=True)
class Queue:
    """A server and what lies under it."""

    server: Running
    store: Store
    classifier: Classifier
    file: Path

    @property
    def url(self) -> str:
        """Without a slash at its end."""
        return f"http://127.0.0.1:{self.server.port}"

    def add(
        self,
        number: int,
        title: str,
        body: str = "",
        repository: str = REPOSITORIES[0],
        age_s: float = 3600,
        **changes: Any,
    ) -> int:
        """A classified issue; the id of its prediction."""
        report = IssueReport(title=title, body=body, id=f"{repository}#{number}")
        verdict = self.classifier.classify(report)
        return add_issue(self.store, repository, number, title, body, verdict, time.time() - age_s, **changes)

    def status(self, number: int, repository: str = REPOSITORIES[0]) -> str:
        """Where an issue stands."""
        issue = self.store.get_issue(repository, number)
        assert issue is not None
        return issue.status

    def standing(self, number: int, repository: str = REPOSITORIES[0]) -> dict[str, str | None]:
        """Axis -> label that a person decided on."""
        return {row.axis: row.label for row in self.store.reviews(issue=IssueReference(repository, number))}

    def multiply(self, number: int, count: int, repository: str = REPOSITORIES[0]) -> None:
        """Copies of an issue and its verdict, numbered from 100,000 or what is free above, written at once."""
        issue = self.store.get_issue(repository, number)
        assert issue is not None
        copied = (
            (
                "issues",
                f"repository = '{issue.repository}' and number = {number}",
                {"number": "place", "verdict_id": "place", "priority": "priority - place / 1e6"},
            ),
            ("verdicts", f"id = {issue.verdict_id}", {"id": "place", "number": "place"}),
            ("verdict_axes", f"verdict_id = {issue.verdict_id}", {"verdict_id": "place"}),
        )
        with closing(sqlite3.connect(self.file)) as connection, connection:
            ((first,),) = connection.execute("select max(100000, max(id) + 1) from verdicts")
            places = (
                "with recursive places(place) as "
                f"(values({first}) union all select place + 1 from places where place < {first + count - 1})"
            )
            for table, condition, changed in copied:
                names = [name for name, *_ in connection.execute(f"select * from {table} limit 0").description]
                values = ", ".join(changed.get(name, name) for name in names)
                connection.execute(
                    f"insert into {table} ({', '.join(names)}) {places} "
                    f"select {values} from {table}, places where {condition}"
                )


@contextmanager
def queue(classifier: Classifier, folder: Path, **settings: Any) -> Iterator[Queue]:
    """A queue without issues, whose repositories have the App on them; or the folder's own, served again."""
    file = folder / "queue.db"
    with Store.open(f"sqlite:///{file}" if file.exists() else new_sqlite(file)) as store:
        store.shared_value("session-key", lambda: KEY)
        for name in REPOSITORIES:
            store.save_repository(name, display_name=name, installation_id=7)
        with running(
            partial(Classifier, classifier.bundle.path, threads=1), store=store, **{"admin_token": TOKEN, **settings}
        ) as server:
            yield Queue(server, store, classifier, file)


def visitor(site: Queue) -> httpx.Client:
    """A browser, as far as these pages need one."""
    return local_http.Client(base_url=site.url, headers={"Accept": "text/html"}, timeout=WAIT_S, limits=ANEW)


def csrf(page: httpx.Response) -> str:
    """The token of a page's forms."""
    return field(page, "csrf")


def field(page: httpx.Response, name: str) -> str:
    """The value of a page's first field of this name."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page.text)
    assert found is not None, page.text[:500]
    return found[1]


def log_in(client: httpx.Client, token: str = TOKEN, name: str = "") -> httpx.Response:
    """Send the login's form."""
    return client.post("/login", data={"csrf": csrf(client.get("/login")), "name": name, "token": token})
