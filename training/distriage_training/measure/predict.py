"""A bundle's predictions for records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from distriage.classifier import Classifier
from distriage.recipe.text import prepare
from distriage.types import Prediction
from distriage_training.corpus.records import Record


def predict(classifier: Classifier, records: Sequence[Record], console: Console) -> list[Prediction]:
    """The bundle's prediction for each record, with a progress bar."""
    return [
        classifier.predict_inputs([prepare(record.title, record.body)])[0]
        for record in track(records, "predicting", console=console, transient=True, disable=not console.is_terminal)
    ]


def probability_matrix(predictions: Sequence[Prediction], axis: str, labels: Sequence[str]) -> NDArray[np.float64]:
    """Probabilities of an axis, [predictions, labels]."""
    return np.array([[prediction.scores[axis].probabilities[label] for label in labels] for prediction in predictions])
