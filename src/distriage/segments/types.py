"""The structure that a report is read into. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """The kind of a segment."""

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
    """The bearing of a log or traceback line on the failure."""

    NONE = "none"
    INITIATING = "initiating"  # an error that no other line explains
    CASCADE = "cascade"  # effect of an error on another process: a watchdog, a connection closed by its peer
    TEARDOWN = "teardown"  # the launcher's messages and actions after a process failed
    NOTICE = "notice"  # a healthy run writes it too
    FRAME = "frame"  # of a traceback: the place, the source below it


class Line(NamedTuple):
    """A line of a report.

    Attributes:
        text: Without terminal colours and the prefix of a launcher or log collector.
        number: Counted in the body, from 1; 0: the title. Lines split by a carriage return or a JSON string share one.
        process: Rank, pod or host printed before it, or empty.
    """

    text: str
    number: int
    process: str = ""
    role: Role = Role.NONE


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive lines of one kind, without blank ones.

    Attributes:
        heading: The last one above, of Markdown or of a form; or empty.
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
        first_error: The error that the others follow from, if a log or traceback shows one.
        culprit: The rank whose failure torchrun saw first, as stated below "Root Cause", if at all.
        answers: Heading of each field of the form -> answer, perhaps "".
        is_unfilled_form: A form was filed with every field empty.
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
