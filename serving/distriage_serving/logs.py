"""The log: one JSON object per line on standard output, without any text of a report, even in exceptions."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

LOGGER: Final = logging.getLogger("distriage_serving")
LOGGER.addHandler(logging.NullHandler())  # a command that keeps no log says what it must say itself
_FIELDS: Final = "fields"
OTHERS_A_MINUTE: Final = 20


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON.

    An exception is logged by its type and frames: messages quote the values that they complain of, and those may be a
    reporter's words. For the same reason only our own records and uvicorn's keep their text.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line, without its end."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if record.name.partition(".")[0] in {LOGGER.name, "uvicorn"}:
            line["event"] = record.getMessage()
        line.update(getattr(record, _FIELDS, {}))
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["frames"] = [
                f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
                for frame in traceback.extract_tb(record.exc_info[2])
            ]
        return json.dumps(line, ensure_ascii=True)


class OthersAtMost(logging.Filter):
    """Limits the lines a minute from one place in another library: strangers must not be able to fill the disk."""

    def __init__(self, lines: int, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._lines = lines
        self._clock = clock
        self._minute = 0
        self._counts: Counter[tuple[str, int]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write it."""
        if record.name == LOGGER.name:
            return True
        minute = int(self._clock() // 60)
        if minute != self._minute:
            self._minute = minute
            self._counts.clear()
        self._counts[record.pathname, record.lineno] += 1
        return self._counts[record.pathname, record.lineno] <= self._lines


def log(level: int, event: str, exception: BaseException | None = None, **fields: object) -> None:
    """Write one line.

    Args:
        event: One of a few constant names.
        exception: Adds its type and frames.
        fields: Figures and short names; never text of a report.
    """
    LOGGER.log(level, event, exc_info=exception, extra={_FIELDS: fields})


def without_message(error: BaseException) -> str:
    """An error by type and place, `KeyError at worker.py:12`: its message may quote a report."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


def configure_logging(level: str) -> None:
    """Send all logging of this process through `JsonFormatter`."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(OthersAtMost(OTHERS_A_MINUTE))
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    # httpx logs a line for each request to GitHub, and `JsonFormatter` leaves out its text: an empty line.
    logging.getLogger("httpx").setLevel(max(logging.WARNING, logging.getLogger().level))
