"""Which lines of a report carried a verdict: occlusion on the shipped graph.

Each line is left out in turn; the fall of the verdict's log-odds is the line's weight (Li et al., 2016, "Understanding Neural
Networks through Representation Erasure").
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from distriage.classifier import Classifier, check_report
from distriage.text import ModelInput, prepare
from distriage.types import IssueReport

MAX_LINES = 40  # of a report are tried, the first ones; each costs one pass through the model


@dataclass(frozen=True, slots=True)
class Evidence:
    """One line and how much it carried a verdict.

    Attributes:
        line: The line as the model read it.
        weight: Fall of the log-odds of the label, in nats, when the line is left out; positive: the line speaks for the label.
    """

    line: str
    weight: float


def explain(classifier: Classifier, report: IssueReport, axis: str, top: int = 3) -> list[Evidence]:
    """The lines that carried the likeliest label of one axis.

    Returns:
        At most `top` lines that speak for the label, the heaviest first.

    Raises:
        InputError: the report cannot be classified.
    """
    check_report(report)
    whole = prepare(report.title, report.body)
    pieces = _without_each_line(whole)
    predictions = classifier.predict_inputs([whole, *(shorter for _, shorter in pieces)])
    label, probability = predictions[0].scores[axis].ranked()[0]
    evidence = [
        Evidence(line, _log_odds(probability) - _log_odds(prediction.scores[axis].probabilities[label]))
        for (line, _), prediction in zip(pieces, predictions[1:], strict=True)
    ]
    evidence.sort(key=lambda item: -item.weight)
    return [item for item in evidence[:top] if item.weight > 0]


def _without_each_line(whole: ModelInput) -> list[tuple[str, ModelInput]]:
    pieces = [(whole.title, replace(whole, title=""))] if whole.title and (whole.errors or whole.prose) else []
    for i, line in enumerate(whole.errors):
        pieces.append((line, replace(whole, errors=whole.errors[:i] + whole.errors[i + 1 :])))
    lines = whole.prose.split("\n") if whole.prose else []
    for i, line in enumerate(lines):
        pieces.append((line, replace(whole, prose="\n".join(lines[:i] + lines[i + 1 :]))))
    return pieces[:MAX_LINES]


def _log_odds(probability: float) -> float:
    probability = min(max(probability, 1e-6), 1 - 1e-6)
    return math.log(probability / (1 - probability))
