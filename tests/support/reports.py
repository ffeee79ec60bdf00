"""Reports to classify."""

from __future__ import annotations

import json

from distriage.base.types import IssueReport

from support.checkout import REPOSITORY

NCCL_TIMEOUT = """Training hangs after 1200 steps on 2 nodes with 8 A100 each.

```
[rank3]: RuntimeError: NCCL communicator was aborted on rank 3. Watchdog caught collective operation timeout
```
deepspeed 0.14.2, torch 2.3.0, Ubuntu 22.04
"""


def make_report(
    title: str = "NCCL timeout in all_reduce",
    body: str = NCCL_TIMEOUT,
    id: str = "owner/repo#1",  # noqa: A002
) -> IssueReport:
    """A plausible report; a test names only what it is about."""
    return IssueReport(title=title, body=body, id=id)


def restated_reports(count: int = 200, long: int = 10) -> list[IssueReport]:
    """Restated reports, spread over the shortest quarter, which take least time, and some of the longest quarter."""
    file = REPOSITORY / "training" / "corpus" / "restated.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    rows.sort(key=lambda row: (len(row["body"]), row["id"]))
    quarter = len(rows) // 4
    drawn = [*_spread(rows[:quarter], count - long), *_spread(rows[-quarter:], long)]
    return [IssueReport(row["title"], row["body"]) for row in sorted(drawn, key=lambda row: str(row["id"]))]


def _spread(rows: list[dict[str, str]], count: int) -> list[dict[str, str]]:
    return rows[:: len(rows) // count][:count]
