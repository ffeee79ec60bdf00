"""Answers to `/triage` commands: permission, effect on the reviews, reply on GitHub. Network and database I/O.

A reaction on the comment says whether it was understood and had an effect. One comment of ours explains failures as
long as they stand. In a dry run, and while the configuration is broken, decisions are stored and not answered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from distriage.answer.feedback import own_axis
from distriage.base.errors import InputError, NotFoundError, RefusedError
from distriage.base.references import IssueReference
from distriage.github.client import Client
from distriage.model.taxonomy import YES_NO, Taxonomy
from distriage_serving.bot.commands import Undo, Wrong, find_commands, parse_command
from distriage_serving.bot.follow_up import Done
from distriage_serving.bot.remembered import own_labels_given
from distriage_serving.bot.repositories import current_config
from distriage_serving.configuration.model import RepositoryConfig
from distriage_serving.configuration.names import resolve
from distriage_serving.github.executor import raise_if_moved, write_comment
from distriage_serving.github.labels import read_labels
from distriage_serving.github.timeline import is_ours, own_login, read_comments
from distriage_serving.planning import markdown
from distriage_serving.planning.marker import Marker
from distriage_serving.planning.types import PlannedComment
from distriage_serving.store import CommandArgument, Job, Review, Store, StoredVerdict, decide_job, review_of

UNDERSTOOD: Final = "+1"
NOT_UNDERSTOOD: Final = "confused"
# GitHub lets people with the role `triage` set labels on issues; the same is enough here.
MAY_WRITE: Final = frozenset({"write", "admin"})
MAY_TRIAGE: Final = frozenset({"triage", "write", "maintain", "admin"})
_WHY_CHARS: Final = 1000
_EXPLAINED: Final = """A command here was not understood:

{faults}

A command is a line of its own:

| | |
|---|---|
| `/triage` | look at the issue again |
| `/triage wrong symptom runtime-hang` | the right label of an axis; without a label: none fits; alone: all are wrong |
| `/triage wrong LABEL` | an own label of the repository is wrong |
| `/triage undo` | take the last decision back |

