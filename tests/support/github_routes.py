"""What the double of GitHub answers: a table of routes."""

# ruff: noqa: ARG001  # the handlers of one table have one signature

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from support import faults, github_shapes
from support.faults import Fault
from support.github_http import Request

if TYPE_CHECKING:
    from support.github import GitHub

RAW = "application/vnd.github.raw+json; charset=utf-8"
Handler = Callable[..., Fault]
ROUTES: list[tuple[re.Pattern[str], Handler]] = []


def route(line: str) -> Callable[[Handler], Handler]:
    """Add a handler, which is called with the double, the request and what stands for the names in braces."""
    names = {"repository": "[^/]+/[^/]+", "path": ".+", "name": ".+"}
    pattern = re.sub(r"\{(\w+)\}", lambda found: f"(?P<{found[1]}>{names.get(found[1], '[^/]+')})", line)

    def add(handler: Handler) -> Handler:
        ROUTES.append((re.compile(pattern), handler))
        return handler

    return add


def reply(github: GitHub, request: Request) -> Fault:
    """GitHub's answer to a request with which nothing goes wrong."""
    if f"{request.place}/".startswith("/app/"):
        from support.app_key import refusal  # needs the extra `serve`

        if (why := refusal(request.token or "")) is not None:
            return faults.message(why, 401)
    elif not github.is_valid(request.token) and (request.token is not None or request.method != "GET"):
        return faults.bad_credentials()
    if (moved := _moved(github, request)) is not None:
        return moved
    for pattern, handler in ROUTES:
        if match := pattern.fullmatch(f"{request.method} {request.place}"):
            return handler(github, request, **match.groupdict())
    return faults.status(404)


def _moved(github: GitHub, request: Request) -> Fault | None:
    """The redirect to a repository's new name."""
    _, repos, owner, name, *_ = [*request.path.split("?")[0].split("/"), "", "", ""]
    new = github.renamed.get(f"{owner}/{name}".casefold()) if repos == "repos" else None
    if new is None:
        return None
    place = request.path.replace(f"/repos/{owner}/{name}", f"/repos/{new}", 1)
    return faults.message("Moved", 301 if request.method == "GET" else 307, {"Location": github.url + place})


def found(value: object, status: int = 200, **headers: str) -> Fault:
    return Fault(status, json.dumps(value), headers)


def page(github: GitHub, request: Request, items: Sequence[Any], name: str = "page", first: int = 1) -> Fault:
    """Part of a list, with a link to the next part: by the number of a page, or by a cursor that counts items."""
    size = min(int(request.query.get("per_page", "30")), github.page_items)
    step = size if name == "page" else 1
    at = int(request.query.get(name, first))
    start = (at - first) * step
    link = {**request.query, name: at + (1 if name == "page" else size)}
    more = {"Link": f'<{github.url}{urlsplit(request.path).path}?{urlencode(link)}>; rel="next"'}
    return found(items[start : start + size], **(more if start + size < len(items) else {}))


def _tagged(request: Request, answer: Fault) -> Fault:
    """The same with its ETag; 304 for one who knows it already."""
    etag = f'W/"{hashlib.sha256((answer.body + str(answer.headers)).encode()).hexdigest()}"'
    if request.headers.get("if-none-match") == etag:
        return Fault(304, "", {"ETag": etag})
    return Fault(answer.status, answer.body, {**answer.headers, "ETag": etag})


# ---------------------------------------------------------------- a repository


@route("GET /user")
def _user(github: GitHub, request: Request) -> Fault:
    return found(github.bot) if github.bot["type"] == "User" else faults.integration()


@route("GET /repos/{repository}")
def _repository(github: GitHub, request: Request, repository: str) -> Fault:
    has_issues = repository not in github.without_issues
    name = repository.partition("/")[2]
    return found({"id": 1, "name": name, "full_name": repository, "has_issues": has_issues})


@route("GET /repos/{repository}/contents/{path}")
def _file(github: GitHub, request: Request, repository: str, path: str) -> Fault:
    commit = request.query.get("ref")
    begin = f"{repository}/{path}/"
    if names := sorted({name.removeprefix(begin) for name in github.files if name.startswith(begin)}):
        return _tagged(request, found([github_shapes.listed_file(repository, path, name) for name in names]))
    text = github.versions.get(commit) if commit else github.files.get(f"{repository}/{path}")
    return faults.status(404) if text is None else _tagged(request, Fault(200, text, {"Content-Type": RAW}))


