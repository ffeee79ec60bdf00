"""Annotated reports and a second reader's answers from a file, for calibration and comparison.

Reads files and runs the model; sends nothing.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from distriage.base.errors import InputError
from distriage.base.types import IssueReport, Mode, Outcome
from distriage.model.taxonomy import Taxonomy
from distriage.reports.records import BadRecord
from distriage.second_reader.bulk import Asked, Asking, ask, read_reports
from distriage.second_reader.calibration import ReaderCalibration, says_none
from distriage_training.second_reader.comparison import Compared
from distriage_training.second_reader.fitting import Example


def examples(
    path: str, answers: Mapping[str, Any], asking: Asking, by: str = ""
) -> tuple[dict[str, list[Example]], Counter[str]]:
    """Both readers' answers on annotated reports.

    Args:
        path: A batch whose records have `labels` beside title and body: an object, axis -> label; null for none.
        by: A field of the records that groups them; empty: one group.

    Returns:
        Axis -> answers; axis -> number of answers "none of these", which are not among them.

    Raises:
        InputError: the file cannot be read, or a record lacks a report, valid labels or the field.
    """
    found: dict[str, list[Example]] = defaultdict(list)
    none: Counter[str] = Counter()
    for report, labels, group in _annotated(path, asking.classifier.bundle.taxonomy, by):
        item = ask(report, asking)
        for axis, shares in item.shares(answers, asking.reader).items():
            if axis not in labels:
                continue
            if says_none(shares):  # such an answer changes no verdict
                none[axis] += 1
            else:
                first = item.prediction.scores[axis].probabilities
                found[axis].append(Example(first, shares, labels[axis], group))
    return dict(found), none


def compared(
    path: str, answers: Mapping[str, Any], asking: Asking, calibration: ReaderCalibration | None, by: str = ""
) -> Iterator[Compared]:
    """Both readers' answers on annotated reports, each annotated axis of each report.

    Args:
        path, by: As for `examples`.

    Raises:
        InputError: as for `examples`.
    """
    for report, labels, group in _annotated(path, asking.classifier.bundle.taxonomy, by):
        yield from compared_axes(ask(report, asking), labels, group, answers, asking, calibration)


def compared_axes(
    item: Asked,
    labels: Mapping[str, str],
    group: str,
    answers: Mapping[str, Any],
    asking: Asking,
    calibration: ReaderCalibration | None,
    mode: Mode | None = None,
) -> Iterator[Compared]:
    """Both readers' answers on one report, each annotated axis.

    Args:
        mode: Decides which labels are given; that of the questions if None.
    """
    shares = item.shares(answers, asking.reader)
    verdict = item.verdict if mode is None else item.findings.verdict(mode)
    both = item.both(answers, asking, calibration, mode)
    for axis in asking.axes:
        if axis not in labels:
            continue
        first = item.findings.prediction.scores[axis].ranked()[0][0]
        before, after = verdict.axes[axis], both.axes[axis]
        yield Compared(
            group=group,
            axis=axis,
            truth=labels[axis],
            first=first,
            second=max(shares[axis], key=shares[axis].__getitem__) if axis in shares else None,
            both=(after.label or first) if after.read_by == "second-reader" else first,
            first_given=before.outcome is Outcome.APPLY,
            both_given=after.outcome is Outcome.APPLY,
        )


def _annotated(path: str, taxonomy: Taxonomy, by: str = "") -> Iterator[tuple[IssueReport, dict[str, str], str]]:
    """Report, labels and group of each record of a batch."""
    for record, report in read_reports(path):
        if isinstance(report, BadRecord):
            raise InputError(report.error)
        value = json.loads(record.content.decode("utf-8-sig"))
        yield report, _labels(value, taxonomy, record.place), _group(value, by, record.place)


def _group(record: Mapping[str, Any], by: str, place: str) -> str:
    if not by:
        return "all"
    value = record.get(by)
    if not isinstance(value, str) or not value:
        raise InputError(f"{place}: {by}: {value!r}; expected a name that groups the reports")
    return value


def _labels(record: Mapping[str, Any], taxonomy: Taxonomy, place: str) -> dict[str, str]:
    labels = record.get("labels")
    if not isinstance(labels, dict):
        raise InputError(f"{place}: `labels` is missing; expected an object, axis -> label")
    labels = {axis: label for axis, label in labels.items() if label is not None}  # a table's struct has every axis
    for axis, label in labels.items():
        if axis not in taxonomy.axes or label not in taxonomy.axes[axis].label_ids:
            raise InputError(f"{place}: labels: {axis}: {label!r} is no label of it; see `distriage taxonomy`")
    return labels
