"""What the banner says: what a person did just now, or took back."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import QueryParams

from distriage_serving.queue import closing
from distriage_serving.queue.visit import NOTICE_S, Notice, Visit

NOTHING_UNDONE: Final = {"undone": "nothing"}  # in the address of the page after an undo that found nothing


def notice(visit: Visit, query: QueryParams) -> Notice | None:
    """The newest of the person's decisions, acts and undos, while it is new.

    Args:
        query: Of the page.
    """
    if NOTHING_UNDONE.items() <= dict(query).items():
        return Notice("Nothing to undo.", 0.0, undoable=False)
    done, undone = _done(visit), _undone(visit)
    return undone if undone is not None and (done is None or undone.at > done.at) else done


def _done(visit: Visit) -> Notice | None:
    act = closing.newest_act(visit)
    if act is None or act.at < visit.store.clock() - NOTICE_S:
        return visit.notice()
    return Notice(f"{closing.describe(act)}: {visit.spelled(act.repository, act.number)}", act.at)


def _undone(visit: Visit) -> Notice | None:
    this = visit.session.who, visit.store.clock() - NOTICE_S, visit.seen
    rows, act = visit.store.last_undone(*this), visit.store.last_undone_act(*this)
    at = max((row.undone_at or 0.0 for row in rows), default=0.0)
    if act is not None and (act.undone_at or 0.0) > at:
        what = f"{closing.describe(act)}: {visit.spelled(act.repository, act.number)}"
        return Notice(f"Undone: {what}", act.undone_at or 0.0, undoable=False)
    if not rows:
        return None
    issues = sorted({(row.repository, row.number) for row in rows})
    what = f"{len(issues)} issues" if len(issues) > 1 else visit.spelled(*issues[0])
    return Notice(f"Undone: the decision on {what}", at, undoable=False)
