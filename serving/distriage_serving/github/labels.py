"""The labels of a repository and of an issue, as GitHub lists them. Network I/O; reads only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distriage.github.client import Client


def read_labels(client: Client, repository: str) -> tuple[dict[str, str], dict[int, str]]:
    """Name -> description of all of a repository's labels, and id -> name.

    Raises:
        GitHubError: GitHub cannot be reached or refuses.
    """
    described: dict[str, str] = {}
    ids: dict[int, str] = {}
    for labels, _ in client.pages(f"/repos/{repository}/labels", {}, remember=True):
        for label in labels:
            if isinstance(name := label.get("name"), str):
                described[name] = str(label.get("description") or "")
                if isinstance(id_ := label.get("id"), int):
                    ids[id_] = name
    return described, ids


def label_names(issue: Mapping[str, Any]) -> list[str]:
    """Names of an issue's labels, which GitHub's schema lets be objects or texts."""
    labels = (label.get("name") if isinstance(label, Mapping) else label for label in issue.get("labels") or ())
    return [name for name in labels if isinstance(name, str)]
