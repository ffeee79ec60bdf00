"""The annotated corpus on disk.

training/corpus/annotations.jsonl   a record per report: labels, url, origin, split; no text
training/corpus/restated.jsonl      id, title, body of real threads that were written anew for this project
training/corpus/generated.jsonl     id, title, body of reports that have no thread
training/corpus/readings.jsonl      single readings of reports that were read more than once (`readings.py`)
.corpus/texts.jsonl                 local only: texts that belong to their reporters, imported or fetched
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from distriage.base.errors import CorpusError
from distriage.base.references import thread_key
from distriage.base.validation import first_fault
from distriage.model.taxonomy import Taxonomy
from distriage_training.corpus.jsonl import read_jsonl

FEEDBACK = "feedback"  # origin and source of people's reviews
SECOND_READER = "second-reader"  # origin and source of the labels that a second reader gave
PARTIAL = frozenset({FEEDBACK, SECOND_READER})  # origins whose records may label single axes; readings outrank them
UNLABELLED = -100  # PyTorch's ignore index
Evidence = Literal["stated", "inferred"]
BUG_AXES = ("stage", "symptom", "cause", "fix")
_PUBLISHED = re.compile(r"annotations-(train|validation|test)\.jsonl(?:\.gz)?")  # a file a split, which its name has
OWN_TEXTS = {"restated": "restated.jsonl", "generated": "generated.jsonl"}  # origin -> file beside annotations.jsonl


class Annotation(BaseModel):
    """One record of annotations.jsonl; see training/corpus/README.md for the meaning of each field."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    kind: str | None
    distributed: bool | None
    stage: str | None
    symptom: str | None
    cause: str | None
    cause_evidence: Evidence | None
    fix: str | None
    fix_evidence: Evidence | None
    confidence: Literal["high", "low"]
    note: str
    url: str
    origin: Literal["raw", "restated", "generated", "feedback", "second-reader"]
    source: str
    framework: str
    created: str | None
    readers: int
    split: Literal["train", "validation", "test"]

    @model_validator(mode="after")
    def _check(self) -> Annotation:
        filled = [axis for axis in BUG_AXES if getattr(self, axis) is not None]
        if self.origin in PARTIAL:
            if self.origin == FEEDBACK and self.split == "test":
                raise ValueError(
                    "feedback records must not be in the test split: the maintainer had seen the model's answer"
                )
            if self.origin == SECOND_READER and self.split != "train":
                raise ValueError(f"{self.id}: labels of a second reader must be in train, not in {self.split}")
            if not filled and self.kind is None and self.distributed is None:
                raise ValueError("no label at all; expected one or more")
        elif self.kind is None or self.distributed is None:
            raise ValueError(
                "kind and distributed must not be null; only records of origin feedback or second-reader may leave "
                "them out"
            )
        elif self.kind == "bug" and len(filled) < len(BUG_AXES):
            raise ValueError(f"a bug needs {', '.join(BUG_AXES)}; filled: {', '.join(filled) or 'none'}")
        if self.kind not in {"bug", None} and filled:
            raise ValueError(f"kind {self.kind} must leave {', '.join(filled)} null")
        if self.origin == "generated" and self.split != "train":
            raise ValueError(f"a generated report must not be in {self.split}")
        return self

    def label(self, axis: str) -> str | None:
        """The label of an axis, if annotated."""
        value = getattr(self, axis, None)  # a taxonomy of one's own may have other axes
        return str(value).lower() if isinstance(value, bool) else value


@dataclass(frozen=True, slots=True)
class Reading:
    """One reader's labels for a report.

    Attributes:
        labels: Axis -> label id, annotated axes only.
        source: The record's source or the name of a further reader, as in `training.label_weights`.
        odds: Axis -> the reader's own odds for that label, 0 to 1, if given.
        alternatives: Axis -> the label that gets the rest of the odds.
    """

    labels: Mapping[str, str]
    source: str
    sure: bool
    odds: Mapping[str, float] = field(default_factory=dict)
    alternatives: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Record:
    """A labelled report from any source.

    Attributes:
        labels: Axis -> label id, annotated axes only.
        group: For scores per group: the framework, or a table's group column.
        url: The report's page, or empty.
        note: The annotator's words for the decisive clue, or empty.
        sure: Whether the annotator was.
        others: Further readings of the report (`readings.py`).
    """

    id: str
    title: str
    body: str
    labels: Mapping[str, str]
    split: str
    source: str
    origin: str
    group: str
    url: str = ""
    note: str = ""
    sure: bool = True
    others: tuple[Reading, ...] = ()

    @property
    def readings(self) -> tuple[Reading, ...]:
        """The record's own labels as a reading, then the others."""
        return (Reading(self.labels, self.source, self.sure), *self.others)


def read_annotations(path: Path, taxonomy: Taxonomy) -> tuple[list[tuple[int, Annotation]], list[str]]:
    """Read annotations and check each against the schema and the taxonomy.

    Returns:
        The valid records with their line numbers, and one message per problem, `file:line: what, expected`.

    Raises:
        CorpusError: the file cannot be read.
    """
    records: list[tuple[int, Annotation]] = []
    problems: list[str] = []
    seen: dict[str, int] = {}
    known = {axis.id: {None, *axis.label_ids} for axis in taxonomy.axes.values()}
    published = _PUBLISHED.fullmatch(path.name)
    of_file = {"split": published[1]} if published else {}
    for number, row in read_jsonl(path):
        place = f"{path}:{number}"
        try:
            record = Annotation.model_validate(of_file | row)
        except ValidationError as error:
            problems.append(f"{place}: {first_fault(error, Annotation, 'record', show_value=False)}")
            continue
        wrong = [axis for axis, labels in known.items() if record.label(axis) not in labels]
        problems += [
            f"{place}: {axis}: unknown label {record.label(axis)!r} (taxonomy {taxonomy.version})" for axis in wrong
        ]
        key = thread_key(record.id)
        if key in seen:
            problems.append(f"{place}: id {record.id}: duplicate of line {seen[key]}")
        elif not wrong:
            records.append((number, record))
        seen.setdefault(key, number)
    return records, problems


def valid_annotations(path: Path, taxonomy: Taxonomy) -> list[Annotation]:
    """Read annotations, all of which must be valid.

    Raises:
        CorpusError: names the first problem and how many more there are.
    """
    records, problems = read_annotations(path, taxonomy)
    if problems:
        more = (
            f" (and {len(problems) - 1} more; see `python training/research corpus check`)" if len(problems) > 1 else ""
        )
        raise CorpusError(problems[0] + more)
    return [record for _, record in records]


def repository_of(identifier: str) -> str:
    """`owner/name` of a report, by its present name."""
    return thread_key(identifier).partition("#")[0]


def label_numbers(record: Record | Reading, taxonomy: Taxonomy) -> list[int]:
    """Position of the label on each axis, `UNLABELLED` if absent."""
    return [
        axis.label_ids.index(record.labels[axis.id]) if axis.id in record.labels else UNLABELLED
        for axis in taxonomy.axes.values()
    ]
