"""The result of an evaluation: the schema of metrics.json. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Interval = Annotated[tuple[float, float], Field(strict=False)]


class _Figures(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Scores(_Figures):
    """Accuracy and macro-F1."""

    accuracy: float
    macro_f1: float

    def __str__(self) -> str:
        return f"{self.accuracy:.3f} / {self.macro_f1:.3f}"


class CountedScores(Scores):
    """Of `n` reports."""

    n: int


class ReaderAgreement(CountedScores):
    """One reader measured against another, with Cohen's kappa."""

    kappa: float


class AxisResult(CountedScores):
    """One axis.

    Attributes:
        coverage: Precision (`"0.90"`) -> largest share of reports for which the top label is right that often.
        among: Number of likeliest labels (`"3"`) -> share of reports whose right one is among them, where the axis has
            more; empty in older evaluations.
        majority, tfidf_lr: The baselines, trained on the same records; None if not fitted.
    """

    accuracy_interval: Interval
    macro_f1_interval: Interval
    weighted_f1: float
    ece: float
    brier: float
    coverage: Mapping[str, float]
    among: Mapping[str, float] = {}
    majority: Scores
    tfidf_lr: Scores | None = None


class Applied(_Figures):
    """Labels that the policy applies at the shipped thresholds: share of reports, and how often they are right."""

    coverage: float
    precision: float | None = None

    def __str__(self) -> str:
        return "none (0%)" if self.precision is None else f"{self.precision:.2f} ({self.coverage:.0%})"


class GroupScores(CountedScores):
    """Reports of one origin, group or language.

    Attributes:
        among_three: Share of reports whose right label is among the three likeliest.
        applied: Mode -> labels that the policy applies. Like the two above, empty in older evaluations.
    """

    accuracy_interval: Interval | None = None
    among_three: float | None = None
    applied: Mapping[str, Applied] = {}


class Evaluation(_Figures):
    """A bundle measured on a split.

    Attributes:
        without_text: Annotated reports of the split whose text is missing here. If there are any, the figures are not
            comparable: the remaining texts are restated ones, which are easier to read.
        annotated: All annotated reports of the split, also those that a limit left out.
        thresholds: Mode -> axis -> labels applied.
        agreement: `whole_thread`, `as_filed` -> axis -> readers of the same reports.
        feedback: Axis -> scores against reviews of people who saw a model's answer.
        group_macro_f1_mean: Axis -> mean over groups, where the configuration has a group column.
        published: Other systems' figures for that mean.
        advice: Markdown table of readers' judgements of facts, questions and checks; empty where there are none.
    """

    # Evaluations that were recorded by an earlier version also hold figures that experiments measure now.
    model_config = ConfigDict(extra="allow", frozen=True)

    model: str
    split: str
    records: int
    without_text: int = 0
    annotated: int = 0
    axes: Mapping[str, AxisResult]
    groups: Mapping[str, Mapping[str, GroupScores]]
    thresholds: Mapping[str, Mapping[str, Applied]]
    agreement: Mapping[str, Mapping[str, ReaderAgreement]] = {}
    feedback: Mapping[str, CountedScores] = {}
    group_macro_f1_mean: Mapping[str, float] = {}
    published: Mapping[str, float] = {}
    advice: str = ""


class BundleFigures(_Figures):
    """A bundle's metrics.json: figures of the export, and evaluations recorded since."""

    validation: Mapping[str, CountedScores] = {}
    parity_fp32_max_logit_difference: float = 0.0
    int8_macro_f1_drop: Mapping[str, float] = {}
    sparse_weight: Mapping[str, tuple[float, ...]] = {}
    evaluation_validation: Evaluation | None = None
    evaluation_test: Evaluation | None = None
