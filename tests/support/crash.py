"""What is lost, and what is done twice, when everything fails: `python -m support.crash` in tests/ prints the figures.

Signed deliveries, some twice, some replayed under another id, some not signed, go to the real webhook route. Two
worker processes carry them out against a GitHub that fails, breaks off, limits, and sometimes does what it then denies;
one after the other is killed with SIGKILL.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import select

from distriage.classifier import Classifier
from distriage_serving.store import Delivery, Job, ReaderAnswer, Store

from support import databases, keyword_model
from support.app_key import APP_ID, app_key_pem
from support.crash_cases import SECRET, Case, Happenings, Misfortune, make_deliveries, open_issues, send
from support.crash_worker import forkserver, work
from support.github import GitHub
from support.reader import Double, calibration_file, endpoint, saying
from support.server import running

WORKERS = 2
ACCEPTED = (200, 202)


@dataclass(frozen=True)
class Run:
    """How a run went."""

    kills: int
    faults: int
    seconds: float


@dataclass(frozen=True)
class Figures:
    """What came out.

    Attributes:
        lost: Accepted deliveries that were not worked off, and issues without their labels or comment.
        turned_away: Deliveries that a busy server answered with 408 or 503: the sender knows that none was kept.
        duplicates: Comments and labels beyond what an issue must have, and labels that were set twice.
        states_right: Issues whose state in the store, under the repository's last name, is that on GitHub.
    """

    issues: int
    labels_right: int
    comments_right: int
    states_right: int
    most_comments: int
    lost: int
    duplicates: int
    dead: int
    accepted: int
    refused: int
    turned_away: int
    kills: int
    faults: int
    seconds: float


def crash(
    url: str,
    folder: Path,
    number: int,
    kills: int,
    seed: int = 1,
    one_in: int = 40,
    *,
    second_reader: bool = False,
    suggestions: bool = False,
) -> Figures:
    """Run it on an empty database.

    Args:
        second_reader: With one that fails in a fifth of the calls.
        suggestions: They are on.

    Returns:
        The figures; a run that hangs ends after ten minutes without progress, with an assertion.
    """
    rng = random.Random(seed)
    context = forkserver()
    bundle = folder / "toy"
    if not bundle.exists():
        keyword_model.build(bundle)
    github = GitHub(app=True)
    github.misfortune = misfortune = Misfortune(seed, one_in)
    cases = open_issues(github, number // 5, doubtful=second_reader, suggestions=suggestions)
    deliveries = make_deliveries(github, cases, number, rng)
    happenings = Happenings(github, cases, number, rng)
    accepted: set[str] = set()
    started_s, statuses, killed = time.monotonic(), Counter[int](), 0
    processes: list[Any] = []
    reader: tuple[str, str] | None = None  # its URL and its calibration

    def tell(delivery: tuple[str, str, bytes]) -> None:
        status = send(server.client, delivery)
        statuses[status] += 1
        if status in ACCEPTED:
            accepted.add(delivery[1])

    def start() -> None:
        arguments = (url, github.url, str(bundle), app_key_pem(), reader)
        processes.append(context.Process(target=work, args=arguments, daemon=True))
        processes[-1].start()

    def kill() -> None:
        victim = processes.pop(rng.randrange(len(processes)))
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        start()

    with ExitStack() as stack:
        stack.callback(github.close)
        if second_reader:
            reader = _failing_reader(stack.enter_context(endpoint()), seed), str(calibration_file(folder))
        store = stack.enter_context(Store.open(url))
        bot = {
            "github_app_id": APP_ID,
            "github_private_key": app_key_pem(),
            "github_webhook_secret": SECRET,
            "workers": 0,
        }
        server = stack.enter_context(running(partial(Classifier, bundle, threads=1), store=store, **bot))
        stack.callback(lambda: [process.kill() for process in processes])
        for _ in range(WORKERS):
            start()
        for place, delivery in enumerate(deliveries):
            for happened in happenings.at(place):
                tell(happened)
            tell(delivery)
            if place % 50 == 0:
                tell((delivery[0], str(uuid.uuid4()), delivery[2]))
                statuses[send(server.client, delivery, signed=False)] += 1
            if killed < kills and place * kills >= killed * number:
                time.sleep(rng.uniform(0.0, 1.0))
                kill()
                killed += 1
        assert statuses.keys() <= {*ACCEPTED, 401, 408, 409, 503}, statuses
        _drain(store)
        for process in processes:
            process.kill()
        run = Run(killed, misfortune.given.total(), time.monotonic() - started_s)
        return _figures(store, github, cases, accepted, statuses, run)


def _failing_reader(double: Double, seed: int) -> str:
    """A second reader that finds the symptom in the report, four times in five; its URL."""
    rng = random.Random(seed)

    def answer(body: dict[str, Any]) -> tuple[int, bytes]:
        if rng.randrange(5) == 0:
            return rng.choice([(500, b""), (429, b""), (200, b"nonsense"), (200, b"{}")])
        sort = re.findall(r"is of the sort (\w+)", body["messages"][1]["content"])
        return saying(sort[-1])(body)

    double.answer = answer
    return double.url


def _wanted(store: Store, case: Case) -> list[str]:
    """The labels that an issue must have, with what the second reader was able to say."""
    if not case.is_doubtful:
        return case.labels
    repository, _, number = case.reference.partition("#")
    issue = store.get_issue(repository, int(number))
    if issue is None:
        return []
    notes = select(ReaderAnswer.note).where(ReaderAnswer.digest == issue.digest)
    with store._session(writes=False) as session:
        return case.labels if session.execute(notes).all() == [(None,)] else []


def _is_put_off(job: Job) -> bool:
    """Whether it asks the second reader again minutes after a failure."""
    return job.kind == "second-read" and job.state == "waiting" and bool((job.argument or {}).get("failures"))


def _drain(store: Store) -> None:
    """Wait until nothing is left to do but the next sweep, and questions put off for minutes after a failure."""
    last, since = None, time.monotonic()
    while True:
        with store.transaction():  # one moment: between two looks a job goes from one state to the other
            counts = store.counts()
            jobs = [*store.list_work(Job, "waiting", 10_000), *store.list_work(Job, "leased", 10_000)]
        left = [job for job in jobs if job.kind != "sweep" and not _is_put_off(job)]
        if not left and not counts["deliveries"]["waiting"] and not counts["deliveries"]["leased"]:
            return
        if counts != last:
            last, since = counts, time.monotonic()
        assert time.monotonic() - since < 600, f"no progress: {counts} {left[:3]}"
        time.sleep(0.2)


def _figures(
    store: Store,
    github: GitHub,
    cases: list[Case],
    accepted: set[str],
    statuses: Counter[int],
    run: Run,
) -> Figures:
    mine = {
        case.reference: [
            event
            for event in github.timelines.get(case.reference, [])
            if (event["actor"] or {}).get("login") == github.bot["login"]
        ]
        for case in cases
    }
    comments = {reference: sum(event["event"] == "commented" for event in events) for reference, events in mine.items()}
    wanted = {case.reference: _wanted(store, case) for case in cases}
    labels_right = sum(sorted(github.labels(reference)) == labels for reference, labels in wanted.items())
    # Where no label was found, as where the second reader failed, there is nothing to say.
    silent = {case.reference for case in cases if case.may_lack_comment or not wanted[case.reference]}
    lacking = sum(not github.suggestions.get(case.reference) for case in cases if case.is_perhaps)
    lacking += sum(comments[case.reference] < case.comments for case in cases if case.reference not in silent)
    comments_right = sum(
        comments[case.reference] == case.comments or (case.reference in silent and comments[case.reference] == 0)
        for case in cases
    )
    states_right = sum(_state(store, case) == (None if case.kind == "bot" else case.state) for case in cases)
    stored = store.list_work(Delivery, limit=1_000_000)
    unfinished = [delivery for delivery in stored if delivery.state not in {"done", "ignored"}]
    missing = accepted - {delivery.id for delivery in stored}
    counts = store.counts()
    return Figures(
        issues=len(cases),
        labels_right=labels_right,
        comments_right=comments_right,
        states_right=states_right,
        most_comments=max(comments.values()),
        lost=len(unfinished) + len(missing) + len(cases) - labels_right + lacking,
        duplicates=sum(
            max(0, comments[case.reference] - case.comments)
            + max(0, len(github.labels(case.reference)) - len(wanted[case.reference]))
            + _set_again(mine[case.reference])
            + max(0, len(github.suggestions.get(case.reference, [])) - case.is_perhaps)
            for case in cases
        ),
        dead=counts["jobs"]["dead"] + counts["deliveries"]["dead"],
        accepted=sum(statuses[status] for status in ACCEPTED),
        refused=statuses[401] + statuses[409],
        turned_away=statuses[408] + statuses[503],
        kills=run.kills,
        faults=run.faults,
        seconds=run.seconds,
    )


def _set_again(events: list[dict[str, Any]]) -> int:
    """How often a label was set that had been set before."""
    names = [event["label"]["name"] for event in events if event["event"] == "labeled"]
    return len(names) - len(set(names))


def _state(store: Store, case: Case) -> str | None:
    repository, _, number = case.reference.partition("#")
    found = store.get_issue(repository, int(number))
    return found.state if found is not None else None


@contextmanager
def postgresql(folder: Path) -> Iterator[str]:
    """A database of a PostgreSQL of its own, which is noted in a folder."""
    programs = databases._programs()
    assert programs is not None, "needs PostgreSQL: apt-get install postgresql"
    with databases._server(programs, folder) as server, databases.fresh_postgresql(server) as url:
        yield url


def main() -> None:
    """Run it as asked, print a table, and end with 1 if anything was lost or done twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deliveries", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--second-reader", action="store_true", help="with one that fails in a fifth of the calls")
    parser.add_argument("--suggestions", action="store_true", help="half of the plain issues get a suggestion")
    options = parser.parse_args()
    good = True
    columns = list(Figures.__dataclass_fields__)
    sys.stdout.write("database    " + "  ".join(columns) + "\n")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for name in ["sqlite", "postgresql"] if options.database == "both" else [options.database]:
            url = f"sqlite:///{folder}/store.db" if name == "sqlite" else stack.enter_context(postgresql(Path(folder)))
            figures = crash(
                url,
                Path(folder),
                options.deliveries,
                options.kills,
                options.seed,
                second_reader=options.second_reader,
                suggestions=options.suggestions,
            )
            values = "  ".join(f"{getattr(figures, column):>{len(column)}.0f}" for column in columns)
            sys.stdout.write(f"{name:<10}  {values}\n")
            sys.stdout.flush()
            good = (
                good
                and not (figures.lost or figures.duplicates or figures.dead)
                and figures.labels_right == figures.comments_right == figures.states_right == figures.issues
            )
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
