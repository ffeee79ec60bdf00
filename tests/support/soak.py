"""Hostile and normal traffic mixed, for as long as one likes: `python -m support.soak --seconds 3600` in tests/.

A real server process with bot and queue, on a database of its own. Normal: deliveries (some twice), reports over
HTTP, a maintainer who lists and decides. Hostile: large unsigned and forged posts, heads half sent, bodies that
trickle, what is not HTTP, wrong tokens, reports of line feeds and brackets. At the end every accepted delivery must
have been handled, each issue labelled and commented on once, and memory must be flat.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from distriage_serving.store import Job, Store

from support import keyword_model, local_http
from support.app_key import APP_ID, app_key_pem
from support.github import GitHub
from support.queue_server import TOKEN, csrf, log_in
from support.server import ANEW, served
from support.waiting import until
from support.webhook import SECRET, sign

HOSTILE_BODIES = ("\n" * 65_000, "[a](" * 16_000, "```\n" * 16_000, '">\n' * 20_000, "\u0301" * 60_000, "9" * 65_000)
GARBAGE = (b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n")
SAMPLE_EVERY_S = 1.0
ISSUES = 200  # at most; each takes two writes, and the bot sends no more than 500 an hour


@dataclass(frozen=True)
class Figures:
    """What came out.

    Attributes:
        memory_mb: Resident in the server and its processes, at the end of the warm-up, at most, at the end.
        growth_mb: Median of the last quarter of samples less that of the second quarter.
        livez_s: The longest time until /livez answered.
        lost: Accepted deliveries whose issue lacks its label or comment.
        doubled: Issues with more than one comment, or labelled more than once.
    """

    seconds: float
    issues: int
    accepted: int
    refused: Counter[str]
    memory_mb: tuple[float, float, float]
    growth_mb: float
    livez_s: float
    lost: int
    doubled: int
    log_bytes: int


@dataclass
class Traffic:
    """One run's traffic; each method is one round of one kind."""

    port: int
    github: GitHub
    random: random.Random
    references: list[str] = field(default_factory=list)
    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    livez_s: float = 0.0

    @property
    def url(self) -> str:
        """Of the server."""
        return f"http://127.0.0.1:{self.port}"

    def deliver(self) -> None:
        """A new issue, one in five of them delivered twice, one in ten with a hostile body."""
        reference = f"owner/repo{len(self.references) % 4}#{len(self.references) + 1}"
        self.github.files[f"{reference.partition('#')[0]}/.github/distriage.yml"] = (
            "axes: {symptom: true}\ncomment: true\n"
        )
        hostile = self.random.choice(HOSTILE_BODIES) if self.random.random() < 0.1 else ""
        self.github.open(reference, "hangs hangs hangs", f"It hangs.\n{hostile}")
        body = json.dumps(self.github.payload("opened", reference)).encode()
        delivery = str(uuid.uuid4())
        for _ in range(2 if self.random.random() < 0.2 else 1):
            headers = {
                "X-GitHub-Event": "issues",
                "X-GitHub-Delivery": delivery,
                "X-Hub-Signature-256": sign(body),
                "Content-Type": "application/json",
            }
            answer = local_http.post(f"{self.url}/github/webhook", content=body, headers=headers, timeout=30)
            if answer.status_code == 202:
                self.accepted += 1
                self.references.append(reference)
            elif answer.status_code != 200:
                self.refused[f"delivery {answer.status_code}"] += 1
                del self.github.issues[reference]
                return

    def classify(self) -> None:
        """A report over HTTP, one in three hostile."""
        body = self.random.choice(HOSTILE_BODIES) if self.random.random() < 0.3 else "It hangs.\n" * 20
        answer = local_http.post(f"{self.url}/v1/classify", json={"title": "x", "body": body}, timeout=60)
        self._count("classify", answer)

    def decide(self) -> None:
        """A maintainer logs in, looks at the list and an issue, accepts, and logs out."""
        # One that is kept may be ended by the server just when the next request is written.
        headers = {"Accept": "text/html"}
        with local_http.Client(base_url=self.url, headers=headers, timeout=60, limits=ANEW) as client:
            if log_in(client).status_code != 303:
                self.refused["login"] += 1
                return
            page = client.get("/queue")
            self._count("queue", page)
            keys = [part.partition('"')[0] for part in page.text.split('name="issue" value="')[1:3]]
            if keys:
                data = {"csrf": csrf(page), "action": "accept", "issue": keys}
                self._count("accept", client.post("/queue/bulk", data=data))
            client.post("/logout", data={"csrf": csrf(page)})

    def attack(self) -> None:
        """One of the hostile things, all of which are refused."""
        self.random.choice((self._large, self._half_head, self._slow_body, self._garbage, self._guess))()

    def watch(self) -> None:
        """The probe of an orchestrator."""
        started_s = time.monotonic()
        local_http.get(f"{self.url}/livez", timeout=30).raise_for_status()
        self.livez_s = max(self.livez_s, time.monotonic() - started_s)
        time.sleep(0.2)

    def _count(self, what: str, answer: httpx.Response) -> None:
        if answer.status_code >= 400:
            self.refused[f"{what} {answer.status_code}"] += 1

    def _send(self, *parts: bytes, wait_s: float = 0.0) -> None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            for part in parts:
                connection.sendall(part)
                time.sleep(wait_s)
            connection.recv(1000)

    def _large(self) -> None:
        signature = f"X-Hub-Signature-256: sha256={'0' * 64}\r\n" if self.random.random() < 0.5 else ""
        head = f"POST /github/webhook HTTP/1.1\r\nHost: x\r\n{signature}Content-Length: {8 << 20}\r\n\r\n"
        self._send(head.encode(), *[bytes(1 << 18)] * 32)

    def _half_head(self) -> None:
        self._send(b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ", b"x", wait_s=0.5)

    def _slow_body(self) -> None:
        path = self.random.choice((b"/login", b"/v1/classify", b"/github/webhook", b"/nothing"))
        self._send(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n" % path, *[b"x"] * 4, wait_s=0.3)

    def _garbage(self) -> None:
        self._send(self.random.choice(GARBAGE))

    def _guess(self) -> None:
        with local_http.Client(base_url=self.url, timeout=60, limits=ANEW) as client:
            log_in(client, "a wrong token of some length")


def memory_mb(process: subprocess.Popen[bytes]) -> float:
    """Resident in a process and its descendants, shared pages counted once."""
    total, waiting = 0, [process.pid]
    while waiting:
        number = waiting.pop()
        with contextlib.suppress(OSError):  # it may have ended
            for task in Path(f"/proc/{number}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
            lines = Path(f"/proc/{number}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def soak(folder: Path, seconds: float, seed: int = 1) -> Figures:
    """Run it for some seconds, then let the bot finish."""
    bundle, database = folder / "toy", f"sqlite:///{folder / 'store.db'}"
    keyword_model.build(bundle)
    github = GitHub(app=True)
    environment = {
        "GITHUB_API_URL": github.url,
        "DISTRIAGE_DATABASE": database,
        "DISTRIAGE_GITHUB_APP_ID": APP_ID,
        "DISTRIAGE_GITHUB_PRIVATE_KEY": app_key_pem(),
        "DISTRIAGE_GITHUB_WEBHOOK_SECRET": SECRET,
        "DISTRIAGE_ADMIN_TOKEN": TOKEN,
        "DISTRIAGE_DEBOUNCE_S": "0",
        "DISTRIAGE_WORKERS": "2",
    }
    samples: list[float] = []
    stop, failures = threading.Event(), list[Exception]()
    with served(bundle, folder / "log", **environment) as (process, port):
        traffic = Traffic(port, github, random.Random(seed))
        rounds: list[tuple[Callable[[], None], float]] = [
            (traffic.deliver, max(0.5, seconds / ISSUES)),
            (traffic.classify, 0.5),
            (traffic.decide, 5.0),
            (traffic.watch, 0.0),
            *[(traffic.attack, 0.3)] * 4,
        ]

        def repeat(action: Callable[[], None], pause_s: float) -> None:
            while not stop.wait(pause_s):
                try:
                    action()
                except Exception as error:
                    failures.append(error)
                    stop.set()

        threads = [threading.Thread(target=repeat, args=each) for each in rounds]
        for thread in threads:
            thread.start()
        started_s = time.monotonic()
        while time.monotonic() < started_s + seconds and not stop.is_set():
            samples.append(memory_mb(process))
            stop.wait(SAMPLE_EVERY_S)
        stop.set()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        with Store.open(database) as store:
            until(lambda: _finished(store))
            given_up = [job for job in store.list_work(Job, "dead") if job.kind == "triage"]
            assert given_up == [], given_up
        samples.append(memory_mb(process))
    half = len(samples) // 4
    lost = [
        reference
        for reference in traffic.references
        if github.labels(reference) != ["symptom: hang"] or not github.comments(reference)
    ]
    set_labels = Counter(
        write.path for write in github.written if write.path.endswith("/labels") and "/issues/" in write.path
    )
    doubled = [reference for reference in traffic.references if len(github.comments(reference)) > 1]
    figures = Figures(
        seconds=round(time.monotonic() - started_s, 1),
        issues=len(traffic.references),
        accepted=traffic.accepted,
        refused=traffic.refused,
        memory_mb=(round(samples[half]), round(max(samples)), round(samples[-1])),
        growth_mb=round(statistics.median(samples[-half:]) - statistics.median(samples[half : 2 * half]), 1),
        livez_s=round(traffic.livez_s, 3),
        lost=len(lost),
        doubled=len(doubled) + sum(count > 1 for count in set_labels.values()),
        log_bytes=(folder / "log").stat().st_size,
    )
    github.close()
    return figures


def _finished(store: Store) -> bool:
    with store.transaction():  # one moment: between two looks a job goes from waiting to leased
        counts = store.counts()
        waiting = store.list_work(Job, "waiting", 10_000)
    deliveries = counts["deliveries"]
    return not (
        deliveries["waiting"] + deliveries["leased"] + counts["jobs"]["leased"]
        or any(job.kind == "triage" for job in waiting)
    )


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    os.environ["NO_PROXY"] = "127.0.0.1,localhost"
    with tempfile.TemporaryDirectory() as folder:
        figures = soak(Path(folder), arguments.seconds, arguments.seed)
        sys.stdout.write(json.dumps({**vars(figures), "refused": dict(figures.refused)}) + "\n")


if __name__ == "__main__":
    main()
