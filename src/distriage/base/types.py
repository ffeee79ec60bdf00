"""The values that pass between modules. Frozen; the model's scores are kept apart from our decisions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from distriage.base.errors import InputError
from distriage.base.validation import Strict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Mode(StrEnum):
    """How sure a label must be: the likeliest always, right about 80 % of the time, right about 90 % of the time."""

    BEST = "best"
    BALANCED = "balanced"
    PRECISE = "precise"


def as_mode(mode: Mode | str) -> Mode:
    """The mode of that name.

    Raises:
        InputError: unknown mode.
    """
    try:
        return Mode(mode)
    except ValueError:
        raise InputError(f"mode {mode!r}: expected one of {', '.join(Mode)}") from None


class Outcome(StrEnum):
    """What to do with an axis."""

    APPLY = "apply"
    SUGGEST = "suggest"
    ABSTAIN = "abstain"
    NOT_APPLICABLE = "not-applicable"


class Detail(IntEnum):
    """How much a report says."""

    NOTHING = 0  # that something does not work, but not what happens
    LITTLE = 1  # too little to tell a cause
    ENOUGH = 2


class Unlearned(IntEnum):
    """How much of a report is in a script that the model has not learned, such as Japanese or Cyrillic."""

    LITTLE = 0
    WORDS = 1  # much of its own words; an error that it quotes can be read
    ALL = 2


class Silence(StrEnum):
    """Why an axis gets no label though it is likely: foreign, perhaps foreign, thin, unlearned script, no failure."""

    FOREIGN = "foreign"
    PERHAPS_FOREIGN = "perhaps-foreign"
    THIN = "thin"
    SCRIPT = "script"
    NO_FAILURE = "no-failure"


@dataclass(frozen=True, slots=True)
class FormLines:
    """The lines of a repository's issue forms and templates, as written there.

    Attributes:
        headings: The fields'.
        lines: Others that a report has if nobody wrote over them.
    """

    headings: frozenset[str]
    lines: frozenset[str]


@dataclass(frozen=True, slots=True)
class IssueReport:
    """A report as filed.

    Attributes:
        title: May be empty if `body` is not.
        body: Markdown; may be empty if `title` is not. None, which GitHub sends for an empty one, becomes empty.
        id: The caller's own name, e.g. `owner/repo#12` or a file name; may be empty.
        forms: Those of the repository that it was filed in; None: not known.
    """

    title: str
    body: str
    id: str = ""
    forms: FormLines | None = None

    def __post_init__(self) -> None:
        if self.body is None:
            object.__setattr__(self, "body", "")


@dataclass(frozen=True)  # without slots, for cached properties
class AxisScores:
    """Calibrated probabilities of one axis.

    Attributes:
        probabilities: Label id -> probability; they sum to 1.
    """

    axis: str
    probabilities: Mapping[str, float]

    def ranked(self) -> Sequence[tuple[str, float]]:
        """Labels with their probabilities, the likeliest first."""
        return self._ranked

    @cached_property
    def _ranked(self) -> Sequence[tuple[str, float]]:
        return sorted(self.probabilities.items(), key=lambda item: -item[1])


def _no_vector() -> NDArray[np.float32]:
    import numpy as np  # not needed just to read reports

    return np.zeros(0, np.float32)


@dataclass(frozen=True, slots=True)
class Prediction:
    """The model's scores for one report, before any decision.

    Attributes:
        model: Name of the bundle.
        scores: Axis id -> scores.
        domain_probability: That the report is in the model's domain; None for a bundle without a gate.
        in_domain: Whether that is enough; true without a gate.
        surely_in_domain: Whether it is enough for `precise`; true without a gate.
        vector: The encoder's mean vector [width], from the same pass; empty if unknown.
        penultimate: The same of its last layer but one.
    """

    model: str
    scores: Mapping[str, AxisScores]
    domain_probability: float | None = None
    in_domain: bool = True
    surely_in_domain: bool = True
    vector: NDArray[np.float32] = field(default_factory=_no_vector, repr=False, compare=False)
    penultimate: NDArray[np.float32] = field(default_factory=_no_vector, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Decision:
    """Our decision on one axis of a prediction.

    Attributes:
        label: The likeliest label, even if it is not given.
        family: The label's family, if the family is sure and the label is not; else None.
        family_probability: Probability of `family`, or of the label's family if that is None; None on an axis without
            families.
        reason: One sentence for maintainers.
        silence: Why no label is given, if neither its probability nor `requires` decides.
    """

    axis: str
    outcome: Outcome
    label: str
    probability: float
    family: str | None
    family_probability: float | None
    reason: str
    silence: Silence | None = None


class Fit(Strict):
    """A fitted logistic regression.

    Attributes:
        least: Probability below which nothing is shown.
        bias: Log odds where all measures are 0.
        weights: Measure -> its addition to the log odds, for each unit.
    """

    least: float
    bias: float
    weights: Mapping[str, float]

    def probability(self, measured: Mapping[str, float]) -> float:
        """The probability that something is right; an absent measure counts as 0."""
        odds = self.bias + sum(value * self.weights.get(name, 0.0) for name, value in measured.items())
        return 1 / (1 + math.exp(-odds))
