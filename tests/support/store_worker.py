"""What tests of the store run in processes of their own."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection

from distriage_serving.store import Delivery, Job, NewJob, Store


def drain(url: str, other: Connection) -> None:
    """Say that the store is open, then, when told to, take and finish everything that is due; sends what that was."""
    owner = str(os.getpid())
    taken: list[str] = []
    with Store.open(url) as store:
        other.send("open")
        other.recv()
        while found := [*store.lease(Delivery, owner, 600, 3), *store.lease(Job, owner, 600, 3)]:
            for item in found:
                store.finish(item)
                taken.append(f"{type(item).__name__} {item.id}")
    other.send(taken)


def killed(url: str) -> None:
    """Die in the middle of a transaction."""
    with Store.open(url) as store:
        [delivery] = store.lease(Delivery, "killed", 60)
        with store.transaction():
            store.put_job(NewJob("triage:o/r#1", "triage", "o/r", issue=1))
            store.finish(delivery)
            assert [job.state for job in store.list_work(Job)] == ["waiting"]
            os.kill(os.getpid(), signal.SIGKILL)


def start(url: str) -> None:
    """Start, as a server does."""
    with Store.open(url) as store:
        store.check()
