"""What a call of the command line left behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Finished:
    """What a call of the command line left behind."""

    code: int
    out: str
    err: str


Command = Callable[..., Finished]


def assert_one_line(finished: Finished, *parts: str) -> None:
    """Exit code 2, nothing on standard output, one line on standard error that holds `parts`."""
    assert finished.code == 2, finished
    assert finished.out == ""
    assert finished.err.startswith("distriage: ") and finished.err.endswith("\n") and finished.err.count("\n") == 1, (
        finished.err
    )
    for part in parts:
        assert part in finished.err
