"""A repository's configuration and other files, as they are on GitHub. Network I/O; reads only."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from distriage.errors import ConfigError, NotFoundError
from distriage.github import Client
from distriage.taxonomy import Taxonomy
from distriage_serving.planning.config_file import merge_configs, parse_document
from distriage_serving.planning.configuration import CONFIG_PATH, RepositoryConfig
from distriage_serving.planning.yaml_lines import MAX_BYTES

_RAW: Final = "application/vnd.github.raw+json"


def read_config(client: Client, repository: str, path: str, taxonomy: Taxonomy) -> RepositoryConfig:
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
    owner = repository.split("/")[0]
    own = _read_document(client, repository, path, taxonomy)
    if own is None and path != CONFIG_PATH:
        raise ConfigError(
            f"{repository}: {path} is not on the default branch, "
            "or the token may not read it (permission `contents: read`)"
        )
    general = (
        _read_document(client, f"{owner}/.github", CONFIG_PATH, taxonomy)
        if repository.casefold() != f"{owner}/.github".casefold()
        else None
    )
    return merge_configs(general or {}, own or {}, taxonomy)


def _read_document(client: Client, repository: str, path: str, taxonomy: Taxonomy) -> dict[str, Any] | None:
    text = read_file(client, repository, path)
    return parse_document(text, f"{repository}/{path}", taxonomy) if text is not None else None


def read_file(client: Client, repository: str, path: str, commit: str | None = None) -> str | None:
    """Read a configuration file; None if there is no such file.

    Args:
        commit: Default: the last one of the default branch.

    Raises:
        ConfigError: it is too large, or not UTF-8.
        GitHubError: GitHub cannot be reached or refuses.
    """
    try:
        content = client.get(
            f"/repos/{repository}/contents/{quote(path)}",
            {"ref": commit} if commit else None,
            accept=_RAW,
            remember=commit is None,
        ).body
    except NotFoundError:
        return None
    place = f"{repository}/{path}"
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{place}: {len(content):,} bytes; expected at most {MAX_BYTES:,}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{place}: not valid UTF-8 at byte {error.start}") from None
