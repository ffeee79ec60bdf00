"""Work for the model's processes. Functions travel by name; this module is light, since it is imported there."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

from distriage.base.errors import ConfigError
from distriage.classifier import Classifier


def double(_: Classifier, number: int) -> int:
    """Twice the number; 13 fails."""
    if number == 13:
        raise ValueError("13 is said by a report")
    return 2 * number


def wait_for(_: Classifier, gate: Path, number: int) -> int:
    """Note the number once the gate is open."""
    while not gate.exists():
        time.sleep(0.01)
    with (gate.parent / "calls").open("a") as stream:
        stream.write(f"{number} ")
    return 2 * number


def refuse(_: Classifier) -> None:
    """One of our own errors."""
    raise ConfigError("so it is configured")


def keep_the_gil(_: Classifier) -> None:
    """Stay in a native call: an exponential pattern."""
    re.match(r"(a*)*b", "a" * 100)


def die(_: Classifier) -> None:
    """As when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)


def sleep(_: Classifier, seconds: float) -> None:
    """Wait without work."""
    time.sleep(seconds)


def ignored_signals(_: Classifier) -> list[bool]:
    """Of SIGINT and SIGTERM."""
    return [signal.getsignal(number) == signal.SIG_IGN for number in (signal.SIGINT, signal.SIGTERM)]


def meet(_: Classifier, folder: Path, number: int, other: int) -> int:
    """Wait until the work of another number is being done, too; the process's id."""
    (folder / str(number)).touch()
    while not (folder / str(other)).exists():
        time.sleep(0.01)
    return os.getpid()


def process_id(_: Classifier) -> int:
    """Of the process."""
    return os.getpid()
