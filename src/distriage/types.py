"""The values that pass between modules. Frozen; what the model says is kept apart from what we say about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class IssueReport:
    """A report as filed.

    Attributes:
        title: May be empty if `body` is not.
        body: Markdown; may be empty if `title` is not.
        id: The caller's own name for it, e.g. `owner/repo#12` or a file name; empty if it has none.
    """

    title: str
    body: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class AxisScores:
    """Calibrated probabilities of one axis.

    Attributes:
        probabilities: Label id -> probability; they sum to 1.
    """

    axis: str
    probabilities: Mapping[str, float]

    def ranked(self) -> list[tuple[str, float]]:
        """Labels with their probabilities, the likeliest first."""
        return sorted(self.probabilities.items(), key=lambda item: -item[1])


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the model says of one report: scores, no opinion.

    Attributes:
        model: Name of the bundle.
        scores: Axis id -> scores.
    """

    model: str
    scores: Mapping[str, AxisScores]


class Outcome(StrEnum):
    """What to do with an axis."""

    APPLY = "apply"
    SUGGEST = "suggest"
    ABSTAIN = "abstain"
    NOT_APPLICABLE = "not-applicable"


@dataclass(frozen=True, slots=True)
class Decision:
    """What we say about one axis of a prediction.

    Attributes:
        label: The likeliest label, whatever the outcome.
        probability: Its calibrated probability.
        runner_up: The second label, with its probability.
        family: With an outcome other than `apply`: the label's family, where that is sure enough; else None.
        family_probability: Probability of `family`, or of the label's family where `family` is None; None on an axis without families.
        reason: One sentence that a maintainer can read.
    """

    axis: str
    outcome: Outcome
    label: str
    probability: float
    runner_up: tuple[str, float]
    family: str | None
    family_probability: float | None
    reason: str