@route("GET /repos/{repository}/compare/{basehead}")
def _compare(github: GitHub, request: Request, repository: str, basehead: str) -> Fault:
    base, _, head = basehead.partition("...")
    start = github.left_at.get(head, base)
    own = [".github/distriage.yml"] if github.versions.get(start) != github.versions.get(head) else []
    files = sorted([*github.also_changed, *own], reverse=True)[:300]
    return found(github_shapes.comparison(repository, base, head, start, files))


@route("GET /repos/{repository}/releases")
def _releases(github: GitHub, request: Request, repository: str) -> Fault:
    return _tagged(request, page(github, request, github.releases.get(repository, [])))


@route("GET /repos/{repository}/labels")
def _labels(github: GitHub, request: Request, repository: str) -> Fault:
    return _tagged(request, page(github, request, list(github.repository_labels.get(repository, {}).values())))


@route("POST /repos/{repository}/labels")
def _create_label(github: GitHub, request: Request, repository: str) -> Fault:
    labels, data = github.repository_labels.setdefault(repository, {}), request.data
    if data["name"].casefold() in labels:
        errors = [{"resource": "Label", "code": "already_exists", "field": "name"}]
        docs = "https://docs.github.com/rest"
        return found({"message": "Validation Failed", "errors": errors, "documentation_url": docs}, 422)
    assert re.fullmatch("[0-9a-f]{6}", data["color"]) and len(data["name"]) <= 50 and len(data["description"]) <= 100
    return found(github.create_label(repository, **data), 201)


@route("GET /repos/{repository}/issues")
def _issues(github: GitHub, request: Request, repository: str) -> Fault:
    """Issues and pull requests, paged by a cursor as GitHub pages long lists."""
    if repository in github.without_issues:
        return faults.message("Issues are disabled for this repo", 410)
    asked = {"state": "open", "direction": "desc", "since": "", **request.query}
    issues = [
        issue
        for reference, issue in github.issues.items()
        if reference.startswith(f"{repository}#")
        and asked["state"] in {issue["state"], "all"}
        and issue["updated_at"] >= asked["since"]
    ]
    issues.sort(key=lambda issue: (issue["created_at"], issue["number"]), reverse=asked["direction"] == "desc")
    return page(github, request, issues, "after", 0)


@route("GET /repos/{repository}/collaborators/{login}/permission")
def _permission(github: GitHub, request: Request, repository: str, login: str) -> Fault:
    role = github.roles.get(login)
    if role is None:
        return faults.status(404)
    legacy = {"maintain": "write", "triage": "read"}.get(role, role)
    user = {**github_shapes.account(login), "role_name": role}
    return found({"permission": legacy, "role_name": role, "user": user})


@route("GET /repos/{repository}/commits/{commit}/check-runs")
def _check_runs(github: GitHub, request: Request, repository: str, commit: str) -> Fault:
    runs = [run for run in github.check_runs.get(commit, []) if run["name"] == request.query["check_name"]]
    shown = [github_shapes.check_run(repository, 1, run) for run in runs]
    return found({"total_count": len(runs), "check_runs": shown})


@route("POST /repos/{repository}/check-runs")
def _create_check_run(github: GitHub, request: Request, repository: str) -> Fault:
    github.check_runs.setdefault(request.data["head_sha"], []).append(request.data)
    return found(github_shapes.check_run(repository, 1, request.data), 201)


# ---------------------------------------------------------------- comments


@route("PATCH /repos/{repository}/issues/comments/{number}")
def _edit_comment(github: GitHub, request: Request, repository: str, number: str) -> Fault:
    for reference, events in github.timelines.items():
        for event in events:
            if reference.startswith(f"{repository}#") and event["id"] == int(number):
                event["body"] = request.data["body"]
                return found(event)
    return faults.status(404)


@route("DELETE /repos/{repository}/issues/comments/{number}")
def _delete_comment(github: GitHub, request: Request, repository: str, number: str) -> Fault:
    del request
    for reference, events in github.timelines.items():
        found = [event for event in events if event.get("id") == int(number)]
        if found and reference.startswith(f"{repository}#"):
            events.remove(found[0])
            return faults.status(204)
    return faults.status(404)


@route("POST /repos/{repository}/issues/comments/{number}/reactions")
def _react(github: GitHub, request: Request, repository: str, number: str) -> Fault:
    content = request.data["content"]
    github.reactions.setdefault(int(number), []).append(content)
    return found(github_shapes.reaction(1, github.bot, content), 201)


