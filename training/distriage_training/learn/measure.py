"""How often heads for own labels are right on issues that came later. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from distriage.base.intervals import Share
from distriage.github.listed import ListedIssue
from distriage_training.learn.fit import Bools, Floats, Learned
from distriage_training.learn.thresholds import Promise, Threshold

LIKELIER_THAN_NOT = 0.5
SHOWN = 8  # issues a label


@dataclass(frozen=True, slots=True)
class LabelFigures:
    """One label on the later issues.

    Attributes:
        examples: Number of issues with it to learn from.
        carried: Later issues that have it.
        threshold: None: never given.
        given, right: Decisions from the threshold on.
        likely, likely_right: Issues for which it is likelier than not, given or not.
        confused: Labels that people gave to issues where this one was wrongly given or likely, with counts; empty for
            none.
        wrong, missed: Later issues, the surest mistakes first, with the label's probability.
    """

    name: str
    examples: int
    carried: int
    threshold: Threshold | None
    given: int
    right: int
    likely: int
    likely_right: int
    confused: tuple[tuple[str, int], ...]
    wrong: tuple[tuple[ListedIssue, float], ...]
    missed: tuple[tuple[ListedIssue, float], ...]

    @property
    def precision(self) -> float | None:
        """Share of the given labels that are right; None if never given."""
        return Share(self.right, self.given).value

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the precision."""
        return Share(self.right, self.given).interval

    @property
    def found(self) -> float | None:
        """Share of the issues with the label that get it; None without such issues."""
        return Share(self.right, self.carried).value


@dataclass(frozen=True, slots=True)
class Figures:
    """All labels on the later issues.

    Attributes:
        features: The features that the heads read.
        quality: Average precision by forward chaining, on the issues learned from.
        micro_f1: Over all labels, giving each that is likelier than not.
    """

    features: str
    quality: float
    issues: int
    covered: int
    micro_f1: float
    labels: tuple[LabelFigures, ...]

    @property
    def given(self) -> int:
        """Labels given."""
        return sum(label.given for label in self.labels)

    @property
    def right(self) -> int:
        """Of them, right."""
        return sum(label.right for label in self.labels)

    @property
    def precision(self) -> float | None:
        """Share of the given labels that are right; None if none is given."""
        return Share(self.right, self.given).value

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the precision."""
        return Share(self.right, self.given).interval

    @property
    def coverage(self) -> float:
        """Share of the later issues that get a label at least."""
        return self.covered / self.issues if self.issues else 0.0


def measure(
    names: Sequence[str], learned: Learned, all_issues: Sequence[ListedIssue], probabilities: Floats, truth: Bools
) -> Figures:
    """Figures of heads that were learned from the first issues, on the others.

    Args:
        names: Of the labels.
        all_issues: By date.
        probabilities: Of the later issues, [later, labels].
        truth: Of all issues, [issues, labels].
    """
    first = len(truth) - len(probabilities)
    later, said = truth[first:], probabilities >= LIKELIER_THAN_NOT
    least = np.array([1.1 if one is None else one.probability for one in learned.thresholds])
    issues = all_issues[first:]
    hits = int((said & later).sum())
    return Figures(
        features=learned.heads.kind.name,
        quality=learned.quality,
        issues=len(later),
        covered=int((probabilities >= least).any(1).sum()),
        micro_f1=2 * hits / max(1, int(said.sum() + later.sum())),
        labels=tuple(
            _label(name, int(truth[:first, column].sum()), learned.thresholds[column], issues, p, later[:, column])
            for column, (name, p) in enumerate(zip(names, probabilities.T, strict=True))
        ),
    )


def _label(
    name: str, learned_from: int, threshold: Threshold | None, issues: Sequence[ListedIssue], p: Floats, has: Bools
) -> LabelFigures:
    given = p >= threshold.probability if threshold is not None else np.zeros(len(p), np.bool_)
    likely = p >= LIKELIER_THAN_NOT
    wrong = [row for row in np.argsort(-p, kind="stable") if (given | likely)[row] and not has[row]]
    missed = [row for row in np.argsort(p, kind="stable") if has[row] and not given[row]]
    others = Counter(label for row in wrong for label in issues[row].labels or ("",))
    return LabelFigures(
        name=name,
        examples=learned_from,
        carried=int(has.sum()),
        threshold=threshold,
        given=int(given.sum()),
        right=int((given & has).sum()),
        likely=int(likely.sum()),
        likely_right=int((likely & has).sum()),
        confused=tuple(others.most_common(3)),
        wrong=tuple((issues[row], float(p[row])) for row in wrong[:SHOWN]),
        missed=tuple((issues[row], float(p[row])) for row in missed[:SHOWN]),
    )


def what_would_help(label: LabelFigures, promise: Promise) -> str:
    """One sentence on a label that is never given."""
    needed = 4 * promise.least_decisions  # twice as many are tried first, and half of a label's issues are held out
    if label.examples < needed:
        return f"More examples: it is on {label.examples} issues; with fewer than {needed} nothing can be shown."
    other = label.confused[0][0] if label.confused else ""
    if other:
        return f"People gave {other!r} to issues that read like it: write down which of the two is for what."
    return "Its issues read like others, or people give it unevenly: write down when it is given."
