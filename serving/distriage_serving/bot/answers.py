"""Answers to `/triage` commands: who may, what it means for the verdicts, a reaction on the comment. Network and database I/O.

The reaction is all that is seen on GitHub: there is at most one comment of ours on an issue, and it is not for this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final
from urllib.parse import quote

from distriage.errors import InputError, NotFoundError
from distriage.taxonomy import Taxonomy
from distriage_serving.bot.commands import LookAgain, Undo, Wrong, parse_command
from distriage_serving.bot.deliveries import triage_key
from distriage_serving.bot.triage import Done
from distriage_serving.github_rest import Client, RefusedError
from distriage_serving.store import Job, PersonVerdict, Store

UNDERSTOOD: Final = "+1"
NOT_UNDERSTOOD: Final = "confused"
# GitHub lets people with the role `triage` set labels on issues: so much is asked for here too.
MAY_WRITE: Final = frozenset({"write", "admin"})
MAY_TRIAGE: Final = frozenset({"triage", "write", "maintain", "admin"})


def answer(client: Client, store: Store, taxonomy: Taxonomy, job: Job) -> Done:
    """Carry out a command: change the verdicts, have the issue looked at, react to the comment.

    Raises:
        GitHubError: GitHub cannot be reached or refuses.
    """
    assert job.issue is not None
    who, comment, line = str(job.argument["who"]), int(job.argument["comment"]), str(job.argument["line"])
    if not may_triage(client, job.repository, who):
        return Done(f"{who} may not label issues of {job.repository}", nothing_to_do=True)
    try:
        effect = _effect(store, job, job.issue, parse_command(line, taxonomy))
    except InputError as error:
        _react(client, job.repository, comment, NOT_UNDERSTOOD)
        return Done(str(error))
    return Done(_react(client, job.repository, comment, UNDERSTOOD), then=effect)


def may_triage(client: Client, repository: str, who: str) -> bool:
    """Whether a person may label issues: the roles triage, write, maintain and admin, and custom roles that build on write or admin.

    Raises:
        GitHubError: GitHub cannot be reached or refuses.
    """
    try:
        answer = client.json(f"/repos/{repository}/collaborators/{quote(who, safe='')}/permission")
    except NotFoundError:
        return False
    return answer.get("permission") in MAY_WRITE or answer.get("role_name") in MAY_TRIAGE


def _effect(store: Store, job: Job, number: int, command: LookAgain | Wrong | Undo) -> Callable[[], None]:
    """What a command changes in the store.

    Raises:
        InputError: there is nothing that it could be about.
    """
    given = _verdicts(store, job, number, command.corrections) if isinstance(command, Wrong) else []
    taken_back = _last_decision(store, job, number) if isinstance(command, Undo) else []

    def effect() -> None:
        if given:
            store.add_verdict(*given)
        if taken_back:
            store.undo_verdict(*taken_back)
        store.put_job(triage_key(job.repository, number), "triage", job.repository, issue=number, installation_id=job.installation_id)

    return effect


def _verdicts(store: Store, job: Job, number: int, corrections: Mapping[str, str | None]) -> list[PersonVerdict]:
    prediction = store.latest_prediction(job.repository, number)
    said = prediction.verdict.axes if prediction is not None else {}
    corrections = corrections or {axis: None for axis, verdict in said.items() if verdict.outcome != "not-applicable"}
    if not corrections:
        raise InputError(f"/triage wrong: nothing was said of {job.repository}#{number} yet")
    return [
        PersonVerdict(
            repository=job.repository,
            number=number,
            axis=axis,
            label=label,
            who=str(job.argument["who"]),
            how="command",
            at=datetime.fromisoformat(job.argument["at"]).timestamp(),
            predicted_label=said[axis].label if axis in said else None,
            probability=said[axis].probability if axis in said else None,
            model=prediction.model if prediction is not None else None,
            prediction_id=prediction.id if prediction is not None else None,
        )
        for axis, label in corrections.items()
    ]


def _last_decision(store: Store, job: Job, number: int) -> list[int]:
    """Ids of all verdicts that one command, or one step in the queue, gave."""
    standing = [verdict for verdict in store.verdicts(issue=(job.repository, number)) if verdict.how in {"command", "queue"}]
    if not standing:
        raise InputError("/triage undo: there is no decision to take back")
    return [verdict.id for verdict in standing if (verdict.who, verdict.at) == (standing[-1].who, standing[-1].at)]


def _react(client: Client, repository: str, comment: int, content: str) -> str | None:
    """React; where GitHub refuses that, because the issue is locked or the comment gone, return why."""
    try:
        client.write("POST", f"/repos/{repository}/issues/comments/{comment}/reactions", {"content": content}, repeatable=True)
    except RefusedError as error:
        return str(error)
    return None
