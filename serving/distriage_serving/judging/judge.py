"""One look at a report: a single pass of the model answers all later questions. Runs the model; no other I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from distriage.answer.verdict import Verdict
from distriage.base.types import IssueReport, Mode
from distriage.classifier import Classifier
from distriage.model.bundle import Bundle
from distriage.past.build import query_of
from distriage.past.index import PastQuery
from distriage_serving.configuration.model import RepositoryConfig

if TYPE_CHECKING:
    from distriage.second_reader.request import Question
    from distriage_serving.judging.indexes import PastIndexes


@dataclass(frozen=True, slots=True)
class Look:
    """The outcome of one look at a report.

    Attributes:
        verdict: Decided as the repository's configuration asks; its `mode` is the repository's.
        past: For a look-up among past issues.
        question: For a second reader; None without doubt or without axes.
    """

    verdict: Verdict
    past: PastQuery
    question: Question | None = None


class Judge(Protocol):
    """Looks at reports, in this process or in another.

    Attributes:
        past: The past issues to search, if any.
    """

    @property
    def bundle(self) -> Bundle: ...

    @property
    def past(self) -> PastIndexes | None: ...

    def look(
        self, report: IssueReport, config: RepositoryConfig, filed_at: float = 0.0, axes: Sequence[str] = ()
    ) -> Look:
        """Look at a report; see `look`.

        Raises:
            InputError: the report cannot be classified.
        """


@dataclass(frozen=True, slots=True)
class LocalJudge:
    """Judges in this process and thread."""

    classifier: Classifier
    past: PastIndexes | None = None

    @property
    def bundle(self) -> Bundle:
        """The classifier's."""
        return self.classifier.bundle

    def look(
        self, report: IssueReport, config: RepositoryConfig, filed_at: float = 0.0, axes: Sequence[str] = ()
    ) -> Look:
        """Look at a report with the classifier."""
        return look(self.classifier, report, config, filed_at, axes)


def with_answer(report: IssueReport, answer: str) -> IssueReport:
    """A report with its author's answer to our questions below it."""
    return replace(report, body=f"{report.body}\n\n{answer}") if answer else report


def look(
    classifier: Classifier,
    report: IssueReport,
    config: RepositoryConfig,
    filed_at: float = 0.0,
    axes: Sequence[str] = (),
    explain: bool = False,
    similar: bool = False,
) -> Look:
    """Read a report once and decide every axis as the configuration asks for its likeliest label; see `required`.

    Args:
        filed_at: Unix time in seconds; 0: now.
        axes: Those that a second reader may be asked about, if there is one.
        explain, similar: As for `Classifier.classify`. Suggestions name the line that speaks for them.

    Raises:
        InputError: the report cannot be classified.
    """
    explain = explain or config.suggestions != "off"
    if axes:
        from distriage.second_reader.reader import examine, question  # only with a second reader

        findings = examine(classifier, report, explain=explain, similar=similar)
    else:
        findings = classifier.examine(report, explain=explain, similar=similar)
    scores = findings.prediction.scores
    wanted = {axis: required(config, axis, scores[axis].ranked()[0][0]) for axis in scores}
    verdict = findings.verdict(config.mode, wanted)
    asked = question(findings, verdict, axes) if axes else None
    shown = verdict if similar or not axes else verdict.model_copy(update={"similar": None})
    return Look(shown, query_of(findings, filed_at), asked)


def required(config: RepositoryConfig, axis_id: str, label_id: str) -> Mode | float:
    """How sure the model must be of a label: a mode, or a probability. The label's own settings, else the axis's."""
    axis = config.axes.get(axis_id)
    label = axis.labels.get(label_id) if axis is not None else None
    for settings in (label, axis):
        if settings is not None and (wanted := settings.threshold or settings.mode) is not None:
            return wanted
    return config.mode
