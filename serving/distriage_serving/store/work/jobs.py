"""Jobs before they are stored, with the keys under which they wait; and the query for due ones. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, Integer, Select, and_, bindparam, case, exists, false, or_, select, tuple_
from sqlalchemy.orm import aliased

from distriage.base.references import IssueReference
from distriage_serving.store.work.tables import Delivery, Job

SWEEP: Final = "sweep"
TRIAGE: Final = "triage"  # as a rule it writes on GitHub, so while writes are paced it does not begin
SECOND_READ: Final = "second-read"  # may take long: it has workers of its own, and holds up no lane of an issue
_COMMAND: Final = "command"
OF_PEOPLE: Final = ("close", "ask", "decide", _COMMAND)  # what a person did and waits for: ahead of all other work
Item = TypeVar("Item", Delivery, Job)


class _Argument(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class CommandArgument(_Argument):
    """For a job `command`.

    Attributes:
        comment: GitHub's id of the comment.
        who: Login of the person who wrote or edited it.
        at: When, Unix time in seconds.
        lines: The new commands, one per line; none where an edit only took some away.
        edited: The comment was there before, with other commands or none.
        keeps_others: Other commands of it stand as before the edit.
    """

    comment: int
    who: Annotated[str, Field(min_length=1)]
    at: float
    lines: list[str]
    edited: bool = False
    keeps_others: bool = False


class SecondReadArgument(_Argument):
    """For a job `second-read`; none is as the default.

    Attributes:
        failures: How often the second reader was asked about this report in vain.
    """

    failures: int = 0


class CheckArgument(_Argument):
    """For a job `check`.

    Attributes:
        head, base: Commits: a pull request's last one, and the last one of the branch that it is for.
    """

    head: str
    base: str


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job for the outbox.

    Attributes:
        key: Waiting jobs with one key are one job.
        kind: One of `bot/kinds.py`.
        issue: Its number, if the job concerns one.
        due_at: Not before; now if None.
    """

    key: str
    kind: str
    repository: str = ""
    issue: int | None = None
    installation_id: int | None = None
    argument: Mapping[str, Any] | None = None
    due_at: float | None = None

    @property
    def lane(self) -> str:
        """One job of a lane is worked on at a time: those that touch an issue on GitHub, or one key's."""
        is_of_issue = self.issue is not None and self.kind != SECOND_READ
        return f"{self.repository.lower()}#{self.issue}" if is_of_issue else self.key


def triage_job(issue: IssueReference, installation_id: int | None) -> NewJob:
    """Look at an issue. All work on one issue waits under one key, so that no two workers touch it at once."""
    return _issue_job(TRIAGE, issue, installation_id)


def decide_job(issue: IssueReference, installation_id: int | None) -> NewJob:
    """The same, since a person decided on the issue."""
    return _issue_job("decide", issue, installation_id)


def second_read_job(issue: IssueReference, installation_id: int | None) -> NewJob:
    """Ask the second reader about an issue, in parallel to all other work on it: it may take long."""
    return _issue_job(SECOND_READ, issue, installation_id)


def close_job(issue: IssueReference, installation_id: int | None) -> NewJob:
    """Bring GitHub in step with people's acts on an issue in the queue."""
    return _issue_job("close", issue, installation_id)


def ask_job(issue: IssueReference, installation_id: int | None) -> NewJob:
    """Write the questions to an issue's author, or take them back."""
    return _issue_job("ask", issue, installation_id)


def _issue_job(kind: str, issue: IssueReference, installation_id: int | None) -> NewJob:
    key = f"{kind}:{issue.repository.lower()}#{issue.number}"
    return NewJob(key, kind, issue.repository, issue.number, installation_id)


def command_job(issue: IssueReference, installation_id: int | None, argument: CommandArgument) -> NewJob:
    """Carry out a comment's command."""
    key = f"command:{issue.repository.lower()}#{issue.number}:{argument.comment}:{argument.at:.0f}"
    return NewJob(key, _COMMAND, issue.repository, issue.number, installation_id, argument.model_dump())


