"""Work for the model's processes. Functions travel by name; this module is light, since it is imported there."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

from distriage.errors import ConfigError
from distriage_serving.web.model_process import Model


def double(_: Model, number: int) -> int:
    """Twice the number; 13 fails."""
    if number == 13:
        raise ValueError("13 is said by a report")
    return 2 * number


def wait_for(_: Model, gate: Path, number: int) -> int:
    """Note the number once the gate is open."""
    while not gate.exists():
        time.sleep(0.01)
    with (gate.parent / "calls").open("a") as stream:
        stream.write(f"{number} ")
    return 2 * number


def refuse(_: Model) -> None:
    """One of our own errors."""
    raise ConfigError("so it is configured")


def keep_the_gil(_: Model) -> None:
    """Stay in a native call: an exponential pattern."""
    re.match(r"(a*)*b", "a" * 100)


def die(_: Model) -> None:
    """As when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)


def sleep(_: Model, seconds: float) -> None:
    """Wait without work."""
    time.sleep(seconds)


def ignored_signals(_: Model) -> list[bool]:
    """Of SIGINT and SIGTERM."""
    return [signal.getsignal(number) == signal.SIG_IGN for number in (signal.SIGINT, signal.SIGTERM)]


def meet(_: Model, folder: Path, number: int, other: int) -> int:
    """Wait until the work of another number is being done, too; the process's id."""
    (folder / str(number)).touch()
    while not (folder / str(other)).exists():
        time.sleep(0.01)
    return os.getpid()


def process_id(_: Model) -> int:
    """Of the process."""
    return os.getpid()
