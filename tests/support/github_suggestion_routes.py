"""What the double of GitHub answers about suggestions and issue fields, and how a change may come with its reason."""

# ruff: noqa: ARG001  # the handlers of one table have one signature

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from support import faults, github_shapes
from support.faults import Fault
from support.github_http import Request
from support.github_routes import found, page, route

if TYPE_CHECKING:
    from support.github import GitHub

MAX_RATIONALE_CHARS = 280
_REASONS = {"rationale", "confidence", "suggest"}


@route("GET /repos/{repository}/issues/{number}/suggestions")
def _suggestions(github: GitHub, request: Request, repository: str, number: str) -> Fault:
    reference = f"{repository}#{number}"
    if repository not in github.suggesting or reference not in github.issues:
        return faults.status(404)
    state = request.query.get("state", "pending")
    return page(
        github, request, [one for one in github.suggestions.get(reference, []) if state in {"all", one["state"]}]
    )


@route("POST /repos/{repository}/issues/{number}/suggestions/{id}/{verb}")
def _decide(github: GitHub, request: Request, repository: str, number: str, id: str, verb: str) -> Fault:  # noqa: A002
    reference = f"{repository}#{number}"
    one = next((one for one in github.suggestions.get(reference, []) if one["id"] == int(id)), None)
    if repository not in github.suggesting or one is None:
        return faults.status(404)
    if one["state"] != "pending":
        return faults.status(422)
    github.decide(reference, one["id"], github.bot, approve=verb == "approve")
    return found(one)


@route("GET /user/{number}")
def _account(github: GitHub, request: Request, number: str) -> Fault:
    known = next((account for account in github.accounts if account["id"] == int(number)), None)
    return found(github_shapes.profile(known)) if known is not None else faults.status(404)


@route("GET /orgs/{owner}/issue-fields")
def _fields(github: GitHub, request: Request, owner: str) -> Fault:
    return found(github.issue_fields)


def add_labels(github: GitHub, reference: str, labels: list[Any]) -> Fault:
    """Add labels to an issue, each a name or an object with the reason for it."""
    entries = [dict(label) if isinstance(label, Mapping) else {"name": label} for label in labels]
    if (refused := _refusal(github, entries)) is not None:
        return refused
    if len({*github.labels(reference), *(entry["name"] for entry in entries)}) > 100:
        return faults.status(422)
    repository = reference.partition("#")[0]
    for entry in entries:
        if not _is_suggested(github, reference, entry):
            github.label(reference, entry["name"], github.bot)
        elif entry["name"].casefold() not in map(str.casefold, github.labels(reference)):
            if entry["name"].casefold() not in github.repository_labels.get(repository, {}):
                github.define(repository, entry["name"])
            label = github.repository_labels[repository][entry["name"].casefold()]
            _suggest(github, reference, "add_label", entry, target_id=label["id"])
    return found(github.issues[reference]["labels"])


def edit(github: GitHub, reference: str, change: dict[str, Any]) -> Fault:
    """Edit an issue; the type, the state and each field's value may come with the reason for it."""
    given = {name: change[name] for name in ("type", "state") if isinstance(change.get(name), Mapping)}
    fields = change.get("issue_field_values", [])
    if (refused := _refusal(github, [*given.values(), *fields])) is not None:
        return refused
    plain = {name: value for name, value in change.items() if name not in given}
    if (kind := given.get("type")) is not None:
        if _is_suggested(github, reference, kind):
            _suggest(github, reference, "set_type", kind, target_id=1, target_value=kind["value"])
        else:
            plain["type"] = kind["value"]
    if (state := given.get("state")) is not None:
        original, here = plain.pop("duplicate_issue_id", None), f"{reference.partition('#')[0]}#"
        if original not in {issue["id"] for place, issue in github.issues.items() if place.startswith(here)}:
            return faults.status(422)
        if _is_suggested(github, reference, state):
            _suggest(github, reference, "close_issue", state, target_id=original)
        else:
            plain["state"] = state["value"]
    for field in fields:
        if _is_suggested(github, reference, field):
            value = {"target_id": field["field_id"], "target_value": field["value"]}
            _suggest(github, reference, "add_field", field, **value)
        else:
            github.fill_in(reference, field["field_id"], field["value"])
    github.edit(reference, plain)
    return found(github.issues[reference])


def _refusal(github: GitHub, entries: list[dict[str, Any]]) -> Fault | None:
    with_reason = [entry for entry in entries if entry.keys() & _REASONS]
    too_long = any(len(entry.get("rationale", "")) > MAX_RATIONALE_CHARS for entry in with_reason)
    return faults.status(422) if too_long or (with_reason and not github.takes_reasons) else None


def _is_suggested(github: GitHub, reference: str, entry: dict[str, Any]) -> bool:
    return bool(entry.get("suggest")) and reference.partition("#")[0] in github.suggesting


def _suggest(github: GitHub, reference: str, action: str, change: dict[str, Any], **target: Any) -> None:
    """Keep a suggestion; the same one again is another one."""
    kept = github_shapes.suggestion(github.next_id(), github.issues[reference]["id"], github.bot["id"], action)
    kept |= {"rationale": change.get("rationale"), "confidence": str(change.get("confidence")).upper(), **target}
    github.suggestions.setdefault(reference, []).append(kept)
