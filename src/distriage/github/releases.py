"""A repository's releases, as GitHub lists them. Network I/O; reads only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from distriage.base.errors import GitHubError, RateLimitError, RefusedError
from distriage.base.times import epoch_s
from distriage.base.validation import Strict
from distriage.github.kept import Kept

if TYPE_CHECKING:
    from distriage.github.client import Client

MOST: Final = 100  # of one page, GitHub's limit
KEPT_S: Final = 24 * 3600.0  # a repository is asked once a day


class Release(Strict):
    """A published release; `published_at` is Unix time in seconds."""

    tag: str
    published_at: float
    prerelease: bool = False


_kept: Final = Kept[tuple[str, str], Sequence[Release]](1000, KEPT_S)


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


def kept_releases(client: Client, repository: str) -> Sequence[Release]:
    """The releases; the last known ones, or none, where GitHub fails.

    They are kept for `KEPT_S` in this process, as is a refusal; a failure that may pass is not.

    Raises:
        RateLimitError: the limit is reached; asked again next time.
    """
    key = (client.api, repository.casefold())
    found = _kept.get(key)
    if found is None:
        try:
            found = read_releases(client, repository)
            _kept.put(key, found)
        except RateLimitError:
            raise
        except GitHubError as error:
            found = _kept.get(key, stale=True) or ()
            if isinstance(error, RefusedError):  # else they are asked for again at the next look
                _kept.put(key, found)
    return found
