"""Many reports and a second reader whose answers come in a file: requests, verdicts, labels.

The files are of the OpenAI batch format, https://platform.openai.com/docs/guides/batch, which a batch service or any
other reader answers. A request's `custom_id` is a digest of the question and the reader, so that answers to other
questions are not mistaken for answers to these. Reads files and runs the model; sends nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distriage.answer.findings import Findings
from distriage.answer.verdict import FailedRecord, Verdict
from distriage.base.errors import InputError
from distriage.base.texts import encoding_of
from distriage.base.types import IssueReport, Mode, Outcome, Prediction
from distriage.classifier import Classifier
from distriage.reports.formats import is_batch
from distriage.reports.records import BadRecord, RawRecord, parse_record, read_records
from distriage.second_reader.answer import Shares, mean_shares, read_answer, why_none
from distriage.second_reader.calibration import ReaderCalibration
from distriage.second_reader.completion import complete, keep_first
from distriage.second_reader.reader import examine, question
from distriage.second_reader.request import ReaderRequest

NOT_THERE = "the file of answers holds none to this question"
SILENT = "the batch service did not answer this question"


@dataclass(frozen=True, slots=True)
class Failed:
    """In place of the completion of a request that failed: why, in our own words."""

    why: str


@dataclass(frozen=True, slots=True)
class Asking:
    """How questions are made; answers fit only questions made the same way.

    Attributes:
        mode: Decides which axes are in doubt.
        times: How often each question is asked, 1 or 2, in another order of the codes; the mean of the answers counts.
    """

    classifier: Classifier
    reader: str
    mode: Mode
    axes: Sequence[str]
    times: int = 1


@dataclass(frozen=True, slots=True)
class Asked:
    """A report with the first reader's verdict, and the questions, perhaps empty.

    Attributes:
        prediction: The scores that count beside the answers.
    """

    findings: Findings
    verdict: Verdict
    prediction: Prediction
    requests: Sequence[ReaderRequest]

    def shares(self, answers: Mapping[str, Any], reader: str) -> dict[str, Shares]:
        """Axis -> the mean of the reader's answers; empty without answers."""
        return mean_shares([answer_to(request, reader, answers) for request in self.requests])

    def both(
        self,
        answers: Mapping[str, Any],
        asking: Asking,
        calibration: ReaderCalibration | None,
        mode: Mode | None = None,
    ) -> Verdict:
        """The verdict of both readers; the first reader's if nothing was asked.

        Args:
            mode: The one to decide in; that of the questions if None.
        """
        verdict = self.verdict if mode is None else self.findings.verdict(mode)
        if not self.requests:
            return verdict
        shares = self.shares(answers, asking.reader)
        if not shares:
            return keep_first(verdict, asking.reader, self._why_none(answers, asking.reader))
        taxonomy = asking.classifier.bundle.taxonomy
        return complete(
            verdict,
            self.prediction,
            shares,
            taxonomy,
            asking.reader,
            calibration,
            situation=self.findings.situation,
        )

    def _why_none(self, answers: Mapping[str, Any], reader: str) -> str:
        there = [(request, answers[key]) for request in self.requests if (key := custom_id(request, reader)) in answers]
        for request, completion in there:
            if isinstance(completion, Failed):
                return completion.why
            if not read_answer(completion, request.codes):
                return why_none(completion, request.body["max_tokens"])
        if len(there) == len(self.requests):
            return "no axis is in both answers of the second reader"
        return "the file of answers holds one of two to this question" if there else NOT_THERE


@dataclass(frozen=True, slots=True)
class Accepted:
    """A calibrated second reader's labels for one report.

    Attributes:
        answered: Whether any question was answered.
        labels: Axis -> label given, not only suggested; without axes that the first reader decided.
    """

    report: IssueReport
    answered: bool
    labels: Mapping[str, str]


def requests(path: str, asking: Asking, without: Collection[str] = ()) -> Iterator[str | BadRecord]:
    """The lines of a batch file for the reports in doubt, each question once, and the records that cannot be read.

    Args:
        without: Fields that the model refuses; see `ReaderRequest.body_for`.

    Raises:
        InputError: the file cannot be read.
    """
    seen: set[str] = set()
    for item in _questions(path, asking):
        if isinstance(item, BadRecord):
            yield item
            continue
        for request in item.requests:
            if (identifier := custom_id(request, asking.reader)) not in seen:
                seen.add(identifier)  # a batch service refuses a `custom_id` that comes twice
                yield batch_line(request, asking.reader, without)


