"""The structure that a report is read into. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What a segment of a report is."""

    TITLE = "title"
    FORM = "form"  # a field of a form: the answer in prose, its heading beside it
    PROSE = "prose"
    LISTING = "listing"  # of the environment, as a tool or a person lists it
    COMMAND = "command"
    CONFIGURATION = "configuration"
    SOURCE = "source"
    TRACEBACK = "traceback"
    LOG = "log"


class Role(StrEnum):
    """What a line of a log or traceback says about the failure."""

    NONE = "none"
    INITIATING = "initiating"  # an error that no other line explains
    CASCADE = "cascade"  # what an error on another process does here: a watchdog, a connection that its peer closed
    TEARDOWN = "teardown"  # what the launcher says and does once a process failed
    NOTICE = "notice"  # a healthy run writes it too
    FRAME = "frame"  # of a traceback: the place, the source below it


class Line(NamedTuple):
    """A line of a report.

    Attributes:
        text: Without terminal colours, and without what a launcher or log collector put before it.
        number: Of the body, from 1; 0: the title. Lines that a carriage return or a JSON string divides share one.
        process: Rank, pod or host as printed before it; empty: nothing was.
    """

    text: str
    number: int
    process: str = ""
    role: Role = Role.NONE


@dataclass(frozen=True, slots=True)
class Segment:
    """Lines of one kind that follow each other; blank ones are left out.

    Attributes:
        heading: Of Markdown or of a form, the last one above; empty: there is none.
    """

    kind: Kind
    heading: str
    lines: tuple[Line, ...]

    @property
    def text(self) -> str:
        """Its lines, joined."""
        return "\n".join(line.text for line in self.lines)


@dataclass(frozen=True, slots=True)
class Segments:
    """A report, read once; `split` makes it.

    Attributes:
        all: Its segments in the order of the report, the title first.
        first_error: The error that the others follow from; None: no log or traceback shows one.
        culprit: The rank whose failure torchrun saw first, as it says below "Root Cause"; None: it says nothing.
        answers: Heading of each field of the form -> what was filled in, "" where nothing was.
        is_unfilled_form: A form was filed, and nothing filled in.
    """

    title: str
    all: tuple[Segment, ...]
    first_error: Line | None = None
    culprit: int | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    is_unfilled_form: bool = False

    def of(self, *kinds: Kind) -> tuple[Segment, ...]:
        """The segments of some kinds, in order."""
        return tuple(segment for segment in self.all if segment.kind in kinds)
