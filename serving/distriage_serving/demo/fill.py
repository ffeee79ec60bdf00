"""Invented issues for a demo, and any number of open issues for `distriage bench`, which starts this module."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Final

from distriage.answer.verdict import Verdict
from distriage.base.errors import InputError
from distriage.base.texts import packaged_table
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage_serving.settings import Settings
from distriage_serving.store import Issue, IssueFilter, Store, StoredVerdict, report_digest

REPOSITORY: Final = "demo/trainer"
DAY_S: Final = 86400.0


@dataclass(frozen=True, slots=True)
class Invented:
    """A report, and how many days ago it was filed."""

    age: float
    title: str
    body: str


def demo_reports() -> list[Invented]:
    """Those of `distriage serve --demo`."""
    issues = packaged_table(__package__, "issues.toml")["issues"]
    return [Invented(item["age"], item["title"], item["body"].strip()) for item in issues]


def fill(store: Store, classifier: Classifier, reports: Iterable[Invented]) -> None:
    """Save the reports as issues 1, 2, ..., and classify each text once."""
    now, verdicts = store.clock(), dict[tuple[str, str], Verdict]()
    store.save_repository(REPOSITORY, display_name=REPOSITORY)
    with store.transaction():
        for number, item in enumerate(reports, 1):
            text, at = (item.title, item.body), now - item.age * DAY_S
            if text not in verdicts:
                verdicts[text] = classifier.classify(IssueReport(*text, id=f"{REPOSITORY}#{number}"))
            issue = Issue(
                repository=REPOSITORY,
                number=number,
                title=item.title,
                body=item.body,
                author="",
                url="",
                created_at=at,
                updated_at=at,
            )
            store.save_issue(issue)
            store.save_verdict(_stored(issue, verdicts[text]), classifier.bundle.taxonomy)


def _stored(issue: Issue, verdict: Verdict) -> StoredVerdict:
    return StoredVerdict(
        repository=issue.repository,
        number=issue.number,
        model=verdict.model,
        taxonomy_version=verdict.taxonomy_version,
        digest=report_digest(issue.title, issue.body),
        verdict=verdict,
        made_at=issue.created_at,
    )


def demo_options(settings: Settings, folder: str) -> dict[str, str]:
    """Settings of a demo: a database in the folder that holds the invented issues, and a token."""
    url = f"sqlite:///{Path(folder, 'demo.db')}"
    token = settings.admin_token.get_secret_value() if settings.admin_token is not None else secrets.token_hex(16)
    with Store.open(url) as store:
        fill(store, Classifier(settings.model, threads=1), demo_reports())
    return {"database": url, "admin_token": token}


def _as_autovacuum(database: str) -> None:
    """Gather statistics, as autovacuum does each minute during a real backfill, which commits after each issue. `fill`
    is one transaction, of which autovacuum knows nothing yet.
    """
    import psycopg  # a demo is on SQLite

    with psycopg.connect(database.replace("+psycopg", "", 1), autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE) issues, verdicts, verdict_axes")


def main() -> None:
    """Fill an empty database with the reports of a file, again and again, filed over the last 400 days."""
    given = json.loads(sys.argv[2])
    lines = Path(given["reports"]).read_text(encoding="utf-8").splitlines()
    reports = [IssueReport(**json.loads(line)) for line in lines]
    with Store.open(given["database"]) as store:
        if store.count_issues(IssueFilter(status=None, state=None)):
            raise InputError("--database: expected an empty database; this one holds issues")
        ages = (400 * place / given["count"] for place in range(given["count"]))
        many = (Invented(age, report.title, report.body) for age, report in zip(ages, cycle(reports), strict=False))
        fill(store, Classifier(given["bundle"], threads=1), many)
        if not store.is_sqlite:
            _as_autovacuum(given["database"])
    sys.stdout.write("null\n")


if __name__ == "__main__":
    main()
