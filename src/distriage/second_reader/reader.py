"""The second reader on one report, asked if the verdict is in doubt; for command line, server and Action."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from distriage.answer.findings import Findings
from distriage.answer.similar import Similar
from distriage.answer.verdict import Verdict
from distriage.base.errors import ConfigError, InputError
from distriage.base.texts import decoded
from distriage.base.types import IssueReport, Mode, Outcome, Prediction, Silence
from distriage.classifier import Classifier
from distriage.model.taxonomy import Taxonomy
from distriage.reports.records import BadRecord
from distriage.second_reader import AXES
from distriage.second_reader.answer import Shares, mean_shares
from distriage.second_reader.calibration import ReaderCalibration, load_calibration
from distriage.second_reader.completion import Required, complete, keep_first, may_be_given
from distriage.second_reader.endpoint import Endpoint, EndpointSettings, Unanswered
from distriage.second_reader.request import Question, is_in_doubt

SURE: Final = 0.98  # probability from which on an axis is not asked about
UNREAD: Final = 0.1  # weight of the first reader's probabilities where it has not learned the script
KEY, KEY_FILE = "DISTRIAGE_SECOND_READER_KEY", "DISTRIAGE_SECOND_READER_KEY_FILE"


class SecondReader:
    """Asks an endpoint about the axes that the first reader is not sure of. Safe to share between threads."""

    def __init__(
        self, endpoint: Endpoint, calibration: ReaderCalibration | None = None, axes: Sequence[str] = AXES
    ) -> None:
        """Set up a reader.

        Args:
            calibration: Without one, the second reader's labels are suggestions.
        """
        self._endpoint = endpoint
        self._calibration = calibration
        self.axes = axes
        self.name = endpoint.settings.model

    @property
    def manner(self) -> str:
        """Its name and how it asks; kept answers can be used only by a reader that asks in the same way.

        The calibration decides which questions are asked twice, and `axes` which are asked at all.
        """
        how = [self._calibration.model_dump_json()] if self._calibration is not None else []
        how += self.axes if set(self.axes) != set(AXES) else []
        return f"{self.name} {hashlib.sha256(json.dumps(how).encode()).hexdigest()[:12]}" if how else self.name

    def classify(
        self, classifier: Classifier, report: IssueReport, *, mode: Mode, explain: bool = False, similar: bool = False
    ) -> Verdict:
        """Answer one report; see `Classifier.classify` for the arguments and the errors."""
        verdict = self.verdict(examine(classifier, report, explain=explain, similar=similar), mode)
        return verdict if similar else verdict.model_copy(update={"similar": None})

    def verdict(self, findings: Findings, mode: Mode) -> Verdict:
        """The model's verdict, completed if it is in doubt and the endpoint answers; else unchanged, with a note."""
        verdict = findings.verdict(mode)
        asked = question(findings, verdict, self.axes)
        if asked is None:
            return verdict
        return self.put(verdict, asked, findings.bundle.taxonomy)

    def put(
        self, verdict: Verdict, question: Question, taxonomy: Taxonomy, required: Required | None = None
    ) -> Verdict:
        """Ask, and complete the first verdict; see `complete`."""
        answer = self.ask(question, taxonomy)
        said = answer.why if isinstance(answer, Unanswered) else answer
        return self.complete(verdict, question, said, taxonomy, required)

    def complete(
        self,
        verdict: Verdict,
        question: Question,
        answer: Mapping[str, Shares] | str,
        taxonomy: Taxonomy,
        required: Required | None = None,
    ) -> Verdict:
        """The first verdict, completed with the answer.

        Args:
            answer: Axis -> shares; or why none came.
        """
        if isinstance(answer, str):
            return keep_first(verdict, self.name, answer)
        return complete(
            verdict,
            question.prediction,
            answer,
            taxonomy,
            self.name,
            self._calibration,
            required,
            question.situation,
        )

    def ask(self, question: Question, taxonomy: Taxonomy) -> dict[str, Shares] | Unanswered:
        """Ask, and ask again with the codes reordered if that could lead to a label; axis -> shares.

        The mean of both answers counts, so a choice by order alone becomes a doubt. If the second request fails or
        leaves an axis out, the first answer counts for a calibration on single answers; for one on two, there is no
        answer, since one alone would promise too much.
        """
        first = self._endpoint.ask(question.request(taxonomy))
        if isinstance(first, Unanswered):
            return first
        matters = [
            axis for axis, shares in first.items() if may_be_given(question.prediction, axis, shares, self._calibration)
        ]
        if not matters:
            return first
        second = self._endpoint.ask(question.request(taxonomy, matters, attempt=1))
        one_is_enough = self._calibration is None or self._calibration.times == 1
        if isinstance(second, Unanswered):
            return first if one_is_enough else second
        once = {axis: shares for axis, shares in first.items() if one_is_enough or axis not in matters}
        return {**once, **mean_shares([first, second])}


