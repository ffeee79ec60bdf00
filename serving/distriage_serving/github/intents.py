"""Carries out a plan's changes with a reason for each, and suggests those that a person has to approve. Network I/O;
writes.

Labels go in one request, type, fields and state in another, in which a list of labels would replace all of the issue's.
A suggestion is not sent twice: if an answer is lost, GitHub is asked whether the suggestion exists. If GitHub does not
take reasons, changes that need no person are sent without them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from distriage.base.errors import LostAnswerError, NotFoundError, RefusedError
from distriage.github.client import MAX_ATTEMPTS, Client
from distriage.github.listed import issue_type
from distriage_serving.github.execution import Execution
from distriage_serving.github.fields import field_values
from distriage_serving.github.labels import read_labels
from distriage_serving.github.suggestions import OFF, decide, list_suggestions
from distriage_serving.github.timeline import read_timeline, set_by_us
from distriage_serving.planning.suggested import Reasoned
from distriage_serving.planning.types import Plan

_NOT_TAKEN: Final = frozenset({400, 404, 422})
Explain = Callable[[RefusedError, str], str]


def decide_suggestions(client: Client, plan: Plan, done: Execution, explain: Explain) -> None:
    """Approve and dismiss pending suggestions as the plan says."""
    for suggested, approve in (*((one, True) for one in plan.approve), *((one, False) for one in plan.dismiss)):
        if suggested.id is None:
            continue
        try:
            if not decide(client, plan.issue, suggested.id, approve=approve):
                continue  # the next look finds its fate
        except RefusedError as error:
            verb = "approved" if approve else "dismissed"
            done.warnings.append(explain(error, f"the suggestion of {suggested.value!r} could not be {verb}"))
            continue
        done.decided.append((suggested, approve))
        if approve and suggested.action == "add_label":
            done.labels_added.append(suggested.value)


def add_labels(client: Client, plan: Plan, failed: Collection[str], done: Execution, explain: Explain) -> None:
    """Add labels, and suggest those that wait for a person.

    Args:
        failed: Labels that the repository lacks.
    """
    names = [name for name in plan.labels if name not in failed]
    asked = [one for one in plan.suggestions if one.action == "add_label" and one.value not in failed]
    if not names and not asked:
        return
    path = f"{plan.issue.path}/labels"
    reasons = plan.intents if plan.reasons else {}
    why = {name: reasons[name].intent.fields(suggest=False) for name in names if name in reasons}

    def body(left: Sequence[Reasoned]) -> dict[str, object]:
        sure = [{"name": name, **why[name]} if name in why else name for name in names]
        return {"labels": [*sure, *({"name": one.value, **one.intent.fields(suggest=True)} for one in left)]}

    if not (why or asked):
        _add_plainly(client, path, names, done, explain)
        return
    try:
        answer = _send(client, plan, "POST", path, body, asked)
    except RefusedError as error:
        if error.status not in _NOT_TAKEN or (error.status != 422 and not names):
            done.warnings.append(explain(error, "the labels could not be added"))
            return
        warned = len(done.warnings)
        _add_plainly(client, path, names, done, explain)
        if len(done.warnings) == warned:  # else the reasons beside the labels were not to blame
            done.no_suggestions = OFF
        return
    there = [str(label.get("name")).casefold() for label in answer] if isinstance(answer, list) else None
    for name in names:
        if there is None or name.casefold() in there or name not in reasons:
            done.labels_added.append(name)
        else:  # the repository lets nothing be set without a person
            done.suggested.append(reasons[name])
    set_anyway = [one for one in asked if there is not None and one.value.casefold() in there]
    done.suggested += [one for one in asked if one not in set_anyway]
    if set_anyway:
        _take_off_again(client, plan, set_anyway, done)


def _add_plainly(client: Client, path: str, names: Sequence[str], done: Execution, explain: Explain) -> None:
    """Add labels in one request; if GitHub calls it invalid, one by one, to set at least the others."""
    if not names:
        return
    try:
        client.write("POST", path, {"labels": list(names)}, repeatable=True)
    except RefusedError as error:
        if error.status == 422 and len(names) > 1:
            for name in names:
                _add_plainly(client, path, [name], done, explain)
        else:
            which = f"the label {names[0]!r}" if len(names) == 1 else "the labels"
            done.warnings.append(explain(error, f"{which} could not be added"))
    else:
        done.labels_added += names


def _take_off_again(client: Client, plan: Plan, changes: Sequence[Reasoned], done: Execution) -> None:
    """Take off labels that GitHub set instead of suggesting them, unless somebody else set them."""
    ours = set_by_us(read_timeline(client, plan.issue).label_events)
    for change in changes:
        if change.value.casefold() in ours:
            done.no_suggestions = OFF
            client.write("DELETE", f"{plan.issue.path}/labels/{quote(change.value, safe='')}", None, repeatable=True)


def edit_issue(client: Client, plan: Plan, done: Execution, explain: Explain) -> None:
    """Set type and fields, and suggest those, and the end of a duplicate, that wait for a person."""
    asked = [one for one in plan.suggestions if one.action != "add_label"]
    original = next((one for one in asked if one.action == "close_issue"), None)
    if original is not None and original.target_id is None:
        found = _id_of(client, plan, original)
        asked.remove(original)
        asked += [found] if found is not None else []
    kind = plan.intents.get(plan.issue_type or "") if plan.reasons else None

    def body(left: Sequence[Reasoned], *, plainly: bool = not plan.reasons) -> dict[str, object]:
        fields = [_field(one, suggest=False, plainly=plainly) for one in plan.fields]
        fields += [_field(one, suggest=True) for one in left if one.action == "add_field"]
        edit: dict[str, object] = {"issue_field_values": fields} if fields else {}
        if plan.issue_type is not None:
            why = kind.intent.fields(suggest=False) if kind is not None and not plainly else None
            edit["type"] = {"value": plan.issue_type, **why} if why is not None else plan.issue_type
        for one in left:
            why = one.intent.fields(suggest=True)
            if one.action == "set_type":
                edit["type"] = {"value": one.value, **why}
            elif one.action == "close_issue":
                edit |= {"state_reason": "duplicate", "duplicate_issue_id": one.target_id}
                edit["state"] = {"value": "closed", **why}
        return edit

    if not body(asked):
        return
    try:
        answer = _send(client, plan, "PATCH", plan.issue.path, body, asked)
    except RefusedError as error:
        if original is not None and original.target_id is not None and error.status == 422:
            found = _id_of(client, plan, original)
            if found != original:  # it has another id by now, or is gone
                others = [one for one in plan.suggestions if one.action != "close_issue"]
                suggestions = (*others, *([found] if found is not None else []))
                edit_issue(client, replace(plan, suggestions=suggestions), done, explain)
                return
        sure = body((), plainly=True)
        what = f"the issue type {plan.issue_type!r}" if plan.issue_type is not None else "a field"
        refused = f"{what} could not be set"
        with_reasons = plan.reasons and error.status in _NOT_TAKEN
        if not with_reasons or (not sure and error.status != 422):
            done.warnings.append(explain(error, refused))
            return
        try:
            answer = client.write("PATCH", plan.issue.path, sure, repeatable=True) if sure else None
        except RefusedError:
            done.warnings.append(explain(error, refused))
            return
        done.no_suggestions, asked = OFF, []
    _note_edit(client, plan, asked, answer, done)


def _note_edit(client: Client, plan: Plan, asked: Sequence[Reasoned], answer: object, done: Execution) -> None:
    """Note the changes in GitHub's answer, which silently drops those that the token may not make."""
    issue = answer if isinstance(answer, Mapping) else {}
    if plan.issue_type is not None:
        if (issue_type(issue) or "").casefold() == plan.issue_type.casefold():
            done.issue_type = plan.issue_type
        elif not _is_suggested(issue, "type", plan.issue_type):
            lacks = "the organization lacks it, or the token may not"
            done.warnings.append(f"the issue type {plan.issue_type!r} was not set: {lacks}")
        elif plan.issue_type in plan.intents:
            done.suggested.append(plan.intents[plan.issue_type])
    values = set(field_values(issue).values())
    for one in plan.fields:
        if one.value in values:
            done.fields.append(one)
        elif _is_suggested(issue, "issue_field_values", one.value):
            done.suggested.append(one)
        else:
            done.warnings.append(f"the field value {one.value!r} was not set: the token may not")
    for one in asked:
        if one.action == "close_issue" and issue.get("state") == "closed":
            if read_timeline(client, plan.issue).closed_by_us:  # else a person has closed it meanwhile
                client.write("PATCH", plan.issue.path, {"state": "open"}, repeatable=True)
                done.no_suggestions = OFF
        else:
            done.suggested.append(one)


