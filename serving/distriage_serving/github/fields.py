"""The single-select issue fields of an organization, and their values on an issue. Network I/O; reads only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distriage.base.errors import NotFoundError, RefusedError
from distriage.github.client import Client
from distriage_serving.planning.suggested import IssueField


def read_fields(client: Client, repository: str) -> dict[str, IssueField]:
    """Name, case-folded -> each single-select issue field of a repository's organization.

    Raises:
        GitHubError: GitHub is out of reach.
    """
    path = f"/orgs/{repository.partition('/')[0]}/issue-fields"
    try:
        items = client.get(path, remember=True).value
    except (NotFoundError, RefusedError):
        return {}
    found = {}
    for item in items if isinstance(items, list) else []:
        if isinstance(item, Mapping) and item.get("data_type") == "single_select" and isinstance(item.get("id"), int):
            options = tuple(str(option.get("name")) for option in item.get("options") or ())
            found[str(item.get("name")).casefold()] = IssueField(item["id"], str(item.get("name")), options)
    return found


def field_values(issue: Mapping[str, Any]) -> dict[str, str]:
    """Name, case-folded -> value of the issue fields that have one, of an issue as GitHub gives it."""
    values = issue.get("issue_field_values")
    return {
        str(item.get("issue_field_name") or "").casefold(): str(item["value"])
        for item in (values if isinstance(values, list) else [])
        if isinstance(item, Mapping) and item.get("value") is not None
    }
