"""What a repository is called today. Network I/O; reads only."""

from __future__ import annotations

from distriage.base.errors import NotFoundError
from distriage.base.references import REPOSITORY
from distriage.github.client import Client


def name_today(client: Client, repository: str) -> str | None:
    """The name of a repository that may have been renamed, as GitHub writes it; None if it is gone or hidden.

    Raises:
        GitHubError: GitHub is out of reach or refuses.
    """
    try:
        name = client.json(f"/repos/{repository}").get("full_name")
    except NotFoundError:
        return None
    return name if isinstance(name, str) and REPOSITORY.fullmatch(name) else None


def was_called(client: Client, former: str, repository: str) -> bool:
    """Whether a repository has, or once had, a name.

    Raises:
        GitHubError: GitHub is out of reach or refuses.
    """
    if former.casefold() == repository.casefold():
        return True
    return bool(REPOSITORY.fullmatch(former)) and (name_today(client, former) or "").casefold() == repository.casefold()
