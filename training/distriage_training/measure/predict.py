"""A bundle's predictions for records, and the labels that the policy gives them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from distriage.answer.policy import decide
from distriage.base.types import IssueReport, Mode, Outcome, Prediction
from distriage.classifier import Classifier
from distriage.reading.report import read
from distriage.recipe.text import prepare
from distriage_training.corpus.records import Record

NONE_GIVEN = -1
# Mode -> axis -> the number of the label that is given, or NONE_GIVEN, [reports].
Given = dict[Mode, dict[str, NDArray[np.int64]]]


def predict(classifier: Classifier, records: Sequence[Record], console: Console) -> list[Prediction]:
    """The bundle's prediction for each record, with a progress bar."""
    return [
        classifier.predict_inputs([prepare(record.title, record.body)])[0]
        for record in track(records, "predicting", console=console, transient=True, disable=not console.is_terminal)
    ]


def probability_matrix(predictions: Sequence[Prediction], axis: str, labels: Sequence[str]) -> NDArray[np.float64]:
    """Probabilities of an axis, [predictions, labels]."""
    return np.array([[prediction.scores[axis].probabilities[label] for label in labels] for prediction in predictions])


def given_labels(classifier: Classifier, records: Sequence[Record], predictions: Sequence[Prediction]) -> Given:
    """Labels that the policy gives in each mode that abstains."""
    manifest, taxonomy = classifier.bundle.manifest, classifier.bundle.taxonomy
    details = [read(IssueReport(record.title, record.body)).detail for record in records]
    found: Given = {}
    for mode in (Mode.BALANCED, Mode.PRECISE):
        decisions = [
            decide(prediction, manifest.axes, taxonomy, mode, detail=detail)
            for prediction, detail in zip(predictions, details, strict=True)
        ]
        found[mode] = {
            axis.id: np.array(
                [
                    axis.label_ids.index(of_report[axis.id].label)
                    if of_report[axis.id].outcome is Outcome.APPLY
                    else NONE_GIVEN
                    for of_report in decisions
                ]
            )
            for axis in taxonomy.axes.values()
        }
    return found
