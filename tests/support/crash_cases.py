"""The issues of a crash test: what is sent about them, what people do to them, and what must become of each."""

from __future__ import annotations

import hashlib
import hmac
import json
import random
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx

from support import faults
from support.faults import Fault, Trouble
from support.github import PERSON, GitHub
from support.github_http import Request
from support.github_shapes import account

SECRET = "a secret that only GitHub knows"
ISSUES_PER_REPOSITORY = 10
WORDS = {
    "oom": "memory exhausted exhausted",
    "leak": "memory grows grows",
    "hang": "hangs hangs hangs",
    "crash": "segfault segfault segfault",
}
PERHAPS = "It ends with a timeout after ten minutes of training, case {place}."  # of which we hear: perhaps a hang
UNCLEAR = (
    "One worker prints memory and other numbers, drops its connection, and nobody among eight engineers can tell what "
    "it waits for. Case {place} is of the sort {symptom}."
)
KINDS = ("plain", "closed", "late", "plain", "labelled", "taken off", "command", "bot", "locked", "plain")
CONFIG, BROKEN = "axes: {symptom: true}\ncomment: true\n", "axes: {symtom: true}\n"
STALE = account("stale[bot]", 6, "Bot")


class Misfortune:
    """Lets one in some requests fail, in each known way.

    Attributes:
        given: How often each way.
    """

    def __init__(self, seed: int, one_in: int) -> None:
        self._random = random.Random(seed)
        self._one_in = one_in
        self.given: Counter[str] = Counter()

    def __call__(self, request: Request) -> Trouble | None:
        del request
        if self._random.randrange(self._one_in):
            return None
        name, trouble = self._random.choice(
            [
                ("500", Trouble("", Fault(500))),
                ("502 after success", Trouble("", Fault(502), after=True)),
                ("reset", Trouble("", reset=True)),
                ("reset after success", Trouble("", after=True, reset=True)),
                ("secondary limit", Trouble("", faults.secondary_limit(1))),
                ("slow", Trouble("", slow_s=0.2)),
            ]
        )
        self.given[name] += 1
        return trouble


@dataclass
class Case:
    """An issue and what must become of it.

    Attributes:
        is_doubtful: Only the second reader can tell the symptom.
        is_perhaps: A hang is suggested to a person, and no label is set.
    """

    reference: str
    kind: str
    symptom: str
    installation: int
    is_doubtful: bool = False
    is_perhaps: bool = False

    @property
    def state(self) -> str:
        """On GitHub, in the end."""
        return "closed" if self.kind == "closed" else "open"

    @property
    def labels(self) -> list[str]:
        """The labels that it must have in the end."""
        if self.is_perhaps:
            return []
        wanted = {"labelled": "leak", "command": "leak", "taken off": None, "bot": None}.get(self.kind, self.symptom)
        return [f"symptom: {wanted}"] if wanted else []

    @property
    def comments(self) -> int:
        """The bot's comments that it must have, or at most where `may_lack_comment`.

        Where a person chose another label or took the bot's off, there is nothing left to say.
        """
        return 0 if self.kind in {"bot", "locked", "labelled", "taken off"} else 1

    @property
    def may_lack_comment(self) -> bool:
        """It may be closed, or decided by a person, before the bot looks at it, and then nothing is written."""
        return self.kind in {"closed", "command"}


