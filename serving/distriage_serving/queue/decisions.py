"""A person's decisions: form -> verdict rows and a job that writes them back to GitHub, in one transaction. Reads and writes the store."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from distriage.taxonomy import Taxonomy
from distriage_serving.problem import ProblemError
from distriage_serving.queue.issue_view import NONE, OPEN, OTHER, default_choice
from distriage_serving.queue.sessions import Session
from distriage_serving.store import PersonVerdict, Prediction, Store

UNDO_S: Final = 24 * 3600
WRITE_BACK_AFTER_S: Final = 10  # an undo within this time costs no write on GitHub
MAX_BULK: Final = 1000
_KEY: Final = re.compile(r"(?P<repository>[\w.-]{1,100}/[\w.-]{1,100})#(?P<number>\d{1,18})@(?P<prediction>\d{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Target:
    """An issue and the prediction that the person looked at."""

    repository: str
    number: int
    prediction_id: int


def read_target(key: str) -> Target:
    """Read the value of a list's checkbox.

    Raises:
        ProblemError: it is none of ours (400).
    """
    match = _KEY.fullmatch(key)
    if match is None:
        raise ProblemError(400, "bad-request", f"issue: {key[:80]!r}; expected owner/repo#12@34")
    return Target(match["repository"], int(match["number"]), int(match["prediction"]))


def read_choices(fields: Mapping[str, Sequence[str]], prediction: Prediction, taxonomy: Taxonomy) -> dict[str, str | None]:
    """Axis -> label, None: none of them; axes that are left open, or do not apply to what was chosen, are absent.

    Raises:
        ProblemError: a label that its axis does not have (400).
    """
    choices: dict[str, str | None] = {}
    for axis_id in prediction.verdict.axes:
        value = fields.get(f"axis.{axis_id}", [OPEN])[0]
        if value == OTHER:
            value = fields.get(f"other.{axis_id}", [""])[0]
        if value == OPEN or axis_id not in taxonomy.axes:
            continue
        if value != NONE and value not in taxonomy.axes[axis_id].label_ids:
            raise ProblemError(400, "bad-request", f"axis.{axis_id}: {value[:80]!r} is no label of this axis")
        choices[axis_id] = None if value == NONE else value

    def applies(axis_id: str) -> bool:
        other, wanted = taxonomy.axes[axis_id].requires or ("", None)
        said = prediction.verdict.axes.get(other)
        return wanted is None or choices.get(other, said.label if said is not None else wanted) == wanted

    return {axis_id: label for axis_id, label in choices.items() if applies(axis_id)}


def accepted(prediction: Prediction) -> dict[str, str | None]:
    """What accepting a prediction as it is says: the labels that are at least likely."""
    return {axis: said.label for axis, said in prediction.verdict.axes.items() if default_choice(said) != OPEN}


def dismissed(prediction: Prediction) -> dict[str, str | None]:
    """What dismissing says: no label fits."""
    return {axis: None for axis, said in prediction.verdict.axes.items() if said.outcome != "not-applicable"}


class Decisions:
    """Writes decisions of one person."""

    def __init__(self, store: Store, session: Session) -> None:
        self._store = store
        self._session = session

    def current(self, target: Target) -> Prediction | None:
        """The prediction that the person looked at; None: the issue was classified anew meanwhile, or is gone.

        Raises:
            ProblemError: not an issue of this person's repositories (404).
        """
        if not self._session.sees(target.repository):
            raise ProblemError(404, "not-found", "no such issue in the repositories that you may write to")
        prediction = self._store.latest_prediction(target.repository, target.number)
        return prediction if prediction is not None and prediction.id == target.prediction_id else None

    def decide(self, decided: Sequence[tuple[Prediction, Mapping[str, str | None]]]) -> None:
        """Store decisions, all of one moment, so that one undo takes all of them back, and have them written back."""
        now = self._store.clock()
        rows = [
            PersonVerdict(
                repository=prediction.repository,
                number=prediction.number,
                axis=axis,
                label=label,
                who=self._session.who,
                how="queue",
                at=now,
                predicted_label=prediction.verdict.axes[axis].label,
                probability=prediction.verdict.axes[axis].probability,
                model=prediction.model,
                prediction_id=prediction.id,
            )
            for prediction, choices in decided
            for axis, label in choices.items()
        ]
        with self._store.transaction():
            self._store.add_verdict(*rows)
            self._write_back({(row.repository, row.number) for row in rows})

    def last(self) -> list[PersonVerdict]:
        """The newest decision of this person that can be undone; empty: there is none."""
        rows = [
            row
            for row in self._store.verdicts(self._store.clock() - UNDO_S)
            if row.how == "queue" and row.who == self._session.who and self._session.sees(row.repository)
        ]
        return [row for row in rows if row.at == rows[-1].at]

    def undo(self) -> list[PersonVerdict]:
        """Take the newest decision back; empty: there is none."""
        with self._store.transaction():
            undone = self._store.undo_verdict(*(row.id for row in self.last()))
            self._write_back({(row.repository, row.number) for row in undone})
        return undone

    def _write_back(self, issues: set[tuple[str, int]]) -> None:
        installations = {repository: self._store.get_repository(repository) for repository in {repository for repository, _ in issues}}
        for repository, number in sorted(issues):
            known = installations[repository]
            if known is not None and known.enabled:  # else the App is not on it, and nobody could write
                self._store.put_job(
                    f"triage:{repository}#{number}",
                    "verdict",
                    repository,
                    issue=number,
                    installation_id=known.installation_id,
                    due_at=self._store.clock() + WRITE_BACK_AFTER_S,
                )
