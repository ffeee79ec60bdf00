"""A person's decisions: form -> reviews and a job for GitHub, in one transaction. Reads and writes the store."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeVar

from distriage.answer.feedback import own_axis
from distriage.answer.verdict import AxisVerdict
from distriage.base.references import IssueReference
from distriage.model.taxonomy import Taxonomy
from distriage_serving.logs import log
from distriage_serving.queue.history import NOBODY, decided_so_far, standing_of
from distriage_serving.queue.issue_view import NONE, OPEN, OTHER, is_perhaps, settled, shown_choice
from distriage_serving.queue.login.sessions import Session
from distriage_serving.queue.rows import shown_axes
from distriage_serving.store import NewJob, Review, Store, StoredVerdict, decide_job, review_of
from distriage_serving.web.problem import ProblemError

UNDO_S: Final = 24 * 3600
WRITE_BACK_AFTER_S: Final = 10  # an undo within this time costs no write on GitHub
PIECE: Final = 50
PAUSE_S: Final = 0.15  # SQLite looks every 0.1 s whether a lock is gone
T = TypeVar("T")
_KEY: Final = re.compile(
    r"(?P<repository>[\w.-]{1,100}/[\w.-]{1,100})#(?P<number>\d{1,18})"
    r"@(?P<verdict>\d{1,18})(?:@(?P<decided>\d{1,18}\.\d{1,18}))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Target:
    """An issue, as the person's page showed it.

    Attributes:
        decided: `decided_so_far` of the reviews on that page.
    """

    repository: str
    number: int
    verdict_id: int
    decided: str = NOBODY


@dataclass(frozen=True, slots=True)
class IssueDecision:
    """A person's decision on an issue.

    Attributes:
        stored: The verdict that the person saw.
        choices: Axis -> label; None: none of them.
    """

    stored: StoredVerdict
    decided: str
    choices: Mapping[str, str | None]


def read_target(key: str) -> Target:
    """Read the value of a list's checkbox.

    Raises:
        ProblemError: malformed (400).
    """
    match = _KEY.fullmatch(key)
    if match is None:
        raise ProblemError(400, "bad-request", f"issue: {key[:80]!r}; expected owner/repo#12@34@5.0")
    return Target(match["repository"], int(match["number"]), int(match["verdict"]), match["decided"] or NOBODY)


def read_choices(
    fields: Mapping[str, Sequence[str]], stored: StoredVerdict, taxonomy: Taxonomy, standing: Mapping[str, Review]
) -> dict[str, str | None]:
    """Axis -> label; None: none of them. Axes that are left open, or do not apply to the choice, are absent. An own
    label has an axis to itself.

    A person who corrects one axis has not looked at all others: an untouched *perhaps* on those is left open.

    Raises:
        ProblemError: a label that its axis does not have (400).
    """
    choices: dict[str, str | None] = {}
    for axis_id in stored.verdict.axes:
        value = fields.get(f"axis.{axis_id}", [OPEN])[0]
        if value == OTHER:
            value = fields.get(f"other.{axis_id}", [""])[0]
        if value == OPEN or axis_id not in taxonomy.axes:
            continue
        if value != NONE and value not in taxonomy.axes[axis_id].label_ids:
            raise ProblemError(400, "bad-request", f"axis.{axis_id}: {value[:80]!r} is no label of this axis")
        choices[axis_id] = None if value == NONE else value
    own = _own_choices(fields, stored)
    axes = settled(stored.verdict.axes, taxonomy, standing)
    if changed := _changed(fields, axes, standing):
        for axis_id in choices.keys() - changed - standing.keys() - set(fields.get("touched", ())):
            if is_perhaps(axes[axis_id]):
                del choices[axis_id]
    labels = {axis_id: said.label for axis_id, said in stored.verdict.axes.items()} | choices
    return {axis_id: label for axis_id, label in choices.items() if taxonomy.unmet(axis_id, labels) is None} | own


def _changed(
    fields: Mapping[str, Sequence[str]], axes: Mapping[str, AxisVerdict], standing: Mapping[str, Review]
) -> set[str]:
    """The axes whose choice differs from the page's."""
    changed = set()
    for axis, said in axes.items():
        shown = shown_choice(said, standing.get(axis))
        if fields.get(f"axis.{axis}", [shown])[0] != shown:
            changed.add(axis)
    return changed | {own_axis(label) for label in set(fields.get("own", ())) ^ set(fields.get("own-before", ()))}


def _own_choices(fields: Mapping[str, Sequence[str]], stored: StoredVerdict) -> dict[str, str | None]:
    """Choices by own labels' boxes: ticked is right, no longer ticked is not, never ticked says nothing."""
    ticked, before = set(fields.get("own", ())), set(fields.get("own-before", ()))
    labels = [own.label for own in stored.verdict.own or () if own.label in ticked | before]
    return {own_axis(label): label if label in ticked else None for label in labels}


def accepted(stored: StoredVerdict, taxonomy: Taxonomy, standing: Mapping[str, Review]) -> dict[str, str | None]:
    """Choices made by accepting a row of the list: only the labels that the row shows and is sure of."""
    verdict = stored.verdict.axes
    shown = [axis.id for axis in shown_axes(verdict, taxonomy, standing)]
    labels = {axis: shown_choice(verdict[axis], standing.get(axis)) for axis in shown}
    return {axis: None if label == NONE else label for axis, label in labels.items() if label != OPEN}


