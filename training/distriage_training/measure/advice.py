"""Readers' judgements of facts, questions and checks: the file, and shares with intervals. Pure except for reading."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from distriage.base.errors import CorpusError
from distriage.base.intervals import wilson
from distriage_training.corpus.jsonl import read_jsonl
from distriage_training.measure.tables import markdown


class _Read(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)  # a reader's sheet also has values and notes


class Fact(_Read):
    """A fact that a verdict gave, or that it missed (without a judgement)."""

    fact: str
    judgement: Literal["right", "wrong", "missed"] = "missed"


class Question(_Read):
    """A question of a verdict."""

    fact: str
    judgement: Literal["sensible", "answered", "senseless"]


class Check(_Read):
    """A check of a verdict, those of its differential diagnosis included."""

    check: str
    judgement: Literal["useful", "generic", "absurd"]


class Reading(_Read):
    """One reader's judgement of a verdict: a line of `advice.jsonl`.

    Attributes:
        code: Commit of the code that gave the verdict.
        origin: Of the report.
        missed: Stated facts that the verdict lacks.
        embarrassing: Whether a maintainer would be ashamed of the comment.
    """

    id: str
    reader: str
    code: str
    origin: Literal["raw", "restated"]
    facts: tuple[Fact, ...]
    missed: tuple[Fact, ...] = ()
    questions: tuple[Question, ...]
    checks: tuple[Check, ...]
    embarrassing: bool


# Row of the table -> target in per cent ("" without) and judgements that count of those that are asked.
_ROWS: Final[Mapping[str, tuple[str, Callable[[Reading], list[bool]]]]] = {
    "facts right": ("95", lambda one: [item.judgement == "right" for item in one.facts]),
    "stated facts missed": (
        "at most 5",
        lambda one: [*[True] * len(one.missed), *[False for item in one.facts if item.judgement == "right"]],
    ),
    "questions sensible": ("90", lambda one: [item.judgement == "sensible" for item in one.questions]),
    "questions answered in the report": ("", lambda one: [item.judgement == "answered" for item in one.questions]),
    "checks useful": ("90", lambda one: [item.judgement == "useful" for item in one.checks]),
    "checks generic": ("", lambda one: [item.judgement == "generic" for item in one.checks]),
    "checks absurd": ("", lambda one: [item.judgement == "absurd" for item in one.checks]),
    "embarrassing reports": ("at most 5", lambda one: [one.embarrassing]),
}


def read_advice(path: Path) -> list[Reading]:
    """The judgements of a file.

    Raises:
        CorpusError: a line is not as described, or a reader judged a report twice.
    """
    readings: dict[tuple[str, str, str], Reading] = {}
    for number, row in read_jsonl(path):
        try:
            one = Reading.model_validate(row)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise CorpusError(f"{path}:{number}: {place}: {first['msg']}; found {first['input']!r:.80}") from None
        key = (one.id, one.reader, one.code)
        if key in readings:
            raise CorpusError(f"{path}:{number}: {one.reader} judged {one.id} before; expected one line of each reader")
        readings[key] = one
    return list(readings.values())


def advice_table(readings: Iterable[Reading]) -> str:
    """Shares over all reports, and over raw and restated ones apart, each with its 95 % interval and its number.

    Where several readers judged a report, each of its items counts once, by the mean of their words.
    """
    by_origin: dict[str, list[Reading]] = {"all": list(readings), "raw": [], "restated": []}
    for one in by_origin["all"]:
        by_origin[one.origin].append(one)
    shown = {origin: found for origin, found in by_origin.items() if found}
    headings = [f"{origin}: {_counted(found)}" for origin, found in shown.items()]
    rows = [
        [name, target and f"{target} %", *(_share(found, judged) for found in shown.values())]
        for name, (target, judged) in _ROWS.items()
    ]
    return markdown(["judged by readers", "target", *headings], rows)


def _counted(readings: Sequence[Reading]) -> str:
    readers = len({one.reader for one in readings})
    return f"{len({one.id for one in readings})} reports, {readers} reader{'s' * (readers > 1)}"


def _share(readings: Sequence[Reading], judged: Callable[[Reading], list[bool]]) -> str:
    """`97 % (95 to 99), 262`."""
    of_report: dict[str, list[list[bool]]] = defaultdict(list)
    for one in readings:
        of_report[one.id].append(judged(one))
    hits = sum(sum(map(sum, words)) / len(words) for words in of_report.values())
    n = round(sum(sum(map(len, words)) / len(words) for words in of_report.values()))
    if n == 0:
        return ""
    low, high = wilson(round(hits), n)
    return f"{hits / n:.0%} ({low:.0%} to {high:.0%}), {n}"
