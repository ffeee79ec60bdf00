"""A repository's releases, as GitHub lists them. Network I/O; reads only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from distriage.base.times import epoch_s
from distriage.base.validation import Strict

if TYPE_CHECKING:
    from distriage.github.client import Client

MOST: Final = 100  # of one page, GitHub's limit


class Release(Strict):
    """A published release; `published_at` is Unix time in seconds."""

    tag: str
    published_at: float
    prerelease: bool = False


def read_releases(client: Client, repository: str) -> list[Release]:
    """The newest releases, at most `MOST`, by one request.

    Raises:
        GitHubError: GitHub is out of reach or refuses.
    """
    listed = client.get(f"/repos/{repository}/releases", {"per_page": str(MOST)}, remember=True).value
    return list(_published(listed if isinstance(listed, list) else []))


def _published(listed: list[Any]) -> Iterator[Release]:
    for one in listed:
        if not isinstance(one, dict) or one.get("draft") is True or not isinstance(tag := one.get("tag_name"), str):
            continue
        if at := epoch_s(one.get("published_at")):
            yield Release(tag=tag, published_at=at, prerelease=one.get("prerelease") is True)
