"""A repository's current configuration and other files on GitHub. Network I/O; reads only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from distriage.base.errors import ConfigError, NotFoundError, RefusedError
from distriage.base.texts import decoded
from distriage.github.client import Client
from distriage.model.taxonomy import Taxonomy
from distriage_serving.configuration.file import merge_configs, parse_document
from distriage_serving.configuration.lines import MAX_BYTES
from distriage_serving.configuration.model import CONFIG_PATH, RepositoryConfig

_RAW: Final = "application/vnd.github.raw+json"
_MAX_COMPARED: Final = 300  # files that GitHub lists of a comparison


@dataclass(frozen=True, slots=True)
class FoundConfig:
    """A configuration and the files that it comes from: none, the repository's own, the organization's, or both.

    Attributes:
        places: `OWNER/REPO/PATH` of each file.
    """

    config: RepositoryConfig
    places: tuple[str, ...]


def read_config(client: Client, repository: str, path: str, taxonomy: Taxonomy) -> RepositoryConfig:
    """The configuration alone; see `find_config`."""
    return find_config(client, repository, path, taxonomy).config


def find_config(client: Client, repository: str, path: str, taxonomy: Taxonomy) -> FoundConfig:
    """Read a repository's configuration on its default branch, merged over the organization's.

    The organization's is in the repository `.github` of the same owner.

    Args:
        path: In the repository; must exist unless it is the usual one.

    Raises:
        ConfigError: one of the two is not valid, or `path` is not a path.
        GitHubError: GitHub cannot be reached or refuses.
    """
    if path.startswith("/") or ".." in path.split("/") or not path.isprintable() or not path.strip():
        raise ConfigError(f"configuration path {path!r}: expected a path inside the repository, such as {CONFIG_PATH}")
    general_repository = f"{repository.split('/')[0]}/.github"
    own = read_file(client, repository, path)
    if own is None and path != CONFIG_PATH:
        raise ConfigError(
            f"{repository}: {path} is not on the default branch, "
            "or the token may not read it (permission `contents: read`)"
        )
    general = None
    if repository.casefold() != general_repository.casefold():
        general = read_file(client, general_repository, CONFIG_PATH)
    return _found((f"{repository}/{path}", own), (f"{general_repository}/{CONFIG_PATH}", general), taxonomy)


@lru_cache(maxsize=256)  # a triage of each issue reads it, and it seldom changes
def _found(own: tuple[str, str | None], general: tuple[str, str | None], taxonomy: Taxonomy) -> FoundConfig:
    """The configuration merged from both files, each with its text."""
    written = [{} if text is None else parse_document(text, place, taxonomy) for place, text in (own, general)]
    places = tuple(place for place, text in (own, general) if text is not None)
    return FoundConfig(merge_configs(written[1], written[0], taxonomy), places)


def read_file(client: Client, repository: str, path: str, commit: str | None = None) -> str | None:
    """Read a configuration file; None if absent.

    Args:
        commit: Default: the last one of the default branch.

    Raises:
        ConfigError: too large, or not UTF-8.
        GitHubError: GitHub cannot be reached or refuses.
    """
    content = _content(client, repository, path, commit)
    if content is None:
        return None
    place = f"{repository}/{path}"
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{place}: {len(content):,} bytes; expected at most {MAX_BYTES:,}")
    try:
        return decoded(content)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{place}: not valid UTF-8 at byte {error.start}") from None


def read_change(client: Client, repository: str, path: str, base: str, head: str) -> str | None:
    """Read a file at a branch's last commit; None if the branch does not change it, or removes it.

    Args:
        base, head: Commits: the last one of the other branch, and of this one. What the other one changed since this
            one left it does not count.

    Raises:
        ConfigError, GitHubError: as `read_file`.
    """
    compared = client.json(f"/repos/{repository}/compare/{base}...{head}?per_page=1")  # of the commits; all files
    files = [file for file in compared.get("files") or () if isinstance(file, dict)]
    is_listed = any(file.get("filename") == path for file in files)
    if not is_listed and len(files) < _MAX_COMPARED:
        return None
    text = read_file(client, repository, path, head)
    if is_listed or text is None:
        return text
    start = compared.get("merge_base_commit")
    left_at = start.get("sha") if isinstance(start, dict) else None
    return None if text == read_file(client, repository, path, str(left_at or base)) else text


def is_there(client: Client, repository: str, path: str) -> bool:
    """Whether the default branch has a file of that name.

    Raises:
        GitHubError: GitHub cannot be reached or refuses.
    """
    return _content(client, repository, path, None) is not None


def _content(client: Client, repository: str, path: str, commit: str | None) -> bytes | None:
    query = {"ref": commit} if commit else None
    try:
        return client.get(
            f"/repos/{repository}/contents/{quote(path)}", query, accept=_RAW, remember=commit is None
        ).body
    except NotFoundError:
        return None
    except RefusedError as error:
        if error.status != 403:
            raise
        raise RefusedError(
            f"{repository}/{path}: the token may not read it (permission `contents: read`): {error}", error.status
        ) from None
