"""Lines without the prefixes of launchers, log collectors and loggers; the table is `prefixes.toml`. Pure.

A prefix that a launcher adds says which process wrote the line. Those of `docker compose`, `srun -l` and `pdsh` look like
any word with a colon, so they are taken off only where several lines of a block agree on them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from distriage.base.texts import packaged_table, regex

MAX_PREFIXES = 6  # of a line: kubectl's, the time, the rank's, the logger's
_AGREE = 0.8  # of a block's lines have the prefix
_TRACEBACK_WORDS = "Traceback (most recent"
_TRACEBACK = regex(r'\s*(?:\[[\w,.-]{1,40}\](?:<\w+>)?: ?)?(?:Traceback \(most recent| +File ")')
_PROCESS = regex(
    r"(?![\w.]*(?:Error|Exception|Warning)$)[\w.-]*[\d.-]"
)  # a host's name has a digit, a hyphen or a dot; most words before a colon do not
_PROGRESS = regex(r"[^|\n]{0,120}\d%\|[^|\n]{0,200}\| *[\d.]+[kMGT]?/[^\]\n]{0,200}(?:\]|$)")
_MESSAGES = ("message", "msg", "log", "text", "event")
_BESIDE = ("exc_info", "exception", "stack_trace", "stack", "traceback", "error")
_LOGGED = ("level", "levelname", "severity", "time", "ts", "timestamp", "asctime", "stream", "record", *_BESIDE)
_PROCESSES = ("rank", "pod", "host", "hostname")
_BOX = "│┃"
_BOX_EDGES = "╭╰┏┗┡└├"
_RICH_FRAME = regex(r"(\S{1,400}):(\d{1,7}) in (\S.{0,80})")
_RICH_SOURCE = regex(r"❱\s+\d+\s?(.*)")
_RICH_PLACE = regex(r" {3,}[\w.]{1,60}\.py:\d{1,6}$")


@cache
def table() -> Mapping[str, Sequence[Mapping[str, str]]]:
    """`prefixes.toml`: outer, shared, inner -> their prefixes."""
    return packaged_table(__package__, "prefixes.toml")


@cache
def _patterns() -> tuple[re.Pattern[str], Sequence[re.Pattern[str]], re.Pattern[str]]:
    one = {part: "|".join(row["pattern"] for row in table()[part]) for part in ("outer", "inner")}
    return (
        re.compile(rf"\s*(?:{one['outer']})"),
        [re.compile(row["pattern"]) for row in table()["shared"]],
        re.compile(rf"\s*(?:{one['inner']}) ?"),
    )


def bare_lines(lines: Sequence[str]) -> list[tuple[int, str, str]]:
    """The lines of a block without launchers' and collectors' prefixes: place in `lines`, text, process ("" unknown).

    A line of JSON becomes the lines of its message; of a box that Rich draws the frames of its traceback stay.
    """
    found: list[tuple[int, str, str]] = []
    for place, raw in enumerate(lines):
        line = _last_written(raw) if "\r" in raw else raw
        text, process = _without_outer(line)
        if text.startswith("{") and (logged := _logged(text)):
            found += ((place, one, logged[1] or process) for one in logged[0])
        else:
            found.append((place, text, process))
    found = _without_shared(found)
    if any(text.lstrip()[:1] in _BOX_EDGES for _, text, _ in found if text.strip()):
        found = _unboxed(found)
    return found


def without_logger(text: str) -> str:
    """A line of a log without a progress bar, times, levels and the logger's place at its beginning.

    The indentation behind them stays. Blanks at the end go only if there was a prefix: other lines stay as written.
    """
    inner = _patterns()[2]
    if "%|" in text:
        text = _PROGRESS.sub("", text, 1)
    begin = 0
    for _ in range(MAX_PREFIXES):
        match = inner.match(text, begin)
        if match is None or match.end() == begin:
            break
        begin = match.end()
    return text[begin:].rstrip() if begin else text


def _last_written(line: str) -> str:
    """An overwritten line, such as a progress bar, as a terminal shows it."""
    return next((part for part in reversed(line.split("\r")) if part.strip()), "")


def _without_outer(line: str) -> tuple[str, str]:
    outer = _patterns()[0]
    process, begin = "", 0
    for _ in range(MAX_PREFIXES):
        match = outer.match(line, begin)
        if match is None:
            break
        begin = match.end()
        if match.lastindex:
            process = match[match.lastindex]
    return (line[begin:] if begin else line), process


def _logged(line: str) -> tuple[list[str], str] | None:
    """The lines of the message that a log's line of JSON holds, and its process."""
    try:
        entry: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or not any(key in entry for key in _LOGGED):
        return None
    message = next((entry[key] for key in _MESSAGES if isinstance(entry.get(key), str)), None)
    if message is None:
        return None
    beside = (entry[key] for key in _BESIDE if isinstance(entry.get(key), str))
    process = next((str(entry[key]) for key in _PROCESSES if isinstance(entry.get(key), str | int)), "")
    return "\n".join((message, *beside)).rstrip("\n").split("\n"), process


def _without_shared(lines: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    filled = [text for _, text, _ in lines if text.strip()]
    if len(filled) < 3:
        return lines
    has_traceback = any(_TRACEBACK_WORDS in text for text in filled)
    for pattern in _patterns()[1]:
        if not has_traceback and not any(map(pattern.match, filled[:2])):
            continue  # so that fewer lines agree
        matches = [pattern.match(text) for _, text, _ in lines]
        names = Counter(match[1] for match in matches if match)
        taken = {name for name, count in names.items() if count >= 3 and _PROCESS.match(name)}
        if sum(names[name] for name in taken) < _AGREE * len(filled):
            taken = {match[1] for match in matches if match and _TRACEBACK.match(match.string, match.end())}
        if taken:
            return list(_taken_off(lines, matches, taken))
    return lines


def _taken_off(
    lines: Sequence[tuple[int, str, str]], matches: Sequence[re.Match[str] | None], names: set[str]
) -> Iterator[tuple[int, str, str]]:
    for (place, text, process), match in zip(lines, matches, strict=True):
        if match is None or match[1] not in names:
            yield place, text, process
        else:
            rest, inside = _without_outer(text[match.end() :])
            yield place, rest, inside or process or match[1]


def _unboxed(lines: Sequence[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    """Rich's box around a traceback, as Python prints one; of other boxes the text."""
    found: list[tuple[int, str, str]] = []
    pending = ""  # the beginning of a path that Rich broke
    in_traceback = False
    for place, text, process in lines:
        inside = text.strip()
        if inside[:1] in _BOX_EDGES and inside:
            in_traceback = "Traceback (most recent call last)" in inside or (in_traceback and inside[0] not in "╰┗└")
            if "Traceback (most recent call last)" in inside:
                found.append((place, "Traceback (most recent call last):", process))
        elif inside[:1] not in _BOX or not inside:
            found.append((place, _RICH_PLACE.sub("", text), process))
        elif not in_traceback:
            found.append((place, inside.strip(_BOX + " "), process))
        else:
            inside = pending + inside.strip(_BOX + " ")
            pending = ""
            if frame := _RICH_FRAME.fullmatch(inside):
                found.append((place, f'  File "{frame[1]}", line {frame[2]}, in {frame[3]}', process))
            elif source := _RICH_SOURCE.match(inside):
                found.append((place, f"    {source[1].strip()}", process))
            elif inside.startswith("/") and " " not in inside and len(inside) < 1000:
                pending = inside
    return found
