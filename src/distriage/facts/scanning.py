"""Some segments of a report as one text whose places are known, and searches in it. Pure.

A pattern is tried only after one of its words is found: many times as fast on a long log.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, groupby
from operator import itemgetter
from typing import NamedTuple

from distriage.base.texts import folded, regex
from distriage.segments import Kind, Line, Role, Segment, Segments

_MARKS = " \t>*-#`|.0123456789"  # of lists, before a line's label
_MARKS_CHARS = 12  # at most
_SENTENCE_CHARS = 40  # read before a place
Counts = list[tuple[int, int]]  # number, and its place in the text


def any_of(words: Iterable[str], text: str) -> bool:
    """Whether a text holds one of the words."""
    for word in words:  # noqa: SIM110 - twice as fast as `any` of a generator, and asked dozens of times a report
        if word in text:
            return True
    return False


def places(words: Iterable[str], text: str) -> list[int]:
    """The places of words in a text, in order."""
    found: list[int] = []
    for word in words:
        if word in text:  # faster than to find it, and most words are not there
            place = text.find(word)
            while place >= 0:
                found.append(place)
                place = text.find(word, place + 1)
    return sorted(set(found)) if found else found


def matches_at(pattern: re.Pattern[str], text: str, begins: Iterable[int]) -> Iterator[re.Match[str]]:
    """The matches that begin at one of some places."""
    return (match for place in begins if (match := pattern.match(text, place)))


def first_at(pattern: re.Pattern[str], text: str, begins: Iterable[int]) -> re.Match[str] | None:
    """The first match that begins at one of some places."""
    for place in begins:
        if match := pattern.match(text, place):
            return match
    return None


def stands_before(pattern: re.Pattern[str], text: str, place: int, ends: Iterable[str] = (". ", "! ", "? ")) -> bool:
    """Whether a pattern matches shortly before a place, in the same sentence.

    Args:
        ends: Ends of a sentence, apart from a line break.
    """
    begin = max(0, place - _SENTENCE_CHARS)
    end = max(text.rfind(mark, begin, place) for mark in ("\n", *ends))
    return pattern.search(text, max(begin, end), place) is not None


def before_on_line(text: str, place: int) -> str | None:
    """The text before a place on its line, without the marks of a list; None if too long for the line of a form."""
    line = text.rfind("\n", max(0, place - _MARKS_CHARS - 1), place) + 1
    return text[line:place].strip(_MARKS) if line or place <= _MARKS_CHARS else None


def most(counts: Counts, limit: int) -> tuple[int, int] | None:
    """The largest count up to a limit, beyond which a number counts something else, and its place."""
    return max([count for count in counts if 0 < count[0] <= limit], key=itemgetter(0), default=None)


_COMMENTED = regex(r"(?:#+ ?|\s{0,40}(?:#{1,4} ?){1,3}- )(?:[\w.-]{1,40}==\d|pip3? install |conda install )")
# Another person's words, or an entry of a list: "> GPU: 2x A100", "> torch 2.4.0"
_QUOTE = regex(r">(?!>|=)")
_ENTRY = regex(
    r">\s?(?:(?:[\w/().-]{1,20} ){0,3}[\w/().-]{1,20}\*{0,2} ?[:：=]\*{0,2} ?\S"
    r"|(?:\S{1,30} ){0,2}\S{0,30}(?<![.?!\s])\s{0,3}\Z)"
)
# A line before the words of another person or report.
_SPEAKS = regex(
    r"(?:\b(?:somebody|someone|they|s?he|the (?:author|reporter|user|op)|@[\w-]{1,39})\b[^\n:]{0,40}"
    r"\b(?:wrote|writes|said|says|commented|mentioned)\b|\b(?:from|in|of) (?:issue )?#\d)[^\n]{0,40}[:：]\Z",
    re.I,
)
_MOST_LINE_CHARS = 2000
# A form's examples, "[e.g. two machines with x8 A100s each]", "PyTorch version (e.g., 1.0): 2.4". Without an answer
# behind it, the reporter may have overwritten it.
_EXAMPLE_WORDS = ("e.g", "E.g", "[ex", "or example")
_EXAMPLE = regex(
    r"\[(?:e\.g|for example|ex)\b[^\[\]\n]{0,200}\](?=[ *]{0,4}:)"
    r"|(?<=\[)(?:e\.g|for example|ex)\b[^\[\]\n]{0,200}(?=\])"
    r"|(?<=\()(?:e\.g|for example)\b[^()\n]{0,120}(?=\)[ *]{0,4}:[ \t*]{0,20}[^\s*])"
    r"|(?<=\? \()e\.g\b[^()\n]{0,120}(?=\))",  # What version are you using? (e.g., v4.1.6)
    re.I,
)


class Source(NamedTuple):
    """Where a report states a fact.

    Attributes:
        line: Its number in the body, from 1; 0: the title.
    """

    segment: Kind
    line: int


@dataclass(frozen=True)  # without slots, for cached properties
class Passage:
    """The lines of some segments.

    Attributes:
        text: The lines, joined; a form's examples are blanked out.
        words: The same, folded.
        written: Each line as it stands in the text.
        lines: Each line in the report.
        kinds: Kind of the segment of each line.
        headings: The heading that each line stands below, or empty.
    """

    text: str
    words: str
    written: Sequence[str]
    lines: Sequence[Line]
    kinds: Sequence[Kind]
    headings: Sequence[str]

    @cached_property
    def _begins(self) -> Sequence[int]:
        return list(accumulate((len(line) + 1 for line in self.written[:-1]), initial=0))

    def number(self, place: int) -> int:
        """The number of the line at a place, from 0."""
        return bisect_right(self._begins, place) - 1

    def source(self, place: int) -> Source:
        """The source of the text at a place."""
        number = self.number(place)
        return Source(self.kinds[number], self.lines[number].number)


def passage(segments: Segments, *kinds: Kind) -> Passage:
    """The lines of segments of some kinds, each with its heading."""
    written: list[str] = []
    lines: list[Line] = []
    of_lines: list[Kind] = []
    headings: list[str] = []
    heading = ""
    for segment in segments.all:
        if segment.kind in kinds and segment.lines:
            if segment.heading != heading and segment.lines[0].text != segment.heading:
                written.append(f"# {segment.heading}")
                lines.append(segment.lines[0])
            heading = segment.heading
            quoted = _quoted(segment)
            written += ["" if line.number in quoted else _stating(line.text) for line in segment.lines]
            lines += segment.lines
            of_lines += [segment.kind] * (len(lines) - len(of_lines))
            headings += [heading] * (len(lines) - len(headings))
    if max(map(len, written), default=0) > _MOST_LINE_CHARS:
        written = [line[:_MOST_LINE_CHARS] for line in written]
    text = "\n".join(written)
    if any_of(_EXAMPLE_WORDS, text):
        text = _EXAMPLE.sub(lambda example: " " * len(example[0]), text)
    return Passage(text, folded(text), written, lines, of_lines, headings)


def _stating(line: str) -> str:
    """A line as it is read: a table's row with a mark at its end, since a head's cell must not label the next row; a
    requirement that is commented out as nothing.
    """
    if "#" in line[:40] and _COMMENTED.match(line):
        return ""
    return f"{line};" if line[:1] == "|" and line.endswith("|") else line


def _quoted(segment: Segment) -> set[int]:
    """The numbers of the lines in which prose quotes another person: not a list below a heading or a label."""
    lines = segment.lines
    if segment.kind is not Kind.PROSE or not any(line.text[:1] == ">" for line in lines):
        return set()
    quoted = set()
    before = "" if segment.heading or all(_QUOTE.match(line.text) for line in lines) else "…"
    for line in lines:
        if not _QUOTE.match(line.text):
            before = line.text.rstrip()
        elif _SPEAKS.search(before[-100:]) or (
            before and not (before.startswith("#") or before.endswith((":", "：", "**")) or _ENTRY.match(line.text))
        ):
            quoted.add(line.number)
    return quoted


_OWN = (Kind.TITLE, Kind.FORM, Kind.PROSE, Kind.COMMAND, Kind.CONFIGURATION, Kind.SOURCE)
_STATED = (*_OWN, Kind.LISTING)
_OUTPUT = (Kind.TRACEBACK, Kind.LOG)
_TOOLS_SIGNS = ("==", "[pip3]", "[conda]", "version", "  ")
_MOST_OWN = 4
# A block below such a heading is a list that the reporter wrote, unless it is long.
_ENVIRONMENT = regex(
    r"\W*(?:(?:my|the|our|your current)\s)?(?:environment|system info|versions?\b|env\b|软硬件|环境)", re.I
)
_MOST_LISTED = 12
_MOST_LISTED_CHARS = 100  # of a line; more are a log's
_UNAME = "Linux "
# A command in a block that other lines make a log: a line of a batch script, one after a prompt, a program with
# several options, or options alone.
_COMMAND = regex(
    r"#(?:SBATCH|BSUB|PBS) |(?:\(\w{1,40}\) ?)?[\w.-]{1,40}@[\w.:~/-]{1,120} ?[#$] [\w./]"
    r"|(?:(?:unset|cd|source|export) \S{1,100} && ){1,3}[A-Za-z./]"
    r"|(?:sudo +)?(?:[A-Z][A-Z0-9_]{1,60}=\S{0,300} +){1,20}(?:\\|[A-Z][A-Z0-9_]{1,60}=\S{1,300} +[a-z./])"
    r"|[\w.@-]{1,64} {1,8}slots=\d{1,3}\s*\Z"  # a host of a hostfile
    r"|--[A-Za-z][\w-]{1,40}(?:=\S{1,80}| [^\s-]\S{0,80})? --[A-Za-z]"
    r"|(?:sudo |nohup |env )?\s?(?:[A-Z][A-Z0-9_]{1,60}=\S{0,300} +){0,20}"
    r"(?!(?:\S{1,200}/)?(?:gcc|nvcc|cc|ld|ninja|cmake|pip3?|conda|usage) )(?:\S{1,200}/)?[A-Za-z][\w.-]{1,40}"
    r"(?: [\w./-]{1,200}){0,3}? --[A-Za-z][\w-]{1,40}[= ][^\n]{1,300}? --[A-Za-z]"
)


def passages(segments: Segments) -> tuple[Passage, Passage, Passage]:
    """The reporter's own words, these with listings, and tools' output."""
    segments = Segments(segments.title, tuple(_answered(segments)))
    if any(_lists(one) for one in segments.all):
        listed = (replace(one, kind=Kind.LISTING) if _lists(one) else one for one in segments.all)
        segments = Segments(segments.title, tuple(listed))
    own = passage(segments, *_OWN)
    return own, passage(segments, *_STATED) if segments.of(Kind.LISTING) else own, passage(segments, *_OUTPUT)


def _answered(segments: Segments) -> Iterator[Segment]:
    """The segments; a log's first line below a label without an answer, as "OS:", is a listing's."""
    for before, one in zip((None, *segments.all), segments.all, strict=False):
        label = before.lines[-1] if before and before.kind is Kind.LISTING and one.kind is Kind.LOG else None
        if label and label.text.endswith(":") and one.lines[0].number == label.number + 1:
            yield replace(one, kind=Kind.LISTING, lines=one.lines[:1])
            one = replace(one, lines=one.lines[1:])
        if one.lines:
            yield one


def with_commands(segments: Segments, stated: Passage) -> Passage:
    """`stated` with the commands in logs, where there are some."""
    kept = []
    found = False
    for one in segments.all:
        commands = tuple(filter(_is_command, one.lines)) if one.kind is Kind.LOG else ()
        kept.append(replace(one, kind=Kind.COMMAND, lines=commands) if commands else one)
        found = found or bool(commands)
    return passage(Segments(segments.title, tuple(kept)), *_STATED) if found else stated


def _is_command(line: Line) -> bool:
    text = line.text
    may_be = " --" in text or " && " in text or text[:1] == "#" or "@" in text[:40] or "=" in text[:50]
    return may_be and _COMMAND.match(text) is not None


def _lists(log: Segment) -> bool:
    """Whether a block without a form of its own lists the environment."""
    return (
        log.kind is Kind.LOG
        and len(log.lines) <= _MOST_LISTED
        and _ENVIRONMENT.match(log.heading) is not None
        and all(
            line.role is Role.NONE and (len(line.text) <= _MOST_LISTED_CHARS or line.text.startswith(_UNAME))
            for line in log.lines
        )
    )


def own_lists(segments: Segments) -> Passage:
    """The listings that the reporter wrote. A tool's often has several parts, one behind the other."""
    runs = (list(run) for kind, run in groupby(segments.all, lambda one: one.kind) if kind is Kind.LISTING)
    own = tuple(part for run in runs if _is_own(run) for part in run)
    return passage(Segments(segments.title, own), Kind.LISTING)


def _is_own(listing: Sequence[Segment]) -> bool:
    """Whether the reporter wrote a listing: "vLLM 0.8.5"; a tool writes more, and otherwise."""
    lines = sum(len(part.lines) for part in listing)
    return lines <= _MOST_OWN and not any(any_of(_TOOLS_SIGNS, folded(part.text)) for part in listing)
