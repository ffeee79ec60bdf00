"""Finds missed events: a repository's open issues in the store against those on GitHub. Network and database I/O.

Webhooks get lost, come late and out of order, and some changes send none. One list of the open issues, a hundred a
request, finds issues edited, reopened or opened unseen; issues that are open only in the store were closed, deleted or
transferred, and are fetched one by one. So are the suggestions of issues that changed.
"""

from __future__ import annotations

import math
from typing import Final

from distriage.base.errors import NotFoundError, RefusedError, TransferredError
from distriage.base.references import IssueReference
from distriage.github.client import Client
from distriage.github.listed import list_issues
from distriage.model.taxonomy import Taxonomy
from distriage_serving.bot.follow_up import Done
from distriage_serving.bot.repositories import current_config, is_deleted
from distriage_serving.bot.suggestions.hourly import decisions_on
from distriage_serving.github.closing import assign, close, closed_by_others, reopen
from distriage_serving.github.issue import read_stage
from distriage_serving.store import (
    ASK,
    ASSIGN,
    CLOSES,
    Act,
    Job,
    NewJob,
    Repository,
    Store,
    reconcile_job,
    report_digest,
    triage_job,
)

EVERY_S: Final = 6 * 3600.0
AT_ONCE: Final = 20  # repositories
OVERLAP_S: Final = 3600.0  # GitHub's clock and ours, and deliveries that are still under way
MAX_LOOKED_AT: Final = 200  # one by one, in one job
CLOSED_BEFORE: Final = "somebody closed it on GitHub before"


def due(store: Store, look_s: float) -> list[NewJob]:
    """The repositories whose turn it is, a job each, the longest due first.

    Args:
        look_s: Seconds from one look to the next. Many repositories are taken a part at a time: a new issue
            waits behind them, and all have one rate limit.
    """
    before = store.clock() - EVERY_S
    rows = [row for row in store.list_repositories(enabled=True) if row.installation_id is not None]
    turn = sorted((_last_turn(row), row.name, row.installation_id) for row in rows)
    most = max(AT_ONCE, math.ceil(len(rows) * look_s / EVERY_S))
    return [reconcile_job(name, installation_id) for at, name, installation_id in turn[:most] if at <= before]


def _last_turn(row: Repository) -> float:
    return max(row.reconciled_at or 0.0, row.reconcile_refused_at or 0.0)


def reconcile(client: Client, store: Store, taxonomy: Taxonomy, job: Job) -> Done:
    """Bring a repository's stored open issues in step with GitHub.

    Issues older than the App are left to `distriage backfill`.

    Raises:
        GitHubError: GitHub is out of reach or refuses.
    """
    began_at = store.clock()
    try:
        return _reconcile(client, store, taxonomy, job, began_at)
    except RefusedError:  # such as issues that are switched off: not again before its next turn
        store.save_repository(job.repository, reconcile_refused_at=began_at)
        raise


def _reconcile(client: Client, store: Store, taxonomy: Taxonomy, job: Job, began_at: float) -> Done:
    repository, installation_id = job.repository, job.installation_id
    current_config(client, store, taxonomy, repository, installation_id)
    row = store.get_repository(repository)
    known_since = row.reconciled_at - OVERLAP_S if row is not None and row.reconciled_at is not None else None
    known = store.issue_states(repository)
    look_at: list[int] = []
    listed: dict[int, float] = {}
    for issue in list_issues(client, repository, state="open"):
        listed[issue.number] = issue.updated_at
        if issue.by_bot:
            continue
        if issue.number in known:
            state, updated_at, digest, comments = known[issue.number]
            changed = digest != report_digest(issue.title, issue.body) or comments != issue.comments
            if state == "deleted" or ((changed or state != "open") and issue.updated_at >= updated_at):
                look_at.append(issue.number)
        elif known_since is not None and issue.created_at >= known_since:
            look_at.append(issue.number)
    missing = sorted(number for number, (state, *_) in known.items() if state == "open" and number not in listed)
    ended = sum(_note_state(client, store, IssueReference(repository, number)) for number in missing[:MAX_LOOKED_AT])
    pending = {number: at for number, at in store.open_suggestions(repository).items() if number not in look_at}
    touched = [number for number, asked_at in pending.items() if listed.get(number, 0.0) > asked_at]
    look_at += decisions_on(client, store, repository, touched)
    jobs = [triage_job(IssueReference(repository, number), installation_id) for number in look_at]
    found = f"{len(look_at)} changed unseen, {ended} closed unseen" if look_at or ended else None
    if len(missing) > MAX_LOOKED_AT and ended:  # else the next look would be at the same ones again
        return Done(found, jobs=(*jobs, reconcile_job(repository, installation_id)))
    return Done(found, jobs=tuple(jobs), reconciled=(repository, began_at))