def labelled(
    stored: StoredVerdict, taxonomy: Taxonomy, standing: Mapping[str, Review], axis: str, label: str
) -> dict[str, str | None]:
    """Choices made by setting one label; none where its axis does not apply."""
    labels: dict[str, str | None] = {known: said.label for known, said in stored.verdict.axes.items()}
    labels |= {known: review.label for known, review in standing.items()}
    applies = axis in stored.verdict.axes and taxonomy.unmet(axis, labels) is None
    return {axis: label} if applies else {}


def dismissed(stored: StoredVerdict, standing: Mapping[str, Review]) -> dict[str, str | None]:
    """Choices made by dismissing: no label fits, on any axis that applies or has an earlier decision."""
    axes = stored.verdict.axes.items()
    return {axis: None for axis, said in axes if said.outcome != "not-applicable" or axis in standing}


def pieces(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Parts of a long write, with pauses in which others find the database unlocked."""
    for start in range(0, len(items), PIECE):
        if start:
            time.sleep(PAUSE_S)
        yield items[start : start + PIECE]


def write_back(store: Store, issue: IssueReference, job: Callable[[IssueReference, int | None], NewJob]) -> bool:
    """Have GitHub brought in step by a job; False if the App is not on the repository."""
    known = store.get_repository(issue.repository)
    if known is None or not known.has_app:
        return False
    store.put_job(job(issue, known.installation_id), store.clock() + WRITE_BACK_AFTER_S)
    return True


class Decisions:
    """Writes decisions of one person."""

    def __init__(self, store: Store, session: Session) -> None:
        self._store = store
        self._session = session

    def current(self, target: Target) -> StoredVerdict | None:
        """The verdict that the person looked at; None if the issue was classified anew meanwhile, or is gone.

        Raises:
            ProblemError: not an issue of this person's repositories (404).
        """
        if not self._session.sees(target.repository):
            raise ProblemError(404, "not-found", "no such issue in the repositories that you may triage")
        stored = self._store.latest_verdict(target.repository, target.number)
        return stored if stored is not None and stored.id == target.verdict_id else None

    def decide(self, decisions: Sequence[IssueDecision]) -> list[IssueDecision]:
        """Store decisions, all of one moment, so that one undo reverses them all, and have them written back.

        A transaction holds `PIECE` issues, so that deliveries get in between.

        Returns:
            Decisions not stored: since the person's page was made, the issue was decided on, classified anew or
                deleted.
        """
        now = self._store.clock()
        left: list[IssueDecision] = []
        in_order = sorted(decisions, key=lambda decision: (decision.stored.repository, decision.stored.number))
        for piece in pieces(in_order):  # each waits for locks in the same order, so that no two wait for each other
            with self._store.transaction():
                rows: list[Review] = []
                for decision in piece:
                    stored = decision.stored
                    issue = self._store.get_issue(stored.repository, stored.number, lock=True)
                    reviews = self._store.reviews(issue=IssueReference(stored.repository, stored.number), undone=True)
                    new = self._unsaid(self._reviews(decision, now), reviews)
                    same = issue is not None and issue.verdict_id == stored.id
                    if new and not (same and decision.decided == decided_so_far(reviews)):
                        left.append(decision)
                    else:
                        rows += new
                self._store.add_reviews(*rows)
                self._write_back(rows)
            self._log("decided", rows)
        return left

    def _reviews(self, decision: IssueDecision, now: float) -> list[Review]:
        stored = decision.stored
        issue, who = IssueReference(stored.repository, stored.number), self._session.who
        return [review_of(issue, axis, label, (who, "queue", now), stored) for axis, label in decision.choices.items()]

    def _unsaid(self, rows: Sequence[Review], before: Sequence[Review]) -> list[Review]:
        """New decisions only: a second click repeats one, and a single undo would leave it."""
        said = {
            (row.axis, row.label, row.verdict_id)
            for row in standing_of(before).values()
            if (row.who, row.how) == (self._session.who, "queue")
        }
        return [row for row in rows if (row.axis, row.label, row.verdict_id) not in said]

    def last(self, at: float | None = None) -> list[Review]:
        """This person's newest decision that can be undone, or the one of a time; empty if absent."""
        session = self._session
        return self._store.last_decision(session.who, self._store.clock() - UNDO_S, session.repositories, at)

    def undo(self, at: float | None = None) -> list[Review]:
        """Undo the newest decision, or the one of a time; empty if absent."""
        of_issue: dict[tuple[str, int], list[int]] = {}
        for row in self.last(at):
            of_issue.setdefault((row.repository, row.number), []).append(row.id)
        undone: list[Review] = []
        for piece in pieces(list(of_issue.values())):
            with self._store.transaction():
                rows = self._store.undo_reviews(*chain.from_iterable(piece))
                self._write_back(rows)
            self._log("decision_undone", rows)
            undone += rows
        return undone

    def _log(self, event: str, rows: Sequence[Review]) -> None:
        for repository, number in sorted({(row.repository, row.number) for row in rows}):
            labels = {row.axis: row.label for row in rows if (row.repository, row.number) == (repository, number)}
            log(logging.INFO, event, who=self._session.who, issue=f"{repository}#{number}", labels=labels)

    def _write_back(self, rows: Sequence[Review]) -> None:
        for repository, number in sorted({(row.repository, row.number) for row in rows}):
            write_back(self._store, IssueReference(repository, number), decide_job)
