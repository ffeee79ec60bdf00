"""A verdict as a repository wants it: each axis, or each label, as sure as its configuration asks.
Runs the model; no other I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from distriage.answer.findings import Findings
from distriage.answer.verdict import LikelyDuplicate, Verdict
from distriage.base.types import IssueReport, Mode
from distriage.classifier import Classifier
from distriage.model.bundle import Bundle
from distriage.past.build import known
from distriage.past.index import Known
from distriage_serving.configuration.model import RepositoryConfig

if TYPE_CHECKING:
    from distriage.second_reader.request import Question


class Judge(Protocol):
    """Says what a repository's configuration makes of a report.

    Attributes:
        bundle: Of its model.
    """

    @property
    def bundle(self) -> Bundle: ...

    def __call__(self, report: IssueReport, config: RepositoryConfig) -> Verdict: ...

    def doubt(
        self, report: IssueReport, config: RepositoryConfig, axes: Sequence[str]
    ) -> tuple[Verdict, Question | None]: ...

    def known(self, report: IssueReport, filed_at: float) -> Known:
        """What a look-up among past issues needs of a report.

        Raises:
            InputError: the report cannot be read.
        """

    def duplicates(self, report: IssueReport, filed_at: float) -> list[LikelyDuplicate] | None:
        """The past issues that are likely the same as an issue; None: those of its repository are not known.

        Args:
            filed_at: Unix time in seconds.
        """


@dataclass(frozen=True, slots=True)
class LocalJudge:
    """Judges in this process and thread."""

    classifier: Classifier

    @property
    def bundle(self) -> Bundle:
        """Of the classifier."""
        return self.classifier.bundle

    def __call__(self, report: IssueReport, config: RepositoryConfig) -> Verdict:
        """See `judge`."""
        return judge(self.classifier, report, config)

    def doubt(
        self, report: IssueReport, config: RepositoryConfig, axes: Sequence[str]
    ) -> tuple[Verdict, Question | None]:
        """See `doubt`."""
        return doubt(self.classifier, report, config, axes)

    def known(self, report: IssueReport, filed_at: float) -> Known:
        """See `Judge`."""
        return known(self.classifier, report, filed_at)

    def duplicates(self, report: IssueReport, filed_at: float) -> list[LikelyDuplicate] | None:  # noqa: ARG002
        """See `Judge`: past issues are not known here."""
        return None


def judge(classifier: Classifier, report: IssueReport, config: RepositoryConfig) -> Verdict:
    """Classify a report and decide every axis as the configuration asks for its likeliest label; see `required`.

    Returns:
        A verdict whose `mode` is the repository's.

    Raises:
        InputError: the report cannot be classified.
    """
    return _decided(classifier.examine(report), config)


def doubt(
    classifier: Classifier, report: IssueReport, config: RepositoryConfig, axes: Sequence[str]
) -> tuple[Verdict, Question | None]:
    """The same, with what a second reader could be asked about; None: nothing is in doubt.

    Args:
        axes: The axes that it may be asked about.
    """
    from distriage.second_reader.reader import examine, question  # only where there is a second reader

    findings = examine(classifier, report)
    verdict = _decided(findings, config)
    return verdict.model_copy(update={"similar": None}), question(findings, verdict, axes)


def _decided(findings: Findings, config: RepositoryConfig) -> Verdict:
    scores = findings.prediction.scores
    wanted = {axis: required(config, axis, scores[axis].ranked()[0][0]) for axis in scores}
    return findings.verdict(config.mode, wanted)


def required(config: RepositoryConfig, axis_id: str, label_id: str) -> Mode | float:
    """How sure the model must be of a label: a mode, or a probability. The label's own settings, else the axis's."""
    axis = config.axes.get(axis_id)
    label = axis.labels.get(label_id) if axis is not None else None
    for settings in (label, axis):
        if settings is not None and (wanted := settings.threshold or settings.mode) is not None:
            return wanted
    return config.mode