def _note_state(client: Client, store: Store, issue: IssueReference) -> bool:
    """Note the state of an issue that is open in the store and not in GitHub's list."""
    try:
        is_open, updated_at = read_stage(client, issue)
    except TransferredError:
        return store.set_state(issue, "transferred", store.clock())
    except NotFoundError as error:
        return is_deleted(client, issue, error) and store.set_state(issue, "deleted", store.clock())
    return not is_open and store.set_state(issue, "closed", updated_at)


def bring_in_step(client: Client, store: Store, job: Job) -> Done:
    """Close or assign an issue on GitHub as people asked in the queue, or reopen it if that was undone.

    Raises:
        GitHubError: GitHub is out of reach or refuses; the worker notes a final refusal with the acts.
    """
    issue = IssueReference(job.repository, job.issue or 0)
    asked = store.acts(issue)
    assigned = [act for act in reversed(asked) if act.what == ASSIGN and (act.is_pending or _may_stand(act, job))]
    done = [_assign(client, store, act) for act in assigned]
    acts = [act for act in asked if act.what in CLOSES]
    for act in acts:
        # A worker that died may have closed it although nothing is noted.
        if act.undone_at is not None and (act.carried_out or (job.attempts > 1 and act is acts[0])):
            reopen(client, issue, was_duplicate=act.duplicate_of is not None)
            store.note_act(act, carried_out=False)
            done.append("reopened")
    standing = next(iter(acts), None)  # one before it was done, undone or refused
    if standing is not None and standing.undone_at is None and not standing.carried_out:
        done += _close(client, store, standing)
    elif "reopened" in done:  # if somebody else closed it, it stays closed
        is_open, updated_at = read_stage(client, issue)
        store.set_state(issue, "open" if is_open else "closed", updated_at)
    return Done(", ".join(done) or "it was taken back before", nothing_to_do=not done)


def _close(client: Client, store: Store, act: Act) -> list[str]:
    issue = act.reference
    closed_at = closed_by_others(client, issue)
    if closed_at is not None:  # with a reason of its own, which stays
        store.note_act(act, carried_out=False, refused=CLOSED_BEFORE)
        store.set_state(issue, "closed", closed_at)
        return [CLOSED_BEFORE]
    updated_at, refused = close(client, issue, act.what, act.duplicate_of)
    with store.transaction():
        store.note_act(act, carried_out=True)
        known = store.get_issue(issue.repository, issue.number, lock=True)
        reason = act.what if act.duplicate_of is None else f"duplicate of #{act.duplicate_of}"
        at = max(updated_at, known.updated_at if known is not None else 0.0)
        store.set_state(issue, "closed", at, reason)
    return ["closed", *refused]


def _may_stand(act: Act, job: Job) -> bool:
    """Whether a worker that died may have told GitHub of an act that was undone since, although nothing is noted."""
    undone_since = act.undone_at is not None and act.undone_at >= job.created_at
    return job.attempts > 1 and undone_since and act.refused is None


def _assign(client: Client, store: Store, act: Act) -> str:
    taken_back = act.undone_at is not None
    there = assign(client, act.reference, act.assignee or "", off=taken_back)
    failed = "is still assigned on GitHub" if taken_back else "cannot be assigned on GitHub, so only here"
    why = None if there != taken_back else f"{act.assignee} {failed}"
    store.note_act(act, carried_out=there, refused=why)
    return why or ("unassigned" if taken_back else "assigned")


def give_back(store: Store, job: Job, why: str, began_at: float) -> None:
    """Note that GitHub refused the acts of a job.

    Args:
        began_at: When the job began; later acts have a job of their own.
    """
    if job.kind in {"ask", "close"}:
        these = (ASK,) if job.kind == "ask" else (ASSIGN, *CLOSES)
        store.refuse_acts(IssueReference(job.repository, job.issue or 0), why, began_at, *these)
