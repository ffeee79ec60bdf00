"""What tests of the store run in processes of their own: `python store_worker.py drain|killed URL`."""

from __future__ import annotations

import os
import signal
import sys

from distriage_serving.store import Delivery, Job, NewJob, Store


def drain(url: str) -> None:
    """Take and finish everything that is due; prints table and id of each."""
    owner = str(os.getpid())
    with Store.open(url) as store:
        _say("open")
        sys.stdin.readline()
        while found := [*store.lease(Delivery, owner, 600, 3), *store.lease(Job, owner, 600, 3)]:
            for item in found:
                store.finish(item)
                _say(f"{type(item).__name__} {item.id}")


def killed(url: str) -> None:
    """Die in the middle of a transaction."""
    with Store.open(url) as store:
        [delivery] = store.lease(Delivery, "killed", 60)
        with store.transaction():
            store.put_job(NewJob("triage:o/r#1", "triage", "o/r", issue=1))
            store.finish(delivery)
            assert [job.state for job in store.list_work(Job)] == ["waiting"]
            os.kill(os.getpid(), signal.SIGKILL)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    {"drain": drain, "killed": killed}[sys.argv[1]](sys.argv[2])
