"""Issues, predictions and reviews to put into a store."""

from __future__ import annotations

from distriage.model.taxonomy import default_taxonomy
from distriage_serving.store import (
    Issue,
    Review,
    StoredVerdict,
    report_digest,
)

from support.databases import NOW
from support.verdicts import make_verdict

TAXONOMY = default_taxonomy()


def issue(number: int = 1, **changes: object) -> Issue:
    """An issue as GitHub has it."""
    values = {
        "repository": "Owner/Repo",
        "number": number,
        "title": "A hang",
        "body": "It hangs",
        "author": "octocat",
        "url": f"https://x/{number}",
    }
    return Issue(**{**values, "created_at": NOW, "updated_at": NOW, **changes})


def prediction(
    number: int = 1, repository: str = "owner/repo", made_at: float = NOW, *axes: object, **outcomes: str
) -> StoredVerdict:
    """A verdict on it."""
    verdict = make_verdict(*axes, **outcomes)
    return StoredVerdict(
        repository=repository,
        number=number,
        model="toy",
        taxonomy_version="1",
        digest=report_digest("A hang", "It hangs"),
        verdict=verdict,
        made_at=made_at,
    )


def person(axis: str = "symptom", label: str | None = "runtime-hang", **changes: object) -> Review:
    """What somebody says about one axis of it."""
    values = {
        "repository": "Owner/Repo",
        "number": 1,
        "axis": axis,
        "label": label,
        "predicted_label": "runtime-hang",
        "who": "ada",
        "how": "queue",
        "at": NOW,
    }
    return Review(**{**values, **changes})
