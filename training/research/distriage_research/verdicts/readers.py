"""The model, a second reader whose answers come in a file, and both together, on annotated reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from rich.console import Console
from rich.progress import track

from distriage.base.types import IssueReport, Mode
from distriage.base.validation import Strict
from distriage.second_reader.bulk import Asking, ask, batch_line, custom_id
from distriage.second_reader.calibration import ReaderCalibration
from distriage_training.corpus.records import Record
from distriage_training.measure.evaluation import Applied
from distriage_training.measure.tables import markdown
from distriage_training.second_reader.annotated import compared_axes
from distriage_training.second_reader.comparison import Compared, Comparison, compare

MODES: Final = (Mode.BALANCED, Mode.PRECISE)
ALL: Final = "all"


class BothReaders(Strict):
    """The model and a second reader on one axis, shares of `n` reports.

    Attributes:
        answered: By the second reader.
        first, both: Right at full coverage, before and after the second reader.
        second: Right among its answers; None without answers.
        either: Either reader is right: the score of a perfect choice between them.
        first_applied, both_applied: Mode -> labels given.
    """

    n: int
    answered: float
    first: float
    second: float | None = None
    both: float
    either: float
    first_applied: Mapping[str, Applied]
    both_applied: Mapping[str, Applied]


class SecondReaderResult(Strict):
    """Gain from a second reader.

    Attributes:
        groups: Origin of the reports, or `all` -> axis -> figures.
    """

    reader: str
    questions: int
    unanswered: int
    groups: Mapping[str, Mapping[str, BothReaders]]


@dataclass(frozen=True, slots=True)
class SecondReader:
    """A second reader to measure.

    Attributes:
        answers: By `custom_id`; None to get only the questions.
        calibration: Without one, its labels are suggestions.
    """

    asking: Asking
    answers: Mapping[str, Any] | None = None
    calibration: ReaderCalibration | None = None


def measure_readers(
    second: SecondReader, records: Sequence[Record], console: Console
) -> tuple[SecondReaderResult | None, list[str]]:
    """Measure both readers, for each origin of the reports and for all.

    Returns:
        The figures, None without any answers; and the lines of a batch file for the questions without an answer.
    """
    answers = second.answers or {}
    compared: dict[Mode, list[Compared]] = {mode: [] for mode in MODES}
    missing: dict[str, str] = {}
    questions: set[str] = set()
    for record in track(records, "both readers", console=console, transient=True, disable=not console.is_terminal):
        item = ask(IssueReport(record.title, record.body, record.id), second.asking)
        for request in item.requests:
            questions.add(key := custom_id(request, second.asking.reader))
            if key not in answers:
                missing[key] = batch_line(request, second.asking.reader)
        for mode, items in compared.items():
            items += compared_axes(item, record.labels, record.origin, answers, second.asking, second.calibration, mode)
    if second.answers is None:
        return None, list(missing.values())
    rows = {mode: compare(_with_all(items)) for mode, items in compared.items()}
    groups: dict[str, dict[str, BothReaders]] = {}
    for (group, axis), row in rows[MODES[0]].items():
        groups.setdefault(group, {})[axis] = BothReaders(
            n=row.reports,
            answered=row.asked,
            first=row.first,
            second=_number(row.second),
            both=row.both,
            either=row.either,
            first_applied={mode.value: _first(found[group, axis]) for mode, found in rows.items()},
            both_applied={mode.value: _both(found[group, axis]) for mode, found in rows.items()},
        )
    result = SecondReaderResult(
        reader=second.asking.reader, questions=len(questions), unanswered=len(missing), groups=groups
    )
    return result, list(missing.values())


def _with_all(items: Sequence[Compared]) -> Iterator[Compared]:
    """Each origin, and all of them where there are several."""
    yield from items
    if len({item.group for item in items}) > 1:
        yield from (replace(item, group=ALL) for item in items)


def _first(row: Comparison) -> Applied:
    return Applied(coverage=row.first_coverage, precision=_number(row.first_precision))


def _both(row: Comparison) -> Applied:
    return Applied(coverage=row.both_coverage, precision=_number(row.both_precision))


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def readers_table(measured: SecondReaderResult) -> str:
    """The figures as Markdown."""
    title = (
        f"Second reader {measured.reader}: {measured.questions - measured.unanswered:,} of {measured.questions:,} "
        "questions answered. Right at full coverage; in each mode precision (coverage) of the labels that are given. "
        "`both` is the completed verdict, `either` what a perfect choice between the two would reach\n\n"
    )
    modes = [f"{mode}: {who}" for mode in MODES for who in ("model", "both")]
    headings = ["reports", "axis", "n", "model", "second reader (answered)", "both", "either", *modes]
    return title + markdown(headings, _rows(measured))


def _rows(measured: SecondReaderResult) -> Iterable[list[object]]:
    for group, axes in measured.groups.items():
        for axis, row in axes.items():
            second = "none" if row.second is None else f"{row.second:.3f} ({row.answered:.0%})"
            given = [applied[mode.value] for mode in MODES for applied in (row.first_applied, row.both_applied)]
            yield [group, axis, row.n, f"{row.first:.3f}", second, f"**{row.both:.3f}**", f"{row.either:.3f}", *given]
