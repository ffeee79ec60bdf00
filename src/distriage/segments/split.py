"""A report -> its segments. Pure; linear in the report's length."""

from __future__ import annotations

import re
from collections.abc import Iterator

from distriage.base.texts import shortened
from distriage.segments.boilerplate import is_environment_line, is_notice, is_template_line
from distriage.segments.lines import (
    begins_log,
    frame_of,
    is_wrapper,
    names_exception,
    raises,
    without_prefixes,
)
from distriage.segments.types import Kind, Line, Role, Segment, Segments

_FENCE = re.compile(r"(`{3,})[^`]*|(~{3,})[^~^]*")  # not code between back-ticks, nor Python's marker below a frame
_HEADING = re.compile(r"#{1,6}\s+(.*?)[\s:#*]*$|\*\*([^*]{1,80})\*\*:?\s*$")
_COMMAND = re.compile(
    r"(?:\$ |> )?(?:[A-Z_]+=\S+ )*(?:python3?|torchrun|deepspeed|accelerate launch|mpirun|mpiexec|srun|ray|vllm|docker|pip3?"
    r"|bash|horovodrun|llamafactory-cli|swift)\s"
)
_SHELL = frozenset({"bash", "sh", "shell", "console", "zsh"})
_SETTINGS = frozenset({"yaml", "yml", "json", "toml", "ini"})
_ROOT_CAUSE = re.compile(r"Root Cause \(first observed failure\)[^\0]{0,300}?\n\W*rank\s*: (\d+)")


def split(title: str, body: str) -> Segments:
    """Read a report into segments. Never raises."""
    body = shortened(body).replace("\r\n", "\n").replace("\r", "\n")
    segments = [Segment(Kind.TITLE, "", (Line(title, 0),))] if title.strip() else []
    kept: list[Line] = []
    before: tuple[Kind, str] | None = None
    for kind, heading, line in _lines(body):
        if (kind, heading) != before and before is not None:
            segments.append(Segment(*before, tuple(kept)))
            kept = []
        before = (kind, heading)
        kept.append(line)
    if before is not None:
        segments.append(Segment(*before, tuple(kept)))
    errors = (line for segment in segments for line in segment.lines if line.role is Role.INITIATING)
    culprit = _ROOT_CAUSE.search(body)
    return Segments(title, tuple(segments), next(errors, None), int(culprit[1]) if culprit else None)


def _lines(body: str) -> Iterator[tuple[Kind, str, Line]]:
    fence = heading = ""  # what the next one must begin with to close it (CommonMark)
    fenced_as = Kind.SOURCE
    in_form = in_log = False
    for number, text in enumerate(body.split("\n"), 1):
        stripped = text.strip()
        if fence and stripped.startswith(fence) and not stripped.strip(fence[0]):
            fence, in_log = "", False
        elif not fence and (opened := _FENCE.fullmatch(stripped)):
            fence = opened[1] or opened[2]
            word = stripped.strip("`~ ").lower()
            fenced_as = Kind.COMMAND if word in _SHELL else Kind.CONFIGURATION if word in _SETTINGS else Kind.SOURCE
        elif not stripped:
            continue
        elif is_environment_line(stripped):
            yield Kind.LISTING, heading, Line(stripped, number)
        elif not fence and is_template_line(stripped):
            heading, in_form = stripped.strip("#*: "), True
        elif not fence and (found := _HEADING.match(stripped)):
            heading, in_form = found[1] or found[2], False
            yield Kind.PROSE, heading, Line(heading, number)
        else:
            in_log = begins_log(text) or (
                bool(fence) and (in_log or names_exception(text) or frame_of(text) is not None)
            )
            line = Line(without_prefixes(text) if in_log else stripped, number)
            if in_log:
                yield Kind.LOG, heading, line._replace(role=_role(line.text))
            elif _COMMAND.match(stripped):
                yield Kind.COMMAND, heading, line
            elif fence:
                yield fenced_as, heading, line
            else:
                yield Kind.FORM if in_form else Kind.PROSE, heading, line


def _role(line: str) -> Role:
    if frame_of(line) is not None or raises(line):
        return Role.FRAME
    if is_notice(line):
        return Role.NOTICE
    if is_wrapper(line):
        return Role.TEARDOWN
    return Role.INITIATING if names_exception(line) else Role.NONE
