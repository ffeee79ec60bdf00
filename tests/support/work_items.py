"""Deliveries and jobs to put into a store."""

from __future__ import annotations

from distriage_serving.store import CommandArgument, Delivery, Job, NewJob, Store

from support.databases import NOW


def delivery(id: str = "d1", **changes: object) -> Delivery:  # noqa: A002
    """A delivery about an issue."""
    return Delivery(
        **{
            "id": id,
            "event": "issues",
            "action": "opened",
            "payload": "{}",
            "received_at": NOW,
            "repository": "Owner/Repo",
            "issue": 1,
            **changes,
        }
    )


def put(
    store: Store,
    issue: int = 1,
    kind: str = "triage",
    due_at: float | None = None,
    argument: CommandArgument | None = None,
) -> Job:
    """Ask for a job about an issue."""
    return store.put_job(
        NewJob(
            f"{kind}:owner/repo#{issue}",
            kind,
            "owner/repo",
            issue=issue,
            argument=argument.model_dump() if argument is not None else None,
        ),
        due_at,
    )
