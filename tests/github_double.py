"""A GitHub that remembers: labels, comments, timelines, files; it can fail in each of the ways that GitHub does. Real HTTP on a local port."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import struct
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import github_shapes
from conftest import FakeGitHub, Fault, Request, _message

BOT = github_shapes.account("github-actions[bot]", 41898282, "Bot")
PERSON = github_shapes.account("maintainer", 7)
WRITES = frozenset({"POST", "PATCH", "PUT", "DELETE"})


@dataclass
class Trouble:
    """What goes wrong with the next requests that match.

    Attributes:
        request: Regular expression over `METHOD /path`.
        fault: The answer instead; None: the right one.
        after: The request is carried out first, and its answer lost.
        reset: The connection is reset instead of an answer.
        slow_s: Time before the answer.
    """

    request: str
    fault: Fault | None = None
    after: bool = False
    reset: bool = False
    slow_s: float = 0.0
    times: int = 1


@dataclass(frozen=True)
class Written:
    """A write that arrived."""

    method: str
    path: str
    body: Any = field(hash=False)


class GitHubDouble(FakeGitHub):
    """`FakeGitHub` with memory.

    Attributes:
        repository_labels: `owner/repo` -> name -> label.
        timelines: `owner/repo#1` -> events, comments among them.
        files: `owner/repo/path` -> content.
        written: All writes that arrived, also those that failed.
        troubles: What goes wrong next.
        page_items: Largest page.
        bot: Whom the token belongs to.
    """

    def __init__(self) -> None:
        super().__init__()
        self.repository_labels: dict[str, dict[str, dict[str, Any]]] = {}
        self.timelines: dict[str, list[dict[str, Any]]] = {}
        self.files: dict[str, str] = {}
        self.written: list[Written] = []
        self.troubles: list[Trouble] = []
        self.page_items = 100
        self.bot = BOT
        self._next_id = 100

    # ------------------------------------------------------------ what people do

    def open(self, reference: str, title: str, body: str = "", labels: tuple[str, ...] = (), **changes: Any) -> dict[str, Any]:
        """A new issue, its labels set by a person."""
        issue = self.add(reference, title, body, **changes)
        issue["labels"] = []
        for name in labels:
            self.label(reference, name, PERSON)
        return issue

    def define(self, repository: str, *names: str) -> None:
        """Labels of a repository."""
        for name in names:
            self.repository_labels.setdefault(repository, {})[name.casefold()] = github_shapes.label(repository, name)

    def label(self, reference: str, name: str, actor: dict[str, Any] | None) -> None:
        """Put a label on an issue; without `actor`, by an account that is deleted since."""
        repository = reference.partition("#")[0]
        if name.casefold() not in self.repository_labels.get(repository, {}):
            self.define(repository, name)
        if name.casefold() not in map(str.casefold, self.labels(reference)):
            self.issues[reference]["labels"].append(self.repository_labels[repository][name.casefold()])
            self._happened(reference, github_shapes.label_event(repository, self._new_id(), "labeled", actor, name))

    def unlabel(self, reference: str, name: str, actor: dict[str, Any] | None) -> None:
        """Take a label off."""
        self.issues[reference]["labels"] = [label for label in self.issues[reference]["labels"] if label["name"] != name]
        self._happened(reference, github_shapes.label_event(reference.partition("#")[0], self._new_id(), "unlabeled", actor, name))

    def comment(self, reference: str, body: str, actor: dict[str, Any]) -> dict[str, Any]:
        """Write a comment."""
        repository, _, number = reference.partition("#")
        return self._happened(reference, github_shapes.comment(repository, int(number), self._new_id(), actor, body))

    def labels(self, reference: str) -> list[str]:
        """Names of an issue's labels."""
        return [label["name"] for label in self.issues[reference]["labels"]]

    def comments(self, reference: str) -> list[str]:
        """Texts of an issue's comments."""
        return [event["body"] for event in self.timelines.get(reference, []) if event["event"] == "commented"]

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id

    def _happened(self, reference: str, event: dict[str, Any]) -> dict[str, Any]:
        event["created_at"] = (datetime.fromisoformat(github_shapes.TIME) + timedelta(seconds=event["id"])).isoformat().replace("+00:00", "Z")
        self.timelines.setdefault(reference, []).append(event)
        return event

    # ------------------------------------------------------------ what goes wrong

    @staticmethod
    def locked() -> Fault:
        """The conversation is locked."""
        return Fault(403, _message("Unable to create comment because issue is locked.", 403), {"x-ratelimit-remaining": "4000"})

    @staticmethod
    def integration() -> Fault:
        """The token lacks a permission."""
        return Fault(403, _message("Resource not accessible by integration", 403), {"x-ratelimit-remaining": "4000"})

    @staticmethod
    def status(code: int) -> Fault:
        """Any refusal."""
        return Fault(code, _message({404: "Not Found", 410: "This issue was deleted", 422: "Validation Failed"}.get(code, "No"), code))

    # ------------------------------------------------------------ HTTP

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = Request(self.command, self.path, {name.lower(): value for name, value in self.headers.items()})
                double.requests.append(request)
                if request.method in WRITES:
                    double.written.append(Written(request.method, request.path, json.loads(body or b"null")))
                trouble = double._trouble(request)
                if trouble is None:
                    answer = double._reply(request, body)
                else:
                    if trouble.after or (trouble.fault is None and not trouble.reset):
                        answer = double._reply(request, body)
                    if trouble.fault is not None:
                        answer = trouble.fault
                    time.sleep(trouble.slow_s)
                    if trouble.reset:
                        # SO_LINGER of no time: the kernel answers with RST in place of an orderly end.
                        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        self.connection.close()
                        return
                content = answer.body.encode()
                try:
                    self.send_response(answer.status)
                    for name, value in {"Content-Type": "application/json; charset=utf-8", "Content-Length": str(len(content)), **answer.headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:  # the client gave up on a slow answer
                    pass

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve  # noqa: N815

            def finish(self) -> None:
                with contextlib.suppress(OSError, ValueError):
                    super().finish()

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def _trouble(self, request: Request) -> Trouble | None:
        for trouble in self.troubles:
            if trouble.times > 0 and re.search(trouble.request, f"{request.method} {request.path}"):
                trouble.times -= 1
                return trouble
        return None

    def _reply(self, request: Request, body: bytes) -> Fault:
        parts = urlsplit(request.path)
        steps = [unquote(step) for step in parts.path.split("/")[1:]]
        if not self._is_known(request):
            return self.bad_credentials()
        if steps == ["user"]:
            return self.integration()
        if len(steps) < 4 or steps[0] != "repos":
            return self.status(404)
        repository, kind = f"{steps[1]}/{steps[2]}", steps[3]
        data = json.loads(body) if body else {}
        page = int(parse_qs(parts.query).get("page", ["1"])[0])
        if kind == "contents" and request.method == "GET":
            content = self.files.get(f"{repository}/{'/'.join(steps[4:])}")
            return self.status(404) if content is None else Fault(200, content, {"Content-Type": "application/vnd.github.raw+json; charset=utf-8"})
        if kind == "labels":
            if request.method == "GET":
                return self._page(list(self.repository_labels.get(repository, {}).values()), page, parts.path)
            return self._create_label(repository, data)
        if steps[3:] == ["issues"]:
            return self._list(repository, parse_qs(parts.query), parts.path)
        if kind == "issues" and steps[4] == "comments" and request.method == "PATCH":
            return self._edit_comment(repository, int(steps[5]), data)
        if kind != "issues":
            return self.status(404)
        if len(steps) == 5:
            return self._answer(request)
        if request.method == "DELETE" and steps[5:6] == ["labels"]:
            return self._take_off(f"{repository}#{steps[4]}", steps[6])
        return self._issue(f"{repository}#{steps[4]}", steps[5], request.method, data, page, parts.path)

    def _list(self, repository: str, query: dict[str, list[str]], path: str) -> Fault:
        """Issues and pull requests, paged by a cursor as GitHub pages long lists."""
        asked = {"state": "open", "direction": "desc", "since": "", "per_page": "30", "after": "0", **{key: values[0] for key, values in query.items()}}
        found = [
            issue
            for reference, issue in self.issues.items()
            if reference.startswith(f"{repository}#") and asked["state"] in {issue["state"], "all"} and issue["updated_at"] >= asked["since"]
        ]
        found.sort(key=lambda issue: (issue["created_at"], issue["number"]), reverse=asked["direction"] == "desc")
        start = int(asked["after"])
        end = start + min(int(asked["per_page"]), self.page_items)
        link = f'<{self.url}{path}?{urlencode({**asked, "after": end})}>; rel="next"'
        return Fault(200, json.dumps(found[start:end]), {"Link": link} if end < len(found) else {})

    def _issue(self, reference: str, what: str, method: str, data: dict[str, Any], page: int, path: str) -> Fault:
        if reference in self.gone:
            return self.status(410)
        if reference in self.moved:
            return Fault(301, _message("Moved Permanently", 301), {"Location": f"{self.url}/elsewhere"})
        if reference not in self.issues:
            return self.status(404)
        if (method, what) == ("GET", "timeline"):
            return self._page(self.timelines.get(reference, []), page, path)
        if (method, what) == ("GET", "comments"):
            return self._page([event for event in self.timelines.get(reference, []) if event["event"] == "commented"], page, path)
        if (method, what) == ("POST", "labels"):
            for name in data["labels"]:
                self.label(reference, name, self.bot)
            return Fault(200, json.dumps(self.issues[reference]["labels"]))
        if (method, what) == ("POST", "comments"):
            if self.issues[reference]["locked"]:
                return self.locked()
            return Fault(201, json.dumps(self.comment(reference, data["body"], self.bot)))
        return self.status(404)

    def _take_off(self, reference: str, name: str) -> Fault:
        if reference not in self.issues or name not in self.labels(reference):
            return self.status(404)
        self.unlabel(reference, name, self.bot)
        return Fault(200, json.dumps(self.issues[reference]["labels"]))

    def _create_label(self, repository: str, data: dict[str, Any]) -> Fault:
        labels = self.repository_labels.setdefault(repository, {})
        if data["name"].casefold() in labels:
            errors = [{"resource": "Label", "code": "already_exists", "field": "name"}]
            return Fault(422, json.dumps({"message": "Validation Failed", "errors": errors, "documentation_url": "https://docs.github.com/rest"}))
        assert re.fullmatch("[0-9a-f]{6}", data["color"]) and len(data["name"]) <= 50 and len(data["description"]) <= 100
        labels[data["name"].casefold()] = github_shapes.label(repository, **data)
        return Fault(201, json.dumps(labels[data["name"].casefold()]))

    def _edit_comment(self, repository: str, number: int, data: dict[str, Any]) -> Fault:
        for reference, events in self.timelines.items():
            for event in events:
                if reference.startswith(f"{repository}#") and event["id"] == number:
                    event["body"] = data["body"]
                    return Fault(200, json.dumps(event))
        return self.status(404)

    def _page(self, items: list[dict[str, Any]], page: int, path: str) -> Fault:
        part = items[(page - 1) * self.page_items : page * self.page_items]
        more = page * self.page_items < len(items)
        return Fault(200, json.dumps(part), {"Link": f'<{self.url}{path}?page={page + 1}>; rel="next"'} if more else {})
