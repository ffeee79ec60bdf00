"""The configuration and the forms that a run reads, in one GraphQL request; REST takes one a file. Network I/O; reads
only.
"""

from __future__ import annotations

from collections.abc import Mapping
from posixpath import basename, dirname
from typing import Any, Final
from urllib.parse import quote

from distriage.base.errors import GitHubError, RateLimitError
from distriage.github.answer import Ok
from distriage.github.client import GRAPHQL, Client
from distriage.github.forms import FOLDER
from distriage_serving.configuration.model import CONFIG_PATH, MISNAMED

_FILES: Final = frozenset({0o100644, 0o100755})  # REST follows symbolic links, whose text here is their target
QUERY: Final = f"""
query($owner: String!, $name: String!, $folder: String!, $config: String!) {{
  own: repository(owner: $owner, name: $name) {{
    folder: object(expression: $folder) {{ ...names }}
    config: object(expression: $config) {{ ...text }}
    forms: object(expression: "HEAD:{FOLDER}") {{ ...files }}
  }}
  general: repository(owner: $owner, name: ".github") {{
    folder: object(expression: "HEAD:{dirname(CONFIG_PATH)}") {{ ...names }}
    config: object(expression: "HEAD:{CONFIG_PATH}") {{ ...text }}
    forms: object(expression: "HEAD:{FOLDER}") {{ ...files }}
  }}
}}
fragment names on Tree {{ entries {{ name mode }} }}
fragment text on Blob {{ text isTruncated }}
fragment files on Tree {{ entries {{ name mode object {{ ...text }} }} }}
"""


def read_ahead(client: Client, repository: str, path: str) -> str | None:
    """Read a repository's configuration and forms, and its owner's, for later requests of the client.

    Args:
        path: The configuration's in the repository.

    Returns:
        Why not all could be read, if so: those files are still asked for one by one.

    Raises:
        RateLimitError: the limit, which is REST's too, ends later than the client may wait.
    """
    owner, _, name = repository.partition("/")
    variables = {"owner": owner, "name": name, "folder": f"HEAD:{dirname(path)}", "config": f"HEAD:{path}"}
    try:
        answer = client.write("POST", GRAPHQL, {"query": QUERY, "variables": variables}, repeatable=True)
    except RateLimitError:
        raise
    except GitHubError as error:  # a proxy may pass REST alone
        return str(error)
    answer = answer if isinstance(answer, dict) else {}
    data, refused = answer.get("data") or {}, None
    for alias, place, file in (("own", repository, path), ("general", f"{owner}/.github", CONFIG_PATH)):
        errors = [error for error in answer.get("errors") or () if (error.get("path") or [alias])[0] == alias]
        if alias in data and all(error.get("type") == "NOT_FOUND" for error in errors):
            _keep(client, f"/repos/{place}/contents/", file, data[alias] or {})
        else:
            refused = f"{place}: {errors[0].get('message') if errors else 'GraphQL does not answer'}"
    if "own" in data and (data["own"] or {}).get("folder", "") is None:  # perhaps hidden from the token: REST says why
        client.ahead.pop(f"/repos/{repository}/contents/{quote(path)}", None)
    return refused


def _keep(client: Client, place: str, path: str, found: Mapping[str, Any]) -> None:
    """Keep GitHub's answer about one repository's files."""
    if (folder := _entries(found.get("folder"))) is not None:
        if basename(path) not in folder:
            client.ahead[place + quote(path)] = None
        elif (text := _text(folder[basename(path)], found.get("config"))) is not None:
            client.ahead[place + quote(path)] = text
        if dirname(path) == dirname(MISNAMED) and basename(MISNAMED) not in folder:
            client.ahead[place + quote(MISNAMED)] = None
    if (forms := _entries(found.get("forms"))) is not None:
        client.ahead[place + FOLDER] = Ok([{"name": name} for name in forms], b"") if forms else None
        for name, entry in forms.items():
            if (text := _text(entry, entry.get("object"))) is not None:
                client.ahead[place + quote(f"{FOLDER}/{name}")] = text


def _entries(folder: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]] | None:
    """The files of a folder by their names, none of one that is absent; None if it is not a folder, or not listed."""
    if folder is None:
        return {}
    entries = folder.get("entries")  # null is allowed by GitHub's schema
    return None if entries is None else {entry["name"]: entry for entry in entries}


def _text(entry: Mapping[str, Any], file: Mapping[str, Any] | None) -> Ok | None:
    """A file as REST would give it; None if GraphQL has not the whole of it."""
    text, is_cut = (file or {}).get("text"), (file or {}).get("isTruncated")
    return Ok(None, text.encode()) if isinstance(text, str) and not is_cut and entry.get("mode") in _FILES else None
