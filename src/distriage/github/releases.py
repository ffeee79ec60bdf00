"""A repository's releases, as GitHub lists them. Network I/O; reads only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from distriage.base.errors import GitHubError, RateLimitError
from distriage.base.times import epoch_s
from distriage.base.validation import Strict

if TYPE_CHECKING:
    from distriage.github.client import Client

MOST: Final = 100  # of one page, GitHub's limit
KEPT_S: Final = 24 * 3600.0  # a repository is asked once a day
_MOST_KEPT: Final = 1000
_kept: dict[tuple[str, str], tuple[float, Sequence[Release]]] = {}
_lock = threading.Lock()


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


def kept_releases(client: Client, repository: str, now: Callable[[], float] = monotonic) -> Sequence[Release]:
    """The releases, kept for `KEPT_S` in this process; the last known ones, or none, where GitHub fails.

    Raises:
        RateLimitError: the limit is reached; asked again next time.
    """
    key = (client.api, repository.casefold())
    known = _kept.get(key)
    if known is not None and known[0] > now():
        return known[1]
    try:
        found: Sequence[Release] = read_releases(client, repository)
    except RateLimitError:
        raise
    except GitHubError:
        found = known[1] if known is not None else ()
    with _lock:
        _kept.pop(key, None)
        while len(_kept) >= _MOST_KEPT:
            del _kept[next(iter(_kept))]
        _kept[key] = (now() + KEPT_S, found)
    return found
