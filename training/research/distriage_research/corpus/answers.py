"""Labels that a calibrated second reader gave -> annotation records of origin `second-reader`, always in `train`, with
their texts in the local text store.

Every other source of labels outranks them. No thread of validation or test, and no withheld one, becomes a record.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distriage.base.errors import CorpusError
from distriage.base.references import thread_key
from distriage.base.types import IssueReport
from distriage.reports.records import BadRecord
from distriage.second_reader.bulk import Accepted, Asking, accepted, read_reports
from distriage.second_reader.calibration import ReaderCalibration
from distriage_research.corpus.digests import is_withheld
from distriage_research.corpus.replace import Frameworks, store_records
from distriage_training.corpus.records import BUG_AXES, SECOND_READER, Annotation, valid_annotations

_THREAD = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+#[1-9]\d{0,9}")


@dataclass(frozen=True, slots=True)
class AnswersResult:
    """Outcome for the reports of a call.

    Attributes:
        records: Records that the corpus holds now for threads of this file.
        changed: How many of them are new or differ from before, and how many earlier ones were withdrawn.
        held_out: Threads of validation or test.
        withheld: Threads kept for a last test.
        annotated: Other threads that have a reading or a review.
        unanswered: Reports without an answer, or without a question.
        not_accepted: Reports with an answer that is not sure enough for any label; the record of an earlier answer is
            withdrawn.
    """

    records: int
    changed: int
    held_out: int
    withheld: int
    annotated: int
    unanswered: int
    not_accepted: int


def import_answers(
    reports: str,
    answers: Mapping[str, Any],
    asking: Asking,
    calibration: ReaderCalibration,
    corpus: Path,
    texts: Path,
    withheld: frozenset[str] = frozenset(),
) -> AnswersResult:
    """Bring the labels of a second reader into the corpus; a second call with the same files changes nothing.

    Args:
        reports: A batch whose records have `id`, the thread: `owner/repo#12`.
        asking: Its mode decides which answers are sure enough for a label.
        corpus: Folder of annotations.jsonl; records of other origins stay as they are, byte for byte.
        withheld: Digests of threads kept for a last test.

    Raises:
        CorpusError: a report has no thread or comes twice, or the annotations are not valid; nothing is written then.
        InputError: the reports cannot be read.
    """
    place = corpus / "annotations.jsonl"
    annotations = valid_annotations(place, asking.classifier.bundle.taxonomy)
    _check_threads(reports)
    left_out: Counter[str] = Counter()
    frameworks = Frameworks(annotations)
    fresh: dict[str, Annotation] = {}
    stored: dict[str, tuple[str, str]] = {}
    withdrawn: dict[str, str] = {}
    for given in accepted(_free(reports, annotations, withheld, left_out), answers, asking, calibration):
        report, key = given.report, thread_key(given.report.id)
        if given.labels.keys().isdisjoint(BUG_AXES):
            left_out["not accepted" if given.answered else "unanswered"] += 1
            if given.answered:
                withdrawn[key] = SECOND_READER
            continue
        fresh[key] = _annotation(given, frameworks.of(report.id))
        stored[report.id] = (report.title, report.body)
    return AnswersResult(
        records=len(fresh),
        changed=store_records(place, texts, fresh, stored, withdrawn),
        held_out=left_out["held out"],
        withheld=left_out["withheld"],
        annotated=left_out["annotated"],
        unanswered=left_out["unanswered"],
        not_accepted=left_out["not accepted"],
    )


def _check_threads(path: str) -> None:
    seen: dict[str, str] = {}
    for record, report in read_reports(path):
        if isinstance(report, BadRecord):
            raise CorpusError(report.error)
        if not _THREAD.fullmatch(report.id):
            raise CorpusError(
                f"{record.place}: id: {report.id[:100]!r}; expected owner/repo#number, by which threads of validation "
                "and test are known"
            )
        key = thread_key(report.id)
        if key in seen:
            raise CorpusError(f"{record.place}: id: {report.id} is the thread of {seen[key]}; expected each once")
        seen[key] = record.place


def _free(
    path: str, annotations: Sequence[Annotation], withheld: frozenset[str], left_out: Counter[str]
) -> Iterator[IssueReport]:
    """The reports that may become records; counts the others."""
    readings = {thread_key(one.id): one for one in annotations if one.origin != SECOND_READER}
    for _, report in read_reports(path):
        if isinstance(report, BadRecord):  # the file has changed since it was checked
            raise CorpusError(report.error)
        reading = readings.get(thread_key(report.id))
        if is_withheld(report.id, withheld):
            left_out["withheld"] += 1
        elif reading is not None:
            left_out["annotated" if reading.split == "train" else "held out"] += 1
        else:
            yield report


def _annotation(given: Accepted, framework: str) -> Annotation:
    identifier = given.report.id
    return Annotation.model_validate(
        {
            "id": identifier,
            "kind": None,
            "distributed": None,
            **{axis: given.labels.get(axis) for axis in BUG_AXES},
            "cause_evidence": None,
            "fix_evidence": None,
            "confidence": "high",
            "note": "",
            "url": f"https://github.com/{identifier.replace('#', '/issues/')}",
            "origin": SECOND_READER,
            "source": SECOND_READER,
            "framework": framework,
            "created": None,
            "readers": 1,
            "split": "train",
        }
    )
