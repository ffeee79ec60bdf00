"""Error analysis: a bundle's mistakes, how near it was, and whether the report could tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from distriage.classifier import Classifier
from distriage.model.taxonomy import Axis
from distriage_training.config import Config
from distriage_training.corpus.load import load_splits
from distriage_training.corpus.records import Annotation, Record, label_numbers, valid_annotations
from distriage_training.measure.predict import predict, probability_matrix
from distriage_training.measure.tables import markdown

CONFUSIONS = 8  # shown for an axis
MIN_GROUP = 15  # reports; a share of fewer says nothing


class Confusion(NamedTuple):
    """A wrong label, how often it was given, and its mean probability."""

    true: str
    predicted: str
    times: int
    probability: float


@dataclass(frozen=True, slots=True)
class AxisMistakes:
    """A bundle's mistakes on an axis.

    Attributes:
        n, wrong: Reports, and those with a wrong top label.
        second, third: Reports whose right label is the second or third likeliest.
        family: Reports whose right family was given; None for an axis without families.
        confusions: Commonest first.
        accuracy: Property of the report (annotator's confidence, evidence, length) -> n, accuracy.
    """

    n: int
    wrong: int
    second: int
    third: int
    family: int | None
    confusions: tuple[Confusion, ...]
    accuracy: Mapping[str, tuple[int, float]]


def analyse(classifier: Classifier, config: Config, console: Console) -> dict[str, AxisMistakes]:
    """Count mistakes on the validation split, axis by axis.

    Raises:
        CorpusError: the split has no record with a text.
    """
    taxonomy = classifier.bundle.taxonomy
    records = load_splits(config, taxonomy, console).measured("validation")
    annotations: dict[str, Annotation] = {}
    if config.data.format == "corpus":
        read = valid_annotations(config.data.corpus / "annotations.jsonl", taxonomy)
        annotations = {annotation.id: annotation for annotation in read}
    predictions = predict(classifier, records, console)
    numbers = np.array([label_numbers(record, taxonomy) for record in records])
    result = {}
    for i, axis in enumerate(taxonomy.axes.values()):
        rows = np.flatnonzero(numbers[:, i] >= 0)
        probabilities = probability_matrix(predictions, axis.id, axis.label_ids)[rows]
        known = [(records[row], annotations.get(records[row].id)) for row in rows]
        result[axis.id] = _mistakes(axis, numbers[rows, i], probabilities, known)
    return result


def _mistakes(
    axis: Axis,
    truth: NDArray[np.integer],
    probabilities: NDArray[np.float64],
    known: Sequence[tuple[Record, Annotation | None]],
) -> AxisMistakes:
    ranks = (-probabilities).argsort(1).argsort(1)[np.arange(len(truth)), truth]
    predicted = probabilities.argmax(1)
    families = [axis.label(name).family for name in axis.label_ids]
    wrong = np.flatnonzero(ranks > 0)
    found: dict[tuple[str, str], list[float]] = {}
    for row in wrong:
        pair = axis.label_ids[truth[row]], axis.label_ids[predicted[row]]
        found.setdefault(pair, []).append(float(probabilities[row].max()))
    commonest = sorted(found, key=lambda pair: -len(found[pair]))[:CONFUSIONS]
    in_family = sum(families[truth[row]] == families[predicted[row]] is not None for row in wrong)
    return AxisMistakes(
        n=len(truth),
        wrong=len(wrong),
        second=int((ranks == 1).sum()),
        third=int((ranks == 2).sum()),
        family=int(in_family) if any(families) else None,
        confusions=tuple(Confusion(*pair, len(found[pair]), float(np.mean(found[pair]))) for pair in commonest),
        accuracy=dict(_by_knowledge(known, axis.id, ranks == 0)),
    )


def _by_knowledge(
    known: Sequence[tuple[Record, Annotation | None]], axis: str, right: NDArray[np.bool_]
) -> Iterator[tuple[str, tuple[int, float]]]:
    groups: dict[str, list[int]] = {}
    for row, (record, annotation) in enumerate(known):
        length = "body of more than 1,500 characters" if len(record.body) > 1500 else "shorter body"
        groups.setdefault(length, []).append(row)
        if annotation is not None:
            groups.setdefault(f"annotator's confidence {annotation.confidence}", []).append(row)
            evidence = getattr(annotation, f"{axis}_evidence", None)
            if evidence:
                groups.setdefault(f"{axis} {evidence}", []).append(row)
    for name, rows in sorted(groups.items()):
        if len(rows) >= MIN_GROUP:
            yield name, (len(rows), float(right[rows].mean()))


def mistakes_table(result: Mapping[str, AxisMistakes]) -> str:
    """How near the mistakes are, on which reports, and which labels are taken for which."""
    near = markdown(
        ["axis", "n", "wrong", "right label second", "third", "right family"],
        [
            [axis, row.n, row.wrong, row.second, row.third, "" if row.family is None else row.family]
            for axis, row in result.items()
        ],
    )
    known = markdown(
        ["axis", "reports", "n", "accuracy"],
        [
            [axis, name, n, f"{accuracy:.3f}"]
            for axis, row in result.items()
            for name, (n, accuracy) in row.accuracy.items()
        ],
    )
    pairs = markdown(
        ["axis", "true", "predicted", "times", "mean probability"],
        [[axis, *pair[:3], f"{pair.probability:.2f}"] for axis, row in result.items() for pair in row.confusions],
    )
    return "\n".join([near, known, pairs])