def open_issues(github: GitHub, number: int, *, doubtful: bool = False, suggestions: bool = False) -> list[Case]:
    """Issues of all kinds, as they stand before the bot sees them.

    Args:
        doubtful: Of those that people leave alone, the first reader can tell no symptom.
        suggestions: They are on, and half of those that people leave alone are only perhaps a hang.
    """
    cases = []
    for place in range(number):
        repository, kind, symptom = (
            f"owner/repo{place // ISSUES_PER_REPOSITORY}",
            KINDS[place % len(KINDS)],
            list(WORDS)[place % 4],
        )
        is_doubtful = doubtful and kind in {"plain", "closed", "late", "locked"}
        is_perhaps = suggestions and kind in {"plain", "closed", "late", "locked"} and place % 2 == 1
        installation = place // ISSUES_PER_REPOSITORY + 1
        case = Case(f"{repository}#{place + 1}", kind, symptom, installation, is_doubtful, is_perhaps)
        github.installations.add(place // ISSUES_PER_REPOSITORY + 1)
        github.files[f"{repository}/.github/distriage.yml"] = CONFIG + ("suggestions: perhaps\n" if suggestions else "")
        if suggestions:
            github.suggesting.add(repository)
        body = UNCLEAR.format(place=place, symptom=symptom) if is_doubtful else WORDS[symptom]
        github.open(case.reference, "It fails", PERHAPS.format(place=place) if is_perhaps else body)
        if kind == "labelled":
            github.label(case.reference, "symptom: leak", PERSON)
        elif kind == "taken off":
            github.label(case.reference, f"symptom: {symptom}", github.bot)
            github.unlabel(case.reference, f"symptom: {symptom}", PERSON)
        elif kind == "bot":
            github.issues[case.reference]["user"] = account("renovate[bot]", 5, "Bot")
        elif kind == "locked":
            github.issues[case.reference]["locked"] = True
        cases.append(case)
    return cases


def make_deliveries(github: GitHub, cases: list[Case], number: int, rng: random.Random) -> list[tuple[str, str, bytes]]:
    """`number` deliveries as (event, id, body), an issue's first ones in their order; some come twice."""
    events: list[tuple[str, str, bytes]] = []
    queues = [
        [("issues", "opened", case)] + ([("issue_comment", "created", case)] if case.kind == "command" else [])
        for case in cases
    ]
    while any(queues):
        queue = rng.choice([queue for queue in queues if queue])
        event, action, case = queue.pop(0)
        more: dict[str, Any] = {}
        if event == "issue_comment":
            more["comment"] = github.comment(case.reference, "/triage wrong symptom=leak", PERSON)
        events.append(_delivery(github, event, action, case, more))
    while len(events) < number:
        if rng.random() < 0.25:
            events.insert(rng.randrange(len(events)), rng.choice(events))  # the same id, the same body
        else:
            action = rng.choice(["edited", "edited", "labeled", "reopened"])
            events.append(_delivery(github, "issues", action, rng.choice(cases), {}))
    return events


def _delivery(github: GitHub, event: str, action: str, case: Case, more: dict[str, Any]) -> tuple[str, str, bytes]:
    payload = github.payload(action, case.reference, **more)
    payload["installation"] = {"id": case.installation}
    return event, str(uuid.uuid4()), json.dumps(payload).encode()


@dataclass
class Happenings:
    """What befalls repositories and issues in the middle of a run, and what GitHub tells of it.

    A bot closes an issue; somebody closes and reopens another, and the closing is told last; a repository's
    configuration is broken for a while; a repository gets another name, while deliveries with the old one are under
    way.
    """

    github: GitHub
    cases: list[Case]
    number: int
    rng: random.Random

    def __post_init__(self) -> None:
        self._at: dict[int, list[Callable[[], list[tuple[str, str, bytes]]]]] = {}
        last = self.number // 2
        for case in self.cases:
            if case.kind == "closed":
                self._plan(self.rng.randrange(last), partial(self._close, case))
            elif case.kind == "late":
                self._plan(self.rng.randrange(last), partial(self._close_and_reopen, case))
        firsts = self.cases[::ISSUES_PER_REPOSITORY]
        for place, case in enumerate(firsts):
            repository = case.reference.partition("#")[0]
            if place % 4 == 1:
                broken_at = self.rng.randrange(self.number // 3)
                self._plan(broken_at, partial(self._configure, case, BROKEN, told=False))
                good = self.github.files[f"{repository}/.github/distriage.yml"]
                self._plan(broken_at + self.number // 3, partial(self._configure, case, good, told=place % 8 == 1))
            if place % 4 == 2:
                at = self.number // 3 + self.rng.randrange(self.number // 3)
                self._plan(at, partial(self._rename, repository, f"owner/renamed{place}"))

    def at(self, place: int) -> list[tuple[str, str, bytes]]:
        """Let happen what happens before the n-th delivery; what GitHub tells of it."""
        return [told for happening in self._at.get(place, []) for told in happening()]

    def _plan(self, place: int, happening: Callable[[], list[tuple[str, str, bytes]]]) -> None:
        self._at.setdefault(place, []).append(happening)

    def _close(self, case: Case) -> list[tuple[str, str, bytes]]:
        self.github.issues[case.reference] |= {"state": "closed", "updated_at": "2024-05-01T11:00:00Z"}
        return [_delivery(self.github, "issues", "closed", case, {"sender": STALE})]

    def _close_and_reopen(self, case: Case) -> list[tuple[str, str, bytes]]:
        issue = self.github.issues[case.reference]
        closing = {**issue, "state": "closed", "updated_at": "2024-05-01T11:00:00Z"}
        issue["updated_at"] = "2024-05-01T12:00:00Z"
        reopened = _delivery(self.github, "issues", "reopened", case, {})
        return [reopened, _delivery(self.github, "issues", "closed", case, {"issue": closing})]

    def _configure(self, case: Case, text: str, *, told: bool) -> list[tuple[str, str, bytes]]:
        repository = case.reference.partition("#")[0]
        self.github.files[f"{repository}/.github/distriage.yml"] = text
        if text == BROKEN:
            return []
        if not told:  # the next event of any issue of the repository brings the others back
            return [_delivery(self.github, "issues", "edited", case, {})]
        push = {"ref": "refs/heads/main", "commits": [{"modified": [".github/distriage.yml"]}]}
        return [self._about(repository, case.installation, "push", push)]

    def _rename(self, old: str, new: str) -> list[tuple[str, str, bytes]]:
        self.github.rename(old, new)
        moved = [case for case in self.cases if case.reference.startswith(f"{old}#")]
        for case in moved:
            case.reference = f"{new}#{case.reference.partition('#')[2]}"
        changes = {"repository": {"name": {"from": old.partition("/")[2]}}}
        told = {"action": "renamed", "changes": changes}
        return [self._about(new, moved[0].installation, "repository", told)]

    def _about(self, repository: str, installation: int, event: str, more: dict[str, Any]) -> tuple[str, str, bytes]:
        payload = {
            "repository": {"full_name": repository, "default_branch": "main"},
            "installation": {"id": installation},
            "sender": PERSON,
            **more,
        }
        return event, str(uuid.uuid4()), json.dumps(payload).encode()


def send(client: httpx.Client, delivery: tuple[str, str, bytes], *, signed: bool = True) -> int:
    """Hand a delivery over; the status of the answer."""
    event, delivery_id, body = delivery
    signature = hmac.new(SECRET.encode() if signed else b"another", body, hashlib.sha256).hexdigest()
    headers = {
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": delivery_id,
        "X-Hub-Signature-256": f"sha256={signature}",
        "Content-Type": "application/json",
    }
    return client.post("/github/webhook", content=body, headers=headers).status_code
