"""A repository's releases, asked for once a day. Network I/O; reads only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final

from distriage.base.errors import GitHubError
from distriage.github.client import Client
from distriage.github.releases import Release, read_releases
from distriage.signs.table import KEPT_S

_MOST_KEPT: Final = 1000
_kept: dict[tuple[str, str], tuple[float, Sequence[Release]]] = {}
_lock = threading.Lock()


def kept_releases(client: Client, repository: str, now: Callable[[], float] = monotonic) -> Sequence[Release]:
    """The releases, kept for `KEPT_S` in this process; the last known ones, or none, where GitHub fails."""
    key = (client.api, repository.casefold())
    with _lock:  # of several threads, one asks
        known = _kept.get(key)
        if known is not None and known[0] > now():
            return known[1]
        try:
            found: Sequence[Release] = read_releases(client, repository)
        except GitHubError:
            found = known[1] if known is not None else ()
        _kept.pop(key, None)
        while len(_kept) >= _MOST_KEPT:
            del _kept[next(iter(_kept))]
        _kept[key] = (now() + KEPT_S, found)
    return found
