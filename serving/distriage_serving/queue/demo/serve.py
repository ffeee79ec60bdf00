"""`distriage serve --demo`: a queue of invented issues in a database that is gone afterwards."""

from __future__ import annotations

import secrets
import tomllib
from importlib import resources
from pathlib import Path
from typing import Final

from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage_serving.settings import Settings
from distriage_serving.store import Issue, Store, StoredVerdict, report_digest

REPOSITORY: Final = "demo/trainer"
DAY_S: Final = 86400.0


def demo_options(settings: Settings, folder: str) -> dict[str, str]:
    """Settings of a demo: a database in the folder that holds the invented issues, and a token."""
    url = f"sqlite:///{Path(folder, 'demo.db')}"
    token = settings.admin_token.get_secret_value() if settings.admin_token is not None else secrets.token_hex(16)
    with Store.open(url) as store:
        fill(store, Classifier(settings.model, threads=1))
    return {"database": url, "admin_token": token}


def fill(store: Store, classifier: Classifier) -> None:
    """Save and classify the invented issues."""
    text = resources.files("distriage_serving.queue.demo").joinpath("issues.toml").read_text(encoding="utf-8")
    now, taxonomy = store.clock(), classifier.bundle.taxonomy
    store.save_repository(REPOSITORY, display_name=REPOSITORY)
    for number, item in enumerate(tomllib.loads(text)["issues"], 1):
        title, body, at = item["title"], item["body"].strip(), now - item["age"] * DAY_S
        verdict = classifier.classify(IssueReport(title=title, body=body, id=f"{REPOSITORY}#{number}"))
        times = {"created_at": at, "updated_at": at}
        store.save_issue(
            Issue(repository=REPOSITORY, number=number, title=title, body=body, author="", url="", labels=[], **times)
        )
        store.save_verdict(
            StoredVerdict(
                repository=REPOSITORY,
                number=number,
                model=verdict.model,
                taxonomy_version=verdict.taxonomy_version,
                digest=report_digest(title, body),
                verdict=verdict,
                made_at=at,
            ),
            taxonomy,
        )