def verdicts(
    path: str, answers: Mapping[str, Any], asking: Asking, calibration: ReaderCalibration | None
) -> Iterator[Verdict | FailedRecord]:
    """The verdicts of all reports in order, completed by the answers.

    Raises:
        InputError: the file cannot be read.
    """
    for item in _questions(path, asking):
        if isinstance(item, BadRecord):
            yield FailedRecord(id=item.id, error=item.error)
            continue
        yield item.both(answers, asking, calibration).model_copy(update={"similar": None})


def accepted(
    reports: Iterable[IssueReport], answers: Mapping[str, Any], asking: Asking, calibration: ReaderCalibration
) -> Iterator[Accepted]:
    """The second reader's labels for each report, in order."""
    for report in reports:
        item = ask(report, asking)
        verdict = item.both(answers, asking, calibration)
        given = {
            axis: said.label
            for axis, said in verdict.axes.items()
            if said.read_by == "second-reader" and said.outcome is Outcome.APPLY
        }
        reading = verdict.second_reading
        yield Accepted(report, reading is not None and reading.note is None, given)


def read_answers(path: Path) -> dict[str, Any]:
    """The answers of a batch by `custom_id`.

    Raises:
        InputError: the file cannot be read, or is not a batch of answers.
    """
    try:
        with path.open("rb") as stream:
            encoding = encoding_of(stream.read(2))
        with path.open(encoding=encoding) as lines:
            return read_batch(lines, str(path))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: not valid {error.encoding.upper()} at byte {error.start}; expected answers of a batch"
        ) from None


def ask(report: IssueReport, asking: Asking) -> Asked:
    """Let the first reader read a report, and make requests about its doubts."""
    taxonomy = asking.classifier.bundle.taxonomy
    findings = examine(asking.classifier, report)
    verdict = findings.verdict(asking.mode)
    asked = question(findings, verdict, asking.axes)
    put = [asked.request(taxonomy, attempt=time) for time in range(asking.times)] if asked is not None else []
    return Asked(findings, verdict, findings.prediction if asked is None else asked.prediction, put)


def read_reports(path: str) -> Iterator[tuple[RawRecord, IssueReport | BadRecord]]:
    """The records of a batch, each with its report.

    Raises:
        InputError: the file cannot be read, or is not one of many reports.
    """
    if not is_batch(path):
        raise InputError(f"{path}: expected a file of many reports (.jsonl, .parquet)")
    for record in read_records(path):
        yield record, parse_record(record)


def _questions(path: str, asking: Asking) -> Iterator[Asked | BadRecord]:
    for _, report in read_reports(path):
        yield report if isinstance(report, BadRecord) else ask(report, asking)


def custom_id(request: ReaderRequest, reader: str) -> str:
    """Digest of the question and of the reader's name, 32 hexadecimal digits."""
    asked = json.dumps([reader, request.body["messages"]], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()[:32]


def batch_line(request: ReaderRequest, reader: str, without: Collection[str] = ()) -> str:
    """One line of a batch file, without the line feed; see `ReaderRequest.body_for`."""
    line = {
        "custom_id": custom_id(request, reader),
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": request.body_for(reader, without),
    }
    return json.dumps(line, ensure_ascii=False)


def read_batch(lines: Iterable[str], place: str) -> dict[str, Any]:
    """Completions by `custom_id`; `Failed` for failed requests.

    Raises:
        InputError: a line is not an answer of a batch.
    """
    completions: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            answer = json.loads(line)
            identifier, response = answer["custom_id"], answer["response"]
        except (ValueError, RecursionError, KeyError, TypeError):
            raise InputError(
                f"{place}:{number}: expected an answer of a batch: an object with `custom_id` and `response`"
            ) from None
        if not isinstance(identifier, str):
            continue
        said = response if isinstance(response, dict) else {}
        status, body = said.get("status_code"), said.get("body")
        if status == 200 and body is not None:
            completions[identifier] = body
        else:  # it may have been asked again
            refused = type(status) is int and status != 200
            completions.setdefault(
                identifier, Failed(f"the second reader refused (HTTP {status})" if refused else SILENT)
            )
    return completions


def answer_to(request: ReaderRequest, reader: str, completions: Mapping[str, Any]) -> dict[str, Shares]:
    """A reader's answer to one request in a batch; empty without an offered code."""
    return read_answer(completions.get(custom_id(request, reader)), request.codes)