def _is_suggested(issue: Mapping[str, Any], name: str, value: str) -> bool:
    """Whether GitHub turned a change into a suggestion: the repository requires a person's approval."""
    listed = (issue.get("suggestions") or {}).get(name) or ()
    return any(str(item.get("value")).casefold() == value.casefold() and not item.get("ignored") for item in listed)


def _send(
    client: Client,
    plan: Plan,
    method: str,
    path: str,
    body: Callable[[Sequence[Reasoned]], object],
    asked: Sequence[Reasoned],
) -> Any:
    """Send changes and suggestions. Returns the answer, None if it was lost and nothing was left to send.

    Raises:
        RefusedError: GitHub refuses.
        GitHubError: GitHub is out of reach.
    """
    left = list(asked)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            return client.write(method, path, body(left), repeatable=not left)
        except LostAnswerError:
            if attempt == MAX_ATTEMPTS or not client.pause(attempt):
                raise
            listed = list_suggestions(client, plan.issue) or ()
            _, names = read_labels(client, plan.issue.repository)
            left = [one for one in left if not any(it.is_of(one, names) for it in listed if it.state == "pending")]
            if not body(left):
                return None
    raise AssertionError  # unreachable: the last attempt returns or raises


def _id_of(client: Client, plan: Plan, change: Reasoned) -> Reasoned | None:
    """The suggestion with GitHub's id of the original; None if that is gone."""
    try:
        issue = client.json(f"/repos/{plan.issue.repository}/issues/{change.value}")
    except (NotFoundError, RefusedError):
        return None
    is_it = str(issue.get("number")) == change.value and isinstance(issue.get("id"), int)
    return replace(change, target_id=issue["id"]) if is_it and "pull_request" not in issue else None


def _field(change: Reasoned, *, suggest: bool, plainly: bool = False) -> dict[str, object]:
    why = {} if plainly else change.intent.fields(suggest=suggest)
    return {"field_id": change.target_id, "value": change.value, **why}