def examine(classifier: Classifier, report: IssueReport, *, explain: bool = False, similar: bool = False) -> Findings:
    """The first reader's findings, with the annotated reports that the question shows."""
    return classifier.examine(report, explain=explain, similar=similar or Similar.available(classifier.bundle))


def reader_from_options(url: str, model: str, calibration: Path | None, bundle: str) -> SecondReader:
    """The second reader that a command's options describe.

    Args:
        bundle: Name of the first reader's model.

    Raises:
        ConfigError: an option is missing or does not fit.
    """
    endpoint = Endpoint(EndpointSettings(url, model, key_from_environment()))
    fitted = load_calibration(calibration, model, bundle) if calibration is not None else None
    return SecondReader(endpoint, fitted)


def question(findings: Findings, verdict: Verdict, axes: Sequence[str] = AXES) -> Question | None:
    """A question about a report that leaves the verdict, or `precise`, in doubt: all axes below `SURE`, and those of a
    script that the model has not learned.

    A fifth of the labels given by `balanced` are wrong, by its own promise, and one more axis costs little. If it is
    doubtful whether the report is a bug at all, bug axes are asked about as well as its kind.

    Returns:
        None without doubt, or if the report says too little to tell.
    """
    if findings.read.is_thin or verdict.in_domain is False:
        return None
    if not any(is_in_doubt(said, axes) for said in (verdict, findings.verdict(Mode.PRECISE))):
        return None
    asked: list[str] = []
    for axis, said in verdict.axes.items():  # required axes come first
        lacks = findings.bundle.taxonomy.axes[axis].requires if said.outcome is Outcome.NOT_APPLICABLE else None
        in_doubt = said.probability < SURE or said.silence is Silence.SCRIPT
        if axis in axes and (in_doubt if lacks is None else lacks.axis in asked):
            asked.append(axis)
    if not asked:
        return None
    neighbours = tuple(findings.similar or ())
    prediction = _heard(findings.prediction, verdict)
    return Question(findings.read.input.text, prediction, tuple(asked), neighbours, findings.situation)


def _heard(prediction: Prediction, verdict: Verdict) -> Prediction:
    """The first reader's scores, nearly even on axes that it could not read.

    There they only rank what is offered, and do not outweigh the second reader.
    """
    scores = dict(prediction.scores)
    for axis, said in verdict.axes.items():
        if said.silence is Silence.SCRIPT:
            own = scores[axis].probabilities
            mixed = {label: UNREAD * p + (1 - UNREAD) / len(own) for label, p in own.items()}
            scores[axis] = replace(scores[axis], probabilities=mixed)
    return replace(prediction, scores=scores)


def check_axes(axes: Sequence[str], taxonomy: Taxonomy) -> tuple[str, ...]:
    """The axes to ask about, without default axes that a taxonomy lacks.

    Raises:
        ConfigError: no axis, an unknown axis, or one that a second reader is never asked about.
    """
    wrong = [axis for axis in axes if axis not in AXES]
    known = tuple(axis for axis in taxonomy.axes if axis in axes)
    if wrong or not known:
        raise ConfigError(
            f"axes of the second reader: {(wrong or [''])[0]!r}; expected some of {', '.join(AXES)} that the model has"
        )
    return known


def show_request(classifier: Classifier, report: IssueReport | BadRecord, mode: Mode, model: str) -> None:
    """Print the request for one report as JSON.

    Args:
        model: The model's name at the endpoint; left out if empty.

    Raises:
        InputError: the report cannot be read.
    """
    if isinstance(report, BadRecord):
        raise InputError(report.error)
    findings = examine(classifier, report)
    asked = question(findings, findings.verdict(mode))
    if asked is None:
        sys.stderr.write(f"{report.id or 'report'}: nothing is in doubt; nothing would be sent\n")
    else:
        body = {**asked.request(findings.bundle.taxonomy).body, **({"model": model} if model else {})}
        sys.stdout.write(json.dumps(body, indent=2, ensure_ascii=False) + "\n")


def key_from_environment() -> str:
    """The endpoint's key: `DISTRIAGE_SECOND_READER_KEY`, or the content of the file `DISTRIAGE_SECOND_READER_KEY_FILE`;
    empty if neither is set.

    Raises:
        ConfigError: both are set; the file cannot be read, is empty or not text.
    """
    key, file = os.environ.get(KEY, "").strip(), os.environ.get(KEY_FILE)
    if not file:
        return key
    if key:
        raise ConfigError(f"{KEY} and {KEY_FILE} are both given; expected one of them")
    try:
        found = decoded(Path(file).read_bytes()).strip()
    except OSError as error:
        raise ConfigError(f"{KEY_FILE}={file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{KEY_FILE}={file}: not valid UTF-8 at byte {error.start}; expected a key") from None
    if not found:
        raise ConfigError(f"{KEY_FILE}={file}: empty; expected a key")
    return found
