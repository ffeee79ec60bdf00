"""A log, folded: each line once, of each traceback the last frames. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from distriage.base.texts import regex
from distriage.segments import Role
from distriage.segments.roles import frame_of, is_native_frame

KEPT_FRAMES = 3
MAX_FRAME_CHARS = 160  # a frame with the source line under it

DIGITS = regex(r"\d+")
_MARKERS = frozenset("^~ ")
_AROUND_FRAMES = regex(  # the same in every traceback
    r"Traceback \(most recent|During handling of the above exception|The above exception was the direct cause"
)


def fold(lines: Iterable[str]) -> list[str]:
    """Each line once."""
    return list(dict.fromkeys(lines))


def fold_log(lines: Iterable[tuple[str, Role]]) -> list[str]:
    """Each line once, numbers and ranks apart; of each traceback the last frames."""
    folded: list[str] = []
    frames: list[str] = []  # of the traceback that is being read
    seen: set[str] = set()
    for raw, role in lines:
        line = raw.strip()
        if role is Role.FRAME:
            _add_frame(frames, line)
        elif any(map(str.isalnum, line)) and not _AROUND_FRAMES.search(line):
            key = DIGITS.sub("0", line)
            if key not in seen:
                folded += (frame for frame in frames[-KEPT_FRAMES:] if frame not in seen)
                folded.append(line)
                seen.update(frames[-KEPT_FRAMES:], (key,))
            frames.clear()
    # The frames of a traceback that the log breaks off in.
    return folded + [frame for frame in frames[-KEPT_FRAMES:] if frame not in seen]


def _add_frame(frames: list[str], line: str) -> None:
    frame = frame_of(line)
    if frame is not None:
        frames.append(frame)
    elif (
        frames
        and len(frames[-1]) < MAX_FRAME_CHARS
        and not (is_native_frame(line) or _MARKERS.issuperset(line) or _AROUND_FRAMES.search(line))
    ):
        frames[-1] += " " + line  # the source line under a frame shows the call
