"""What the double of GitHub answers to GraphQL: whose the token is, and files.

`github_graphql.mjs` executes the same queries by GitHub's own schema; a test compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distriage_serving.action.files import QUERY

from support.faults import Fault
from support.github_http import Request
from support.github_routes import found, route

if TYPE_CHECKING:
    from support.github import GitHub

FORMS, CONFIG = ".github/ISSUE_TEMPLATE", ".github/distriage.yml"
FOLDER, FILE, LINK = 0o040000, 0o100644, 0o120000
TARGET = "../elsewhere.yml"  # the text of a symbolic link


@route("POST /graphql")
def _graphql(github: GitHub, request: Request) -> Fault:
    if request.data == {"query": "{viewer{login}}"}:
        return found({"data": {"viewer": {"login": github.bot["login"]}}})
    assert request.data["query"] == QUERY
    return found(answer(github.files, github.links, **request.data["variables"]))


def answer(
    files: dict[str, str], links: set[str], *, owner: str, name: str, folder: str, config: str
) -> dict[str, Any]:
    """The files of a repository and of its owner's `.github`, which may be absent."""
    data = {"own": _files(files, links, f"{owner}/{name}", folder.removeprefix("HEAD:"), config.removeprefix("HEAD:"))}
    general = f"{owner}/.github"
    if any(file.startswith(f"{general}/") for file in files):
        return {"data": {**data, "general": _files(files, links, general, ".github", CONFIG)}}
    why = f"Could not resolve to a Repository with the name '{general}'."
    error = {"type": "NOT_FOUND", "path": ["general"], "locations": [{"line": 8, "column": 3}], "message": why}
    return {"data": {**data, "general": None}, "errors": [error]}


def _files(files: dict[str, str], links: set[str], repository: str, folder: str, config: str) -> dict[str, Any]:
    def entries(folder: str) -> list[str]:
        begin = f"{repository}/{folder}/" if folder else f"{repository}/"
        return sorted({file.removeprefix(begin).partition("/")[0] for file in files if file.startswith(begin)})

    def mode(path: str) -> int:
        return LINK if f"{repository}/{path}" in links else FILE if f"{repository}/{path}" in files else FOLDER

    def text(path: str) -> dict[str, Any] | None:
        place = f"{repository}/{path}"
        known = TARGET if place in links else files.get(place)
        if known is None:
            return {} if entries(path) else None
        is_binary = "\x00" in known
        return {"text": None if is_binary else known[:512_000], "isTruncated": len(known) > 512_000}

    def tree(path: str, *, texts: bool) -> dict[str, Any] | None:
        if f"{repository}/{path}" in files:
            return {}
        within = {name: f"{path}/{name}".lstrip("/") for name in entries(path)}
        listed = [
            {"name": name, "mode": mode(file)} | ({"object": text(file)} if texts else {})
            for name, file in within.items()
        ]
        return {"entries": listed} if listed else None

    return {"folder": tree(folder, texts=False), "config": text(config), "forms": tree(FORMS, texts=True)}
