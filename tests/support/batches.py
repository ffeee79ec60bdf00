"""Batches for the engines: reports that differ, some of them damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

WORDS = ("hangs", "memory exhausted", "grows", "segfault", "how", "timeout")


def lines(number: int) -> list[bytes]:
    """Reports that differ, two of three without an id, every 17th damaged."""
    return [
        b"{broken\n"
        if i % 17 == 16
        else json.dumps(
            {"title": f"{WORDS[i % 6]} {i}", "body": WORDS[i // 6 % 6] * (i % 5)}
            | ({"id": f"a/b#{i}"} if i % 3 else {})
        ).encode()
        + b"\n"
        for i in range(number)
    ]


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    """200 of them in a file."""
    file = tmp_path / "in.jsonl"
    file.write_bytes(b"".join(lines(200)))
    return file
