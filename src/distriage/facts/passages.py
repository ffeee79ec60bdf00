"""The parts of a report that facts are read from. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

from distriage.base.texts import folded, regex
from distriage.facts.scanning import Passage, any_of, passage
from distriage.segments import Kind, Line, Role, Segment, Segments

_OWN = (Kind.TITLE, Kind.FORM, Kind.PROSE, Kind.COMMAND, Kind.CONFIGURATION, Kind.SOURCE)
_STATED = (*_OWN, Kind.LISTING)
_OUTPUT = (Kind.TRACEBACK, Kind.LOG)
_TOOLS_SIGNS = ("==", "[pip3]", "[conda]", "version", "  ")
_MOST_OWN = 4
# A block below such a heading is a list that the reporter wrote, unless it is long.
_ENVIRONMENT = regex(r"\W*(?:(?:my|the|our)\s)?(?:environment|system info|versions?\b|env\b|软硬件|环境)", re.I)
_MOST_LISTED = 12
_MOST_LISTED_CHARS = 100  # of a line; more are a log's
_UNAME = "Linux "
# A command in a block that other lines make a log: a line of a batch script, one after a prompt, or a program with
# several options.
_COMMAND = regex(
    r"#(?:SBATCH|BSUB|PBS) |(?:\(\w{1,40}\) ?)?[\w.-]{1,40}@[\w.:~/-]{1,120} ?[#$] [\w./]"
    r"|(?:sudo +)?(?:[A-Z][A-Z0-9_]{1,60}=\S{0,300} +){1,20}(?:\\|[A-Z][A-Z0-9_]{1,60}=\S{1,300} +[a-z./])"
    r"|(?:sudo |nohup )?\s?(?:[A-Z][A-Z0-9_]{1,60}=\S{0,300} +){0,20}"
    r"(?!(?:\S{1,200}/)?(?:gcc|nvcc|cc|ld|ninja|cmake|pip3?|conda|usage) )(?:\S{1,200}/)?[A-Za-z][\w.-]{1,40}"
    r"(?: [\w./-]{1,200}){0,3}? --[A-Za-z][\w-]{1,40}[= ][^\n]{1,300}? --[A-Za-z]"
)


def passages(segments: Segments) -> tuple[Passage, Passage, Passage]:
    """The reporter's own words, these with listings, and tools' output."""
    if any(_lists(one) for one in segments.all):
        listed = (replace(one, kind=Kind.LISTING) if _lists(one) else one for one in segments.all)
        segments = Segments(segments.title, tuple(listed))
    own = passage(segments, *_OWN)
    return own, passage(segments, *_STATED) if segments.of(Kind.LISTING) else own, passage(segments, *_OUTPUT)


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
    return (" --" in text or text[:1] == "#" or "@" in text[:40] or "=" in text[:50]) and _COMMAND.match(
        text
    ) is not None


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
    return passage(Segments(segments.title, tuple(filter(_is_own, segments.of(Kind.LISTING)))), Kind.LISTING)


def _is_own(listing: Segment) -> bool:
    """Whether the reporter wrote a listing: "vLLM 0.8.5"; a tool writes more, and otherwise."""
    return len(listing.lines) <= _MOST_OWN and not any_of(_TOOLS_SIGNS, folded(listing.text))
