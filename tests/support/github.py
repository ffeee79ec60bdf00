"""A GitHub that remembers: issues, labels, comments, timelines, files, tokens of an App. Real HTTP on a local port."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from support import (
    faults,
    github_app_routes,  # noqa: F401  # adds its routes
    github_graphql,  # noqa: F401  # likewise
    github_routes,
    github_shapes,
    github_suggestion_routes,  # noqa: F401  # likewise
)
from support.faults import Fault, Trouble
from support.github_http import WRITES, LocalServer, Request

BOT = github_shapes.account("github-actions[bot]", 41898282, "Bot")
PERSON = github_shapes.account("maintainer", 7)
TOKEN = "ghp_valid0000000000000000000000000000000"
CLOSED_PORT = "http://127.0.0.1:1"
INSTALLATION = 1
FOREVER = float("inf")


@dataclass(frozen=True)
class Written:
    """A write that arrived."""

    method: str
    path: str
    body: Any = field(hash=False)


class GitHub:
    """The part of GitHub's REST API that is called here; answers in the shapes that GitHub gives.

    Args of the constructor:
        app: It is an App that speaks to it, whose tokens `POST .../access_tokens` makes; else `TOKEN` is valid.

    Attributes:
        url: For GITHUB_API_URL.
        bot: Whom the token belongs to.
        tokens: Valid ones -> when they end. Without any, what is not `private` can be read.
        issues: `owner/repo#12` -> GitHub's JSON; `add` and `open` make one.
        gone, private: Deleted issues, 410; issues that are shown only with a token.
        moved: Issue -> where it was transferred to, 301.
        issue_types: Of the organization.
        issue_fields: Of the organization, as GitHub gives them.
        suggesting: Repositories whose issues take suggestions.
        takes_reasons: A label may be an object; else that is refused. Without `suggesting`, such a label is set.
        suggestions: `owner/repo#1` -> suggestions in GitHub's form.
        accounts: That are known by their ids.
        approver: Whom the timeline shows for an approved label; None: the person.
        repository_labels: `owner/repo` -> name in lower case -> label.
        timelines: `owner/repo#1` -> events, comments among them.
        releases: `owner/repo` -> releases in GitHub's form, the newest first.
        files: `owner/repo/path` -> content, of `links` that of their targets.
        versions: Commit -> text of `.github/distriage.yml`.
        left_at: A branch's last commit -> the one at which it left the other branch, if not the other's last one.
        also_changed: Files that each branch changes.
        requests, written: All that arrived, also those that failed.
        renamed: Old name of a repository in lower case -> new one.
        troubles: What goes wrong next.
        misfortune: What goes wrong beside `troubles`; None: nothing.
        page_items: Largest page.
        behind: Path of its REST API, `/api/v3` of a GitHub Enterprise Server.
        installations: Ids of those that are there and not suspended.
        repositories: That the App is on, beside those that have issues.
        without_issues: Repositories whose issues are switched off.
        roles: Login -> `role_name` in every repository.
        reactions: Id of a comment -> what the bot reacted with.
        check_runs: Commit -> check runs.
        hook_deliveries: What `GET /app/hook/deliveries` lists, the latest first.
        redelivered: Ids of deliveries that were asked for again.
    """

    token = TOKEN

    def __init__(self, *, app: bool = False) -> None:
        self.bot = github_shapes.account("distriage[bot]", 99, "Bot") if app else BOT
        self.tokens: dict[str, float] = {} if app else {TOKEN: FOREVER}
        self.issues: dict[str, dict[str, Any]] = {}
        self.gone: set[str] = set()
        self.private: set[str] = set()
        self.moved: dict[str, str] = {}
        self.issue_types = {"Bug", "Feature", "Task"}
        self.issue_fields: list[dict[str, Any]] = []
        self.suggesting: set[str] = set()
        self.takes_reasons = True
        self.suggestions: dict[str, list[dict[str, Any]]] = {}
        self.accounts = [PERSON]
        self.approver: dict[str, Any] | None = None
        self.releases: dict[str, list[dict[str, Any]]] = {}
        self.repository_labels: dict[str, dict[str, dict[str, Any]]] = {}
        self.timelines: dict[str, list[dict[str, Any]]] = {}
        self.files: dict[str, str] = {}
        self.links: set[str] = set()
        self.versions: dict[str, str] = {}
        self.left_at: dict[str, str] = {}
        self.also_changed = ["README.md"]
        self.requests: list[Request] = []
        self.written: list[Written] = []
        self.troubles: list[Trouble] = []
        self.renamed: dict[str, str] = {}
        self.misfortune: Callable[[Request], Trouble | None] | None = None
        self.page_items = 100
        self.behind = ""
        self.installations = {INSTALLATION}
        self.repositories: set[str] = set()
        self.without_issues: set[str] = set()
        self.roles: dict[str, str] = {"maintainer": "maintain"}
        self.reactions: dict[int, list[str]] = {}
        self.check_runs: dict[str, list[dict[str, Any]]] = {}
        self.hook_deliveries: list[dict[str, Any]] = []
        self.redelivered: list[int] = []
        self._ids = itertools.count(101)
        self._payloads = itertools.count(1)
        self._server = LocalServer(self._reply, self._trouble)
        self.url = self._server.url

    def close(self) -> None:
        """Stop listening."""
        self._server.close()

    @property
    def connections(self) -> int:
        """How many were opened."""
        return self._server.connections

    # ------------------------------------------------------------ what people do

    def add(self, reference: str, title: str, body: str | None = "", **changes: Any) -> dict[str, Any]:
        """Store an issue with the label `bug`, and return it."""
        repository, _, number = reference.partition("#")
        self.issues[reference] = {**github_shapes.issue(repository, int(number), title, body, ("bug",)), **changes}
        return self.issues[reference]

    def open(
        self, reference: str, title: str, body: str = "", labels: tuple[str, ...] = (), **changes: Any
    ) -> dict[str, Any]:
        """A new issue, its labels set by a person."""
        issue = self.add(reference, title, body, **changes)
        issue["labels"] = []
        for name in labels:
            self.label(reference, name, PERSON)
        return issue

    def define(self, repository: str, *names: str) -> None:
        """Labels of a repository."""
        for name in names:
            self.create_label(repository, name)

    def create_label(self, repository: str, name: str, **more: str) -> dict[str, Any]:
        """A new label of a repository."""
        created = github_shapes.label(repository, name, **more) | {"id": next(self._ids)}
        self.repository_labels.setdefault(repository, {})[name.casefold()] = created
        return created

    def delete_label(self, repository: str, name: str, actor: dict[str, Any]) -> None:
        """Delete a label from a repository, and with it from its issues."""
        for reference in self.issues:
            if reference.startswith(f"{repository}#") and name in self.labels(reference):
                self.unlabel(reference, name, actor)
        del self.repository_labels[repository][name.casefold()]

    def happened(self, reference: str, kind: str, actor: dict[str, Any]) -> None:
        """Anything else that is in an issue's timeline."""
        repository = reference.partition("#")[0]
        self._happened(reference, github_shapes.event(repository, next(self._ids), kind, actor))

    def rename_label(self, repository: str, old: str, new: str) -> None:
        """Give a label another name; what happened before keeps the old one."""
        labels = self.repository_labels[repository]
        labels[new.casefold()] = labels.pop(old.casefold())
        labels[new.casefold()]["name"] = new

    def label(self, reference: str, name: str, actor: dict[str, Any] | None) -> None:
        """Put a label on an issue; without `actor`, by an account that is deleted since."""
        repository = reference.partition("#")[0]
        if name.casefold() not in self.repository_labels.get(repository, {}):
            self.define(repository, name)
        if name.casefold() not in map(str.casefold, self.labels(reference)):
            self.issues[reference]["labels"].append(self.repository_labels[repository][name.casefold()])
            self._happened(reference, github_shapes.label_event(repository, next(self._ids), "labeled", actor, name))

    def unlabel(self, reference: str, name: str, actor: dict[str, Any] | None) -> None:
        """Take a label off."""
        issue, repository = self.issues[reference], reference.partition("#")[0]
        issue["labels"] = [label for label in issue["labels"] if label["name"] != name]
        self._happened(reference, github_shapes.label_event(repository, next(self._ids), "unlabeled", actor, name))

    def give_type(self, reference: str, name: str | None, actor: dict[str, Any]) -> None:
        """Give an issue a type of the organization, or take its type off."""
        before = (self.issues[reference].get("type") or {}).get("name", "")
        self.issues[reference]["type"] = github_shapes.issue_type(name) if name is not None else None
        kind = "issue_type_added" if name is not None else "issue_type_removed"
        repository = reference.partition("#")[0]
        self._happened(reference, github_shapes.type_event(repository, next(self._ids), kind, actor, name or before))

    def next_id(self) -> int:
        """Of anything new."""
        return next(self._ids)

    def pending(self, reference: str) -> list[dict[str, Any]]:
        """An issue's pending suggestions."""
        return [one for one in self.suggestions.get(reference, []) if one["state"] == "pending"]

    def decide(self, reference: str, suggestion: int, actor: dict[str, Any], *, approve: bool) -> None:
        """Approve or dismiss a suggestion; a dismissal leaves no other trace."""
        one = next(one for one in self.suggestions[reference] if one["id"] == suggestion)
        became = "approved" if approve else "dismissed"
        one |= {"resolved_by": actor["id"], "state": became, "updated_at": self._time(self.next_id())}
        if not approve:
            return
        shown, repository = self.approver or actor, reference.partition("#")[0]
        match one["action"]:
            case "add_label":
                labels = self.repository_labels[repository].values()
                name = next(label["name"] for label in labels if label["id"] == one["target_id"])
                self.label(reference, name, shown)
                one["issue_event_id"] = self.timelines[reference][-1]["id"]
            case "set_type":
                self.give_type(reference, one["target_value"], shown)
            case "add_field":
                self.fill_in(reference, one["target_id"], one["target_value"])
            case "close_issue":
                self.edit(reference, {"state": "closed", "state_reason": "duplicate"}, shown)

    def fill_in(self, reference: str, field: int, option: str) -> None:
        """Give an issue field a value."""
        known = next(one for one in self.issue_fields if one["id"] == field)
        values = self.issues[reference].setdefault("issue_field_values", [])
        values[:] = [one for one in values if one["issue_field_id"] != field]
        values.append(github_shapes.field_value(known, option))

    def edit(self, reference: str, change: dict[str, Any], actor: dict[str, Any] | None = None) -> None:
        """What `actor`, else the bot, asks for; a type that the organization lacks is dropped in silence."""
        if change.get("type") in self.issue_types:
            self.give_type(reference, change["type"], actor or self.bot)
        if "state" in change:
            kind = "reopened" if change["state"] == "open" else "closed"
            if change["state"] != self.issues[reference]["state"]:
                repository = reference.partition("#")[0]
                happened = github_shapes.event(repository, next(self._ids), kind, actor or self.bot)
                self._happened(reference, happened)
            reason = kind if kind == "reopened" else change["state_reason"]
            self.issues[reference] |= {"state": change["state"], "state_reason": reason}

    def rename(self, old: str, new: str) -> None:
        """Give a repository another name or owner; what asks for the old one is led to the new one."""
        self.renamed[old.casefold()] = new
        self.suggesting = {new if name == old else name for name in self.suggesting}
        for table in ("issues", "timelines", "files", "repository_labels", "suggestions"):  # others read them meanwhile
            moved = {
                re.sub(rf"^{re.escape(old)}(?=#|/|$)", new, key): value for key, value in getattr(self, table).items()
            }
            setattr(self, table, moved)
        for reference, issue in self.issues.items():
            if reference.startswith(f"{new}#"):
                issue["repository_url"] = f"{github_shapes.API}/repos/{new}"

    def comment(self, reference: str, body: str, actor: dict[str, Any]) -> dict[str, Any]:
        """Write a comment."""
        repository, _, number = reference.partition("#")
        return self._happened(reference, github_shapes.comment(repository, int(number), next(self._ids), actor, body))

    def name_in_change(self, reference: str, number: int, title: str, *, merged: bool) -> None:
        """A pull request of the issue's repository names it."""
        repository, merged_at = reference.partition("#")[0], github_shapes.TIME if merged else None
        event = github_shapes.cross_reference(repository, number, title, merged_at, PERSON)
        self.timelines.setdefault(reference, []).append(event)

    def labels(self, reference: str) -> list[str]:
        """Names of an issue's labels."""
        return [label["name"] for label in self.issues[reference]["labels"]]

    def comments(self, reference: str) -> list[str]:
        """Texts of an issue's comments."""
        return [event["body"] for event in self.timelines.get(reference, []) if event["event"] == "commented"]

    def _happened(self, reference: str, event: dict[str, Any]) -> dict[str, Any]:
        event["created_at"] = self._time(event["id"])
        issue = self.issues[reference]
        issue["updated_at"] = max(issue["updated_at"], event["created_at"])
        self.timelines.setdefault(reference, []).append(event)
        return event

    @staticmethod
    def _time(number: int) -> str:
        """When something with this id happened."""
        at = datetime.fromisoformat(github_shapes.TIME) + timedelta(seconds=number)
        return at.isoformat().replace("+00:00", "Z")

    # ------------------------------------------------------------ what its webhook sends

    def payload(self, action: str, reference: str, sender: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """What a webhook sends about an issue."""
        return {
            "action": action,
            "issue": self.issues[reference],
            "repository": {"full_name": reference.partition("#")[0]},
            "installation": {"id": INSTALLATION},
            "sender": sender or PERSON,
            "n": next(self._payloads),
            **more,
        }

    def hook_delivery(self, guid: str, status_code: int, age_s: float = 60.0) -> dict[str, Any]:
        """Add an attempt to hand a delivery over."""
        again = any(attempt["guid"] == guid for attempt in self.hook_deliveries)
        number = 1000 + len(self.hook_deliveries)
        attempt = github_shapes.hook_delivery(number, guid, status_code, time.time() - age_s, again=again)
        self.hook_deliveries.insert(0, attempt)
        return attempt

    # ------------------------------------------------------------ HTTP

    def fail(self, *faults: Fault) -> None:
        """Answer the next requests with these, one each."""
        self.troubles += [Trouble("", fault) for fault in faults]

    def is_valid(self, token: str | None) -> bool:
        """Whether a token was given and has not ended."""
        return token is not None and self.tokens.get(token, 0.0) > time.time()

    def _trouble(self, request: Request) -> Trouble | None:
        self.requests.append(request)
        if request.method in WRITES and not request.path.endswith("/graphql"):  # a question
            self.written.append(Written(request.method, request.path, request.data))
        for trouble in self.troubles:
            if trouble.times > 0 and re.search(trouble.request, f"{request.method} {request.path}"):
                trouble.times -= 1
                return trouble
        return self.misfortune(request) if self.misfortune is not None else None

    def _reply(self, request: Request) -> Fault:
        if self.behind:
            graphql = f"{self.behind.rpartition('/')[0]}/graphql"
            path = request.path.replace(graphql, f"{self.behind}/graphql", 1)
            if not path.startswith(f"{self.behind}/") or request.path == f"{self.behind}/graphql":
                return faults.status(404)
            request = replace(request, path=path.removeprefix(self.behind))
        return github_routes.reply(self, request)