@route("GET /repos/{repository}/issues/comments/{number}/reactions")
def _reactions(github: GitHub, request: Request, repository: str, number: str) -> Fault:
    del request, repository
    given = enumerate(github.reactions.get(int(number), ()), 1)
    return found([github_shapes.reaction(place, github.bot, content) for place, content in given])


@route("DELETE /repos/{repository}/issues/comments/{number}/reactions/{place}")
def _take_back(github: GitHub, request: Request, repository: str, number: str, place: str) -> Fault:
    del request, repository
    del github.reactions[int(number)][int(place) - 1]
    return faults.status(204)


# ---------------------------------------------------------------- an issue


def _absent(github: GitHub, request: Request, reference: str) -> Fault | None:
    """The answer if the issue is not there."""
    if reference.partition("#")[0] in github.without_issues:
        return faults.message("Issues are disabled for this repo", 410)
    if reference in github.gone:
        return faults.status(410)
    if reference in github.moved:
        repository, _, number = github.moved[reference].partition("#")
        rest = "/".join(request.path.split("/")[6:])  # such as `timeline`
        place = {"Location": f"{github.url}/repos/{repository}/issues/{number}/{rest}".rstrip("/")}
        return faults.message("Moved Permanently", 301, place)
    if reference not in github.issues or (reference in github.private and request.token is None):
        return faults.status(404)
    return None


@route("GET /repos/{repository}/issues/{number}")
def _issue(github: GitHub, request: Request, repository: str, number: str) -> Fault:
    reference = f"{repository}#{number}"
    left = {"x-ratelimit-remaining": "59", "x-ratelimit-reset": "1700000000"}
    return _absent(github, request, reference) or found(github.issues[reference], **left)


@route("PATCH /repos/{repository}/issues/{number}")
def _edit_issue(github: GitHub, request: Request, repository: str, number: str) -> Fault:
    reference = f"{repository}#{number}"
    if (absent := _absent(github, request, reference)) is not None:
        return absent
    from support.github_suggestion_routes import edit

    return edit(github, reference, request.data)


@route("GET /repos/{repository}/issues/{number}/timeline")
def _timeline(github: GitHub, request: Request, repository: str, number: str) -> Fault:
    reference = f"{repository}#{number}"
    return _absent(github, request, reference) or page(github, request, github.timelines.get(reference, []))


@route("GET /repos/{repository}/issues/{number}/comments")
def _comments(github: GitHub, request: Request, repository: str, number: str) -> Fault:
    reference = f"{repository}#{number}"
    events = [event for event in github.timelines.get(reference, []) if event["event"] == "commented"]
    return _absent(github, request, reference) or page(github, request, events)


@route("POST /repos/{repository}/issues/{number}/comments")
def _comment(github: GitHub, request: Request, repository: str, number: str) -> Fault:
    reference = f"{repository}#{number}"
    if (absent := _absent(github, request, reference)) is not None:
        return absent
    if github.issues[reference]["locked"]:
        return faults.locked()
    return found(github.comment(reference, request.data["body"], github.bot), 201)


@route("POST /repos/{repository}/issues/{number}/labels")
def _label(github: GitHub, request: Request, repository: str, number: str) -> Fault:
    reference = f"{repository}#{number}"
    if (absent := _absent(github, request, reference)) is not None:
        return absent
    from support.github_suggestion_routes import add_labels

    return add_labels(github, reference, request.data["labels"])


@route("POST /repos/{repository}/issues/{number}/assignees")
@route("DELETE /repos/{repository}/issues/{number}/assignees")
def _assign(github: GitHub, request: Request, repository: str, number: str) -> Fault:
    """Accounts without a role are ignored, as GitHub does."""
    reference = f"{repository}#{number}"
    if (absent := _absent(github, request, reference)) is not None:
        return absent
    issue, named = github.issues[reference], {login.casefold() for login in request.data["assignees"]}
    others = [person for person in issue["assignees"] if person["login"].casefold() not in named]
    new = [github_shapes.account(login) for login in request.data["assignees"] if login in github.roles]
    issue["assignees"] = others + (new if request.method == "POST" else [])
    return found(issue, 201 if request.method == "POST" else 200)


@route("DELETE /repos/{repository}/issues/{number}/labels/{name}")
def _take_off(github: GitHub, request: Request, repository: str, number: str, name: str) -> Fault:
    reference = f"{repository}#{number}"
    if reference not in github.issues or name not in github.labels(reference):
        return faults.status(404)
    github.unlabel(reference, name, github.bot)
    return found(github.issues[reference]["labels"])
