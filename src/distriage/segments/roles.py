"""The role of a log line: an error and which, a frame of a traceback, a notice; the tables are in `roles.toml`.
Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from distriage.base.texts import folded, packaged_table, regex
from distriage.segments.types import Line, Role, Segments

_FRAME = regex(
    r'\s*(?:File )?"?([^\s",]{1,300}\.(?:py|pyx|cpp|cc|cu|h|cuh|c))"?(?:, line |:)(\d+)(?![\d\]]|:\d|: (?:fatal )?error|: \w{1,60}Warning)(?:, in (\S{1,80}))?'
)
_NATIVE_FRAME = regex(r"\s*(?:frame )?#\d+:? ")
_NAME = regex(r"([A-Za-z_][\w.]{0,200})(?=: |:?$)")
_ENDING = regex(r"[A-Za-z_][\w.<>]{0,200}(?:: |:?$)")
_ENDS = ("Error", "Exception", "Interrupt", "Failure", "Timeout", "Exit", "Abort", "Failed")
_QUOTED = regex(
    r"(?<![\w.])(?:[A-Za-z_]\w{0,60}\.){0,8}(?=[A-Z])\w{0,80}(?:Error|Exception)(?:: |\((?!\)|f?[\"']?\{|$))"
)
_PLAIN = regex(r"(?:^|[\s:])(?:fatal )?error: ")
_SOURCE = regex(
    r"\s*(?:raise|except|assert|return|if|elif|with|for|import|from|class|def)\b|.*\braise(?: |_from\()[A-Za-z_][\w.]{0,80}\("
)
_FATAL = regex(
    r"\b(?:errors?|failed|failure|fatal|abort(?:ed|ing)?|killed|refused|unreachable|timed?[ -]?out|timeout|deadlock"
    r"|hang(?:s|ing)?|stuck|overflow|nan|inf|mismatch|unsupported"
    r"|not (?:supported|found|implemented|available|built|compiled)|invalid|denied|cannot|can't|could not|unable to"
    r"|no such|exit(?:ed)? (?:code|status)|non-zero|unexpected|missing|crash(?:ed|es)?|exception|broken pipe"
    r"|reset by peer|in use|leak|oom)\b"
    r"|卡住|报错|失败|错误|无法|超时|不支持|显存|溢出|崩溃"
)

_ENDED = regex(r"Signal \d+ \(SIG|exit ?code|exit status|return code|on signal|[a-z]Error: |[a-z]Exception: ")
_ENDED_BY_LAUNCHER = regex(r"-15\b|SIGTERM")

_WORDS = regex(r"\w+")
_TO_BLANKS = {code: " " for code in range(128) if not _WORDS.match(chr(code))}


class Entry(NamedTuple):
    """An entry of `roles.toml`.

    Attributes:
        parts: Parts of a line, in this order.
        at_start: The first part begins the line.
        words: All parts', in lower case.
    """

    parts: tuple[str, ...]
    at_start: bool
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The entries of `roles.toml`; `of` keeps those that can occur in a text, so that each line is compared with
    few."""

    errors: Sequence[Entry]
    cascade: Sequence[Entry]
    teardown: Sequence[Entry]
    wrappers: Sequence[Entry]
    notices: Sequence[Entry]

    def of(self, text: str) -> Vocabulary:
        """Those whose words a text has."""
        words = set(_words_of(folded(text)))

        def seen(rows: Sequence[Entry]) -> list[Entry]:
            return [row for row in rows if row.words <= words]

        return Vocabulary(*map(seen, (self.errors, self.cascade, self.teardown, self.wrappers, self.notices)))

    def role(self, line: str) -> Role:
        """The role of a line of a log, other than a frame."""
        if stands_in(self.notices, line):
            return Role.NOTICE
        if stands_in(self.teardown, line) or stands_in(self.wrappers, line):
            return Role.TEARDOWN
        if stands_in(self.cascade, line):
            return Role.CASCADE
        return Role.INITIATING if self.is_error(line) else Role.NONE

    def is_error(self, line: str) -> bool:
        """Whether a line of a log is an error: it begins with an exception's name, quotes one, or says a phrase of errors."""
        if names_exception(line):
            return True
        if _SOURCE.match(line):
            return False
        words = folded(line)
        return quotes_exception(line) or any(_is_word(error.parts[0], words) for error in self.errors)


@cache
def vocabulary() -> Vocabulary:
    """All entries of `roles.toml`."""
    rows = packaged_table(__package__, "roles.toml")
    kinds = ("errors", "cascade", "teardown", "wrappers", "notices")
    return Vocabulary(*([_entry(text) for text in rows[kind]] for kind in kinds))


def _entry(text: str) -> Entry:
    parts = tuple(text.removeprefix("^").split(" … "))
    return Entry(parts, text.startswith("^"), frozenset(_WORDS.findall(folded(text))))


def _words_of(text: str) -> list[str]:
    """The words of a text; nearly always it is ASCII, and then this is three times as fast as the pattern."""
    return text.translate(_TO_BLANKS).split() if text.isascii() else _WORDS.findall(text)


def stands_in(rows: Iterable[Entry], line: str) -> bool:
    """Whether the words of an entry occur in a line, in their order."""
    for parts, at_start, _ in rows:
        place = line.find(parts[0])
        if place < 0 or (at_start and place):
            continue
        for part in parts[1:]:
            place = line.find(part, place)
            if place < 0:
                break
        else:
            return True
    return False


def _is_word(phrase: str, words: str) -> bool:
    place = words.find(phrase)
    return place >= 0 and not (place and words[place - 1].isalnum() and phrase[0].isalnum())


def names_exception(line: str) -> bool:
    """Whether a line begins with the name of an exception, its message behind it or nothing."""
    match = _NAME.match(line)
    if match is None:
        return False
    name = match[1].rpartition(".")[2]
    return name.endswith(_ENDS) and any(map(str.isupper, name[0]))


def ends_traceback(line: str) -> bool:
    """Whether a line can be the last of a traceback: an exception's name, its message behind it or nothing."""
    return _ENDING.match(line) is not None


def quotes_exception(line: str) -> bool:
    """Whether a line names an exception with its message (`it ends with RuntimeError: ...`), or an error (`error: ...`)."""
    if ("Error" in line or "Exception" in line) and _QUOTED.search(line):
        return True
    return _PLAIN.search(folded(line)) is not None


def names_failure(line: str) -> bool:
    """Whether a line holds a word for a failure, in English or Chinese."""
    return _FATAL.search(folded(line)) is not None


def frame_of(line: str) -> str | None:
    """The last three parts of a traceback frame's path, and the function; None for other lines."""
    match = _FRAME.match(line)
    if match is None:
        return None
    path = "/".join(match.group(1).split("/")[-3:])
    return f"{path} {match.group(3) or ''}".strip()


def is_native_frame(line: str) -> bool:
    """Whether a line is a frame of a native stack (`frame #3: ...`)."""
    return _NATIVE_FRAME.match(line) is not None


def ends_of_processes(report: Segments) -> Iterator[Line]:
    """A launcher's lines about the end of a process, except of those that it ended itself."""
    for segment in report.all:
        for line in segment.lines:
            if line.role is Role.TEARDOWN and _ENDED.search(line.text) and not _ENDED_BY_LAUNCHER.search(line.text):
                yield line