Edit the comment, and its line goes from here."""
_OPEN: Final = re.compile(r"- .* <!-- of (?P<comment>\d{1,18}) -->")  # a line of an answer: of which comment it is
_MAX_OPEN: Final = 20
_SETTLED: Final = "A command here was not understood at first. It is now; nothing is left to do."


class _IdleError(InputError):
    """A command that is understood and has nothing to do."""


def answer(client: Client, store: Store, taxonomy: Taxonomy, job: Job) -> Done:
    """Work out the changes that a comment's commands ask for, and answer on GitHub.

    Raises:
        ValidationError: the job's argument is not that of a command.
        GitHubError: GitHub is out of reach or refuses.
    """
    assert job.issue is not None
    asked = CommandArgument.model_validate(job.argument)
    issue = IssueReference(job.repository, job.issue)
    if not may_triage(client, job.repository, asked.who):
        return Done(f"{asked.who} may not label issues of {job.repository}", nothing_to_do=True)
    current = current_config(client, store, taxonomy, job.repository, job.installation_id)
    silent = current.config.dry_run or current.error is not None
    names = label_names(current.config, taxonomy)
    said = store.latest_verdict(issue.repository, issue.number)
    own = own_labels_given(store, said)
    reviews: dict[str, Review] = {}  # axis -> by the last line about it
    taken_back: list[int] = []
    faults: dict[str, str] = {}
    idle: dict[str, str] = {}
    for line in asked.lines:
        try:
            match parse_command(line, taxonomy, names, own):
                case Wrong(corrections):
                    reviews |= {review.axis: review for review in _reviews(said, own, issue, asked, corrections)}
                case Undo() if reviews:  # of this comment's own lines, not stored yet: they are the last decision
                    reviews.clear()
                case Undo():
                    taken_back += _last_decision(store, issue, asked.at, taken_back)
        except _IdleError as error:
            idle[line] = str(error)
        except InputError as error:
            faults[line] = str(error)
    theirs = {line for line in faults if _is_prows(client, job.repository, line)}
    if asked.lines and theirs.issuperset(asked.lines):
        return Done("the commands are those of Prow", nothing_to_do=True)
    faults = {line: why for line, why in faults.items() if line not in theirs}
    notes = [current.error, *faults.values(), *idle.values()]
    if not silent and (asked.lines or not asked.keeps_others):
        said_of_it = NOT_UNDERSTOOD if faults or idle else UNDERSTOOD
        notes.append(_react(client, job.repository, asked, said_of_it if asked.lines else None))
    if not silent and (faults or idle or asked.edited):
        notes.append(_explain(client, issue, asked.comment, faults, idle))
    understood = len(faults) + len(idle) + len(theirs) < len(asked.lines)
    return Done(
        "; ".join(note for note in notes if note) or None,
        reviews=tuple(reviews.values()),
        taken_back=tuple(taken_back),
        jobs=(decide_job(issue, job.installation_id),) if understood else (),
    )


def label_names(config: RepositoryConfig, taxonomy: Taxonomy) -> dict[str, dict[str, str]]:
    """Axis -> name -> label: the queue's names, yes and no, and the configuration's names.

    One of the configuration counts where it stands for one label of the axis alone.
    """
    found = {
        axis.id: {name: label.id for label in axis.labels for name in (label.name, YES_NO.get(label.id, label.name))}
        for axis in taxonomy.axes.values()
    }
    for axis in resolve(config, taxonomy).labelled():
        given = [(label.name, id_) for id_, label in axis.labels.items() if label.given]
        times = Counter(name.casefold() for name, _ in given)
        found[axis.id] |= {name: id_ for name, id_ in given if times[name.casefold()] == 1}
    return found


def _is_prows(client: Client, repository: str, line: str) -> bool:
    """Whether a command is for Prow: each of its words is the end of a label `triage/WORD` of the repository."""
    there = {name.casefold() for name in read_labels(client, repository)[0]}
    _, *words = line.casefold().split()
    return bool(words) and all(f"triage/{word}" in there for word in words)


def may_triage(client: Client, repository: str, who: str) -> bool:
    """Whether a person may label issues.

    These are the roles triage, write, maintain and admin, and custom roles that build on write or admin.

    Raises:
        GitHubError: GitHub cannot be reached or refuses.
    """
    try:
        answer = client.json(f"/repos/{repository}/collaborators/{quote(who, safe='')}/permission")
    except NotFoundError:
        return False
    return answer.get("permission") in MAY_WRITE or answer.get("role_name") in MAY_TRIAGE


def _reviews(
    stored: StoredVerdict | None,
    own: Collection[str],
    issue: IssueReference,
    asked: CommandArgument,
    corrections: Mapping[str, str | None],
) -> list[Review]:
    said = stored.verdict.axes if stored is not None else {}
    axes = [axis for axis, verdict in said.items() if verdict.outcome != "not-applicable"]
    corrections = corrections or dict.fromkeys([*axes, *map(own_axis, own)])
    if not corrections:
        raise _IdleError("Nothing was said of this issue yet, so nothing of it can be wrong.")
    return [
        review_of(issue, axis, label, (asked.who, "command", asked.at), stored) for axis, label in corrections.items()
    ]


def _last_decision(store: Store, issue: IssueReference, asked_at: float, taken_back: Sequence[int]) -> list[int]:
    """Ids of all reviews given by one command or one step in the queue, except those undone before.

    Args:
        asked_at: When that was asked, in whole seconds; the command may be heard late, and means no later decision.
    """
    standing = [
        review
        for review in store.reviews(issue=issue)
        if review.how in {"command", "queue"} and review.id not in taken_back and review.at < asked_at + 1
    ]
    if not standing:
        raise _IdleError("There is no decision to take back.")
    return [review.id for review in standing if (review.who, review.at) == (standing[-1].who, standing[-1].at)]


def _react(client: Client, repository: str, asked: CommandArgument, content: str | None) -> str | None:
    """React, in place of what we said before an edit; None only takes that away.

    If GitHub refuses, because the issue is locked or the comment gone, return why.
    """
    path = f"/repos/{repository}/issues/comments/{asked.comment}/reactions"
    try:
        if content is not None:
            client.write("POST", path, {"content": content}, repeatable=True)
        for one in client.items(path) if asked.edited else ():
            is_other = one.get("content") in {UNDERSTOOD, NOT_UNDERSTOOD} - {content}
            if is_other and is_ours(own_login(client), one.get("user")):
                client.write("DELETE", f"{path}/{one['id']}", None, repeatable=True)
    except RefusedError as error:
        return _refused(error)
    return None


def _refused(error: RefusedError) -> str:
    raise_if_moved(error)
    return str(error)


def _explain(
    client: Client, issue: IssueReference, comment: int, faults: Mapping[str, str], idle: Mapping[str, str]
) -> str | None:
    """Write our answer, or bring an earlier one in step; if GitHub refuses, return why."""
    try:
        there = read_comments(client, issue, "answer")
        own = there.comment
        text = _text(own.body if own is not None else "", comment, there.bodies, faults, idle)
        marker = Marker.of(text, "answer")
        if not text or (own is not None and own.digest == marker.digest):
            return None
        planned = PlannedComment(marker.write(text), marker.digest, own.id if own is not None else None, "answer")
        write_comment(client, issue, planned)
    except RefusedError as error:
        return _refused(error)
    return None


def _text(
    before: str, comment: int, bodies: Mapping[int, str], faults: Mapping[str, str], idle: Mapping[str, str]
) -> str:
    """The answer with a comment's faults, and earlier ones whose command still stands; empty if it may stay."""
    why = {line: markdown.code(said.removeprefix("/triage wrong: "), _WHY_CHARS) for line, said in faults.items()}
    mine = [f"- {markdown.code(line)}: {said} <!-- of {comment} -->" for line, said in why.items()]
    still = [row for row in before.splitlines() if row not in mine and _stands(row, bodies)]
    shown = "\n".join([*still[-_MAX_OPEN:], *mine])
    said = [_EXPLAINED.format(faults=shown)] if shown else []
    said += dict.fromkeys(idle.values())
    return "\n\n".join(said) or (_SETTLED if _EXPLAINED.partition("\n")[0] in before else "")


def _stands(row: str, bodies: Mapping[int, str]) -> bool:
    """Whether a line of an earlier answer is about a command that is still in its comment."""
    match = _OPEN.fullmatch(row)
    commands = find_commands(bodies.get(int(match["comment"]), "")) if match is not None else ()
    return any(row.startswith(f"- {markdown.code(line)}: ") for line in commands)
