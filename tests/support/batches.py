"""Batches for the engines: reports that differ, some of them damaged."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from distriage.base.types import Mode
from distriage.engine import Settings
from distriage.engine.answers import checked, run_options

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


def leave_unfinished(output: Path, answers: bytes, model: Path) -> None:
    """What a run leaves that was killed: some answers, and its options."""
    part = output.with_name(f"{output.name}.part")
    part.write_bytes(answers)
    options = run_options(*checked(Settings(str(model), Mode.BALANCED)))
    part.with_name(f"{part.name}.json").write_text(json.dumps(options), encoding="utf-8")


def die(_: list[int]) -> list[int]:
    """Work that ends its process."""
    os._exit(1)


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    """200 of them in a file."""
    file = tmp_path / "in.jsonl"
    file.write_bytes(b"".join(lines(200)))
    return file
