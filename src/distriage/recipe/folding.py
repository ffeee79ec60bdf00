"""A log, folded: each line once, of each traceback the last frames. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from distriage.segments.lines import frame_of, is_native_frame, names_exception, raises, without_prefixes

KEPT_FRAMES = 3
MAX_FRAME_CHARS = 160  # a frame with the source line under it

_DIGITS = re.compile(r"\d+")
_MARKERS = frozenset("^~ ")
_AROUND_FRAMES = re.compile(  # what is the same in every traceback
    r"Traceback \(most recent|During handling of the above exception|The above exception was the direct cause"
)


def fold(lines: Iterable[str]) -> list[str]:
    """Fold consecutive lines of one kind: each line once (numbers and ranks apart), of each traceback the last frames."""
    folder = _Folder()
    for line in lines:
        folder.add(line)
    return folder.end()


class _Folder:
    def __init__(self) -> None:
        self._folded: list[str] = []
        self._frames: list[str] = []  # of the traceback that is being read
        self._seen: set[str] = set()
        self._after_frame = False

    def add(self, raw: str) -> None:
        line = without_prefixes(raw)
        frame = frame_of(line)
        if frame is not None:
            self._frames.append(frame)
            self._after_frame = True
            return
        after_frame, self._after_frame = self._after_frame, False
        if after_frame and raw[:1].isspace() and self._takes_source(line):
            self._frames[-1] += " " + line  # the source line under a frame says what was called
        elif _says_something(line):
            self._add_message(line)

    def _takes_source(self, line: str) -> bool:
        if not self._frames or len(self._frames[-1]) >= MAX_FRAME_CHARS:
            return False
        return raises(line) or not names_exception(line)

    def _add_message(self, line: str) -> None:
        key = _DIGITS.sub("0", line)
        if key not in self._seen:
            self._seen.add(key)
            for frame in self._frames[-KEPT_FRAMES:]:
                if frame not in self._seen:
                    self._seen.add(frame)
                    self._folded.append(frame)
            self._folded.append(line)
        self._frames.clear()

    def end(self) -> list[str]:
        """The folded lines, with the frames of a traceback that the log breaks off in."""
        return self._folded + [frame for frame in self._frames[-KEPT_FRAMES:] if frame not in self._seen]


def _says_something(line: str) -> bool:
    return not (not line or _AROUND_FRAMES.search(line) or is_native_frame(line) or _MARKERS.issuperset(line))
