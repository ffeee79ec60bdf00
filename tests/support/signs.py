"""A repository with releases, and an issue with signs."""

from __future__ import annotations

from support.github import GitHub
from support.github_shapes import release

BODY = "It hangs, hangs and hangs after a timeout.\n\nAfter upgrading repo from 1.2.3 to 1.3.0 it hangs."
SIGNS = "axes: {symptom: true}\nsigns: {regression: kind/regression, old-version: true, affects-latest: true}\n"


def with_releases(github: GitHub) -> None:
    """The repository has three releases; an issue of the double is of the time between the latter two."""
    github.releases["owner/repo"] = [
        release("owner/repo", "v1.4.0", "2024-06-01T00:00:00Z"),
        release("owner/repo", "v1.3.0", "2024-04-01T00:00:00Z"),
        release("owner/repo", "v1.2.3", "2024-03-01T00:00:00Z"),
    ]


def asked(github: GitHub) -> int:
    """How often it was asked for releases."""
    return sum("/releases" in request.path for request in github.requests)