def check_job(pull: IssueReference, installation_id: int | None, argument: CheckArgument) -> NewJob:
    """Check the configuration that a pull request proposes."""
    key = f"check:{pull.repository.lower()}@{argument.head}"
    return NewJob(key, "check", pull.repository, pull.number, installation_id, argument.model_dump())


def configure_job(repository: str, installation_id: int | None) -> NewJob:
    """Read a repository's configuration anew; if it is repaired, go on with the issues that wait for it."""
    return NewJob(f"configure:{repository.lower()}", "configure", repository, None, installation_id)


def reconcile_job(repository: str, installation_id: int | None) -> NewJob:
    """Compare a repository's stored open issues with GitHub."""
    return NewJob(f"reconcile:{repository.lower()}", "reconcile", repository, None, installation_id)


def poll_job(repository: str, installation_id: int | None) -> NewJob:
    """Ask about one issue whose suggestions are pending."""
    return NewJob(f"poll:{repository.lower()}", "poll", repository, None, installation_id)


def access_job(installation_id: int) -> NewJob:
    """Ask GitHub which repositories an installation has."""
    return NewJob(f"access:{installation_id}", "access", installation_id=installation_id)


def sweep_job() -> NewJob:
    """Look for missed events in all repositories."""
    return NewJob(SWEEP, "sweep")


def moved_job(job: Job, repository: str) -> NewJob:
    """The same in a repository's new name."""
    old, new = job.repository.lower(), repository.lower()
    return NewJob(job.key.replace(old, new, 1), job.kind, new, job.issue, job.installation_id, job.argument)


@cache
def due_items(table: type[Delivery] | type[Job], second_reads: bool | None, *, of_people: bool = False) -> Select[Any]:
    """Items due at `now`, or with an expired lease, at most `limit`, the longest due first; no triage for installations
    that are `paced`.

    The statement is cached: every worker runs it every second, and building it takes longer than running it.

    Args:
        second_reads: Only jobs that ask the second reader, or only others; all if None.
        of_people: Only jobs of `OF_PEOPLE`.
    """
    is_second_read = Job.kind == SECOND_READ
    kinds = [] if second_reads is None or table is Delivery else [is_second_read if second_reads else ~is_second_read]
    kinds = [Job.kind.in_(OF_PEOPLE)] if of_people else kinds
    of_paced = Job.installation_id.in_(bindparam("paced", expanding=True))
    is_paced = and_(Job.kind == TRIAGE, Job.state == "waiting", of_paced)  # one with an expired lease blocks its lane
    lanes = [] if table is Delivery else [~is_paced, _first_of_its_lane()]
    due = select(table).where(table.due_at <= bindparam("now"), *kinds, *lanes).order_by(table.due_at, table.id)
    return due.limit(bindparam("limit", type_=Integer)).with_for_update(skip_locked=True)


def _first_of_its_lane() -> ColumnElement[bool]:
    """A leased job (whose lease ran out), or a waiting one in a lane where none is leased: the first command, or what
    is due first of the others, those of people before the bot's own.

    Commands keep their order, also where one waits after a failure. It holds up no other kind: a ring of jobs that wait
    for each other would wait for ever.
    """
    other = aliased(Job)
    is_theirs, is_ours = other.kind.in_(OF_PEOPLE), ~Job.kind.in_(OF_PEOPLE)
    earlier = case(
        (and_(other.kind == _COMMAND, Job.kind == _COMMAND), other.id < Job.id),
        (or_(other.kind == _COMMAND, Job.kind == _COMMAND), false()),
        (and_(is_theirs, is_ours), other.due_at <= bindparam("now")),
        (and_(~is_theirs, ~is_ours), false()),
        else_=tuple_(other.due_at, other.id) < tuple_(Job.due_at, Job.id),
    )
    blocked = exists().where(
        other.lane == Job.lane, other.due_at.is_not(None), other.id != Job.id, or_(other.state == "leased", earlier)
    )
    return or_(Job.state == "leased", ~blocked)
