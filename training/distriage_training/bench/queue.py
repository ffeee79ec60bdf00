"""The triage queue over HTTP: how long its pages take, and how large they are, with many open issues."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from distriage.base.errors import DistriageError
from distriage.base.types import IssueReport
from distriage_training.bench import load
from distriage_training.bench.inputs import milliseconds, summary
from distriage_training.bench.spawn import in_child

FILL = "distriage_serving.demo.fill"  # runs in a process of its own: the packages never import each other
LISTS = ("", "?order=newest", "?decision=suggest", "?decision=abstain")
CHARTS = 10
TOKEN = secrets.token_hex(16)


def fill(bundle: Path, reports: Sequence[IssueReport], issues: int, database: str, folder: Path) -> None:
    """Put so many open issues, with these texts in turn, into an empty database.

    Raises:
        DistriageError: it cannot be filled, or is not empty.
    """
    texts = folder / "issues.jsonl"
    lines = (json.dumps({"title": report.title, "body": report.body}) for report in reports)
    texts.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    in_child("fill", module=FILL, bundle=bundle, reports=texts, count=issues, database=database)


def measure(bundle: Path, reports: Sequence[IssueReport], issues: int, database: str, folder: Path) -> dict[str, Any]:
    """Milliseconds and kB of each kind of page of a database that `fill` filled; each is asked for once per report.

    Raises:
        DistriageError: a page cannot be shown.
    """
    settings = {"DISTRIAGE_DATABASE": database, "DISTRIAGE_ADMIN_TOKEN": TOKEN}
    count = len(reports)
    words = (quote(max(report.title.split(), key=len, default="")) for report in reports)
    nowhere = (f"nowhere-{number}" for number in range(count))  # the whole table is read
    pages = {
        "list": [f"/queue{query}" for query in islice(cycle(LISTS), count)],
        "issue": [f"/queue/demo/trainer/{1 + number * issues // count}" for number in range(count)],
        "search": [f"/queue?search={word}" for pair in zip(words, nowhere, strict=True) for word in pair][:count],
        "charts": ["/queue/charts"] * CHARTS,
    }
    with (
        load.ours(bundle, 1, folder / "queue.log", settings) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=load.ANSWER_S) as client,
    ):
        form = re.search(r'name="csrf" value="([^"]+)"', _get(client, "/login").text)
        client.post("/login", data={"csrf": form[1] if form else "", "token": TOKEN})
        return {name: _timed(client, paths) for name, paths in pages.items()}


def _timed(client: httpx.Client, paths: Sequence[str]) -> dict[str, float]:
    sizes = [len(_get(client, paths[0]).content)]  # the first of a kind is not timed
    times = [milliseconds(lambda: sizes.append(len(_get(client, path).content))) for path in paths]  # noqa: B023
    return {**summary(times), "kb": round(max(sizes) / 1000, 1)}


def _get(client: httpx.Client, path: str) -> httpx.Response:
    answer = client.get(path)
    if answer.status_code != httpx.codes.OK:
        raise DistriageError(f"{path}: the server answered {answer.status_code}")
    return answer
