"""The banner: a person's latest act or undo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from starlette.datastructures import QueryParams

from distriage_serving.queue import closing
from distriage_serving.queue.visit import Visit
from distriage_serving.store import ASK, CLOSES, Act

NOTICE_S: Final = 30  # how long a page shows the last act
NOTHING_UNDONE: Final = {"undone": "nothing"}  # in the address of the page after an undo that found nothing


@dataclass(frozen=True, slots=True)
class Notice:
    """A person's latest act.

    Attributes:
        text: Empty if nothing was done lately.
        undoable: False for an undo, or nothing.
        earlier: When the last undoable act was done; None if `undoable`, or without one.
    """

    text: str
    at: float
    undoable: bool = True
    earlier: float | None = None

    @property
    def takes_back(self) -> float | None:
        """Time of the act that an undo from this page reverses, if any."""
        return self.at if self.undoable else self.earlier


def notice(visit: Visit, query: QueryParams) -> Notice | None:
    """The newest of the person's decisions, acts and undos, while it is new."""
    if NOTHING_UNDONE.items() <= dict(query).items():
        return Notice("Nothing to undo.", 0.0, undoable=False)
    done, undone = _done(visit), _undone(visit)
    if undone is not None and (done is None or undone.at > done.at):
        return replace(undone, earlier=done.at if done is not None else None)
    if done is not None and done.at < visit.store.clock() - NOTICE_S:
        return Notice("", done.at, undoable=False, earlier=done.at)
    return done


def _done(visit: Visit) -> Notice | None:
    """The act that an undo would reverse."""
    acts = closing.newest_acts(visit)
    if not acts:
        return _decided(visit)
    why = f" ({acts[0].refused})" if len(acts) == 1 and acts[0].what in CLOSES and acts[0].refused else ""
    return Notice(f"{closing.describe(acts[0])}{why}: {_these(visit, acts)}", acts[0].at)


def _these(visit: Visit, acts: Sequence[Act]) -> str:
    """Names the one issue of these acts, or counts several."""
    return f"{len(acts):,} issues" if len(acts) > 1 else visit.spelled(acts[0].repository, acts[0].number)


def _decided(visit: Visit) -> Notice | None:
    rows = visit.decisions.last()
    if not rows:
        return None
    issues = sorted({(row.repository, row.number) for row in rows})
    if len(issues) > 1:
        return Notice(f"Decided {len(issues):,} issues.", rows[0].at)
    issue = visit.store.get_issue(*issues[0])
    status = issue.status.capitalize() if issue is not None else "Decided"
    gone = f"; it is {issue.state} on GitHub" if issue is not None and issue.state != "open" else ""
    return Notice(f"{status}: {visit.spelled(*issues[0])}{gone}", rows[0].at)


def _undone(visit: Visit) -> Notice | None:
    this = visit.session.who, visit.store.clock() - NOTICE_S, visit.seen
    rows = visit.store.last_decision(*this, undone=True)
    acts = visit.store.last_acts(*this, undone=True)
    at, undone_at = (max((row.undone_at or 0.0 for row in found), default=0.0) for found in (rows, acts))
    if acts and undone_at > at:
        what = closing.NAMES[acts[0].what].format(act=acts[0], these=_these(visit, acts))
        never = all(act.refused and not act.carried_out and act.what in {ASK, *CLOSES} for act in acts)
        return Notice(f"Undone: {what}{', which GitHub had refused' if never else ''}", undone_at, undoable=False)
    if not rows:
        return None
    issues = sorted({(row.repository, row.number) for row in rows})
    what = f"{len(issues)} issues" if len(issues) > 1 else visit.spelled(*issues[0])
    return Notice(f"Undone: the decision on {what}", at, undoable=False)
