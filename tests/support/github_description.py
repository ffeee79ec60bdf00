"""GitHub's own OpenAPI description, and Prism, which checks each request and answer between us and the double by it."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import local_http
from support.github import GitHub
from support.github_http import Request

WAIT_S = 180.0
DESCRIPTION = Path("@octokit", "openapi", "generated", "api.github.com.deref.json")
CONTENTS = "/repos/{owner}/{repo}/contents/"
RAW = "application/vnd.github.raw+json"
MANY_KINDS = 20
GRAPHQL = {
    "requestBody": {"content": {"application/json": {"schema": {"type": "object", "required": ["query"]}}}},
    "responses": {
        "200": {
            "description": "",
            "content": {"application/json": {"schema": {"type": "object", "required": ["data"]}}},
        }
    },
}


def cut(description: Path, operations: Iterable[str]) -> dict[str, Any]:
    """The part of the description with these operations, such as `GET /user`; the whole takes gigabytes and minutes.

    It differs from GitHub's where Prism would otherwise check nothing:
    - A template's parameter ends at a slash, so a file's folder is part of the path: `GET .../contents/.github/{path}`.
    - GitHub says only in prose that a file can be had raw; here it is an answer (JSON: Prism parses what ends in
      +json).
    - Ajv refuses `nullable` beside `anyOf` without a `type`, and Prism then lets everything pass.
    - An issue's state may be an object too, as a type may: only the answer says so. GitHub's own MCP server sends it
      with `state_reason` and `duplicate_issue_id` beside it, where the description has them
      (github/github-mcp-server#2802).
    - That a list has not changed since it was asked for last (304) is said only in prose.
    - Two kinds of events in a timeline, comments on commits, require no field, so anything would be one: left out.
    - It is of the REST API alone: for GraphQL, only that there are a query and data.
    """
    whole = json.loads(description.read_text(encoding="utf-8"))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        method, path = operation.split(" ")
        if path == "/graphql":
            paths[path] = {"post": GRAPHQL}
            continue
        known = f"{CONTENTS}{{path}}" if path.startswith(CONTENTS) else path
        paths.setdefault(path, {})[method.lower()] = deepcopy(whole["paths"][known][method.lower()])
        edit = paths[path].get("patch", {}).get("requestBody", {}).get("content", {}).get("application/json", {})
        if "state" in (asked := edit.get("schema", {}).get("properties", {})) and path.endswith("{issue_number}"):
            asked["state"] = {"oneOf": [asked["state"], {**asked["type"]["oneOf"][1], "required": ["value"]}]}
            asked["state"]["oneOf"][1]["additionalProperties"] = False
        if method == "GET":
            paths[path]["get"]["responses"].setdefault("304", {"description": "Not modified"})
        if known != path:
            content = paths[path][method.lower()]["responses"]["200"]["content"]
            listing = next(kind for kind in content["application/json"]["schema"]["oneOf"] if kind["type"] == "array")
            paths[path][method.lower()]["responses"]["200"]["content"] = {
                RAW: {"schema": {}},
                "application/json": {"schema": listing},
            }
    return {"openapi": whole["openapi"], "info": whole["info"], "servers": whole["servers"], "paths": _checkable(paths)}


def _checkable(node: Any) -> Any:
    if isinstance(node, list):
        return [_checkable(item) for item in node]
    if not isinstance(node, dict):
        return node
    rest = {key: _checkable(value) for key, value in node.items()}
    if len(rest.get("anyOf", ())) > MANY_KINDS:
        rest["anyOf"] = [kind for kind in rest["anyOf"] if "required" in kind]
    if rest.get("nullable") is True and "type" not in rest:
        del rest["nullable"]
        return {"anyOf": [rest, {"enum": [None]}]}
    return rest


def template_of(request: Request, operations: Iterable[str]) -> str:
    """The operation that a request belongs to; the request itself if there is none."""
    line = f"{request.method} {request.path.partition('?')[0]}"
    for operation in sorted(operations, key=lambda known: known.count("{")):
        if re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(operation)), line):
            return operation
    return line


@dataclass
class Prism:
    """A running proxy.

    Attributes:
        url: In place of the double's own.
        log: What it said.
    """

    url: str
    log: Path
    _read: int = 0
    _marks: int = 0

    def violations(self) -> list[str]:
        """What was not as described since the last call; each with the request that it belongs to."""
        self._marks += 1
        mark = f"/mark/{self._marks}"
        local_http.get(self.url + mark)  # the log is written in order, but later than the answer
        end_s = time.monotonic() + WAIT_S
        while not (said := self._said_before(mark)):
            assert time.monotonic() < end_s, "Prism does not log"
            time.sleep(0.01)
        found, request = [], ""
        for line in said.splitlines():
            if arrived := re.search(r"\[HTTP SERVER\] (\w+ \S+)", line):
                request = arrived[1]
            if request and (wrong := re.search(r"(?:Violation: |terminated with error: ).*", line)):
                found.append(f"{request}: {wrong[0]}")
        return found

    def _said_before(self, mark: str) -> str:
        said = self.log.read_bytes()[self._read :].decode(errors="replace")
        before, found, _ = said.partition(f"[HTTP SERVER] get {mark} ")
        if not found:
            return ""
        self._read += len((before + found).encode())
        return before


@contextmanager
def proxied(node_modules: Path, description: Mapping[str, Any], double: GitHub, folder: Path) -> Iterator[Prism]:
    """Prism in front of a double."""
    document, log = folder / "github.json", folder / "prism.log"
    document.write_text(json.dumps(description), encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        "node",
        str(node_modules / ".bin" / "prism"),
        "proxy",
        str(document),
        double.url,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
    try:
        end_s = time.monotonic() + WAIT_S
        while "Prism is listening" not in log.read_text(encoding="utf-8"):
            assert process.poll() is None and time.monotonic() < end_s, log.read_text(encoding="utf-8")[-2000:]
            time.sleep(0.05)
        yield Prism(f"http://127.0.0.1:{port}", log)
    finally:
        process.kill()
        process.wait()
