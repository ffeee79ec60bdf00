"""Error analysis: where a bundle is wrong, how near it was, and whether the report could tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from distriage.classifier import Classifier
from distriage.errors import CorpusError
from distriage_training.config import Config
from distriage_training.corpus import Annotation, Record, read_annotations
from distriage_training.evaluate import predict, probability_matrix
from distriage_training.examples import label_numbers, load_split_records

CONFUSIONS = 8  # shown an axis
MIN_GROUP = 15  # reports; a share of fewer says nothing


def analyse(classifier: Classifier, config: Config, console: Console, split: str = "validation") -> dict[str, Any]:
    """Count errors.

    Returns:
        Axis -> `n`, `errors`, `second` and `third` (the right label is the second or third likeliest), `family` (the right family), `confusions`
        (true, predicted, count, mean probability; commonest first), `accuracy` by what is known of the report: how sure its annotator was, whether cause and
        fix are stated in the thread, its length.

    Raises:
        CorpusError: the split has no record with a text.
    """
    taxonomy = classifier.bundle.taxonomy
    records = [record for record in load_split_records(config, taxonomy)[split] if record.origin != "feedback"]
    if not records:
        raise CorpusError(f"split {split}: no record with a text")
    annotations: dict[str, Annotation] = {}
    if config.data.format == "corpus":
        annotations = {found.id: found for _, found in read_annotations(config.resolve(config.data.corpus) / "annotations.jsonl", taxonomy)[0]}
    predictions = predict(classifier, records, console)
    numbers = np.array([label_numbers(record, taxonomy) for record in records])
    result = {}
    for i, axis in enumerate(taxonomy.axes.values()):
        rows = np.flatnonzero(numbers[:, i] >= 0)
        truth = numbers[rows, i]
        probabilities = probability_matrix(predictions, axis.id, axis.label_ids)[rows]
        ranks = (-probabilities).argsort(1).argsort(1)[np.arange(len(rows)), truth]
        right = ranks == 0
        families = [axis.label(name).family for name in axis.label_ids]
        predicted = probabilities.argmax(1)
        wrong = np.flatnonzero(~right)
        pairs = Counter((axis.label_ids[truth[row]], axis.label_ids[predicted[row]]) for row in wrong)
        confidence: dict[tuple[str, str], list[float]] = {}
        for row in wrong:
            confidence.setdefault((axis.label_ids[truth[row]], axis.label_ids[predicted[row]]), []).append(float(probabilities[row].max()))
        result[axis.id] = {
            "n": len(rows),
            "errors": len(wrong),
            "second": int((ranks == 1).sum()),
            "third": int((ranks == 2).sum()),
            "family": int(sum(families[truth[row]] == families[predicted[row]] is not None for row in wrong)) if any(families) else None,
            "confusions": [(*labels, count, float(np.mean(confidence[labels]))) for labels, count in pairs.most_common(CONFUSIONS)],
            "accuracy": dict(_by_knowledge([records[row] for row in rows], annotations, axis.id, right)),
        }
    return result


def _by_knowledge(records: Sequence[Record], annotations: Mapping[str, Annotation], axis: str, right: NDArray[np.bool_]) -> Iterator[tuple[str, Any]]:
    groups: dict[str, list[int]] = {}
    for row, record in enumerate(records):
        groups.setdefault("body of more than 1,500 characters" if len(record.body) > 1500 else "shorter body", []).append(row)
        if (annotation := annotations.get(record.id)) is not None:
            groups.setdefault(f"annotator's confidence {annotation.confidence}", []).append(row)
            evidence = getattr(annotation, f"{axis}_evidence", None)
            if evidence:
                groups.setdefault(f"{axis} {evidence}", []).append(row)
    for name, rows in sorted(groups.items()):
        if len(rows) >= MIN_GROUP:
            yield name, {"n": len(rows), "accuracy": float(right[rows].mean())}


def errors_table(result: Mapping[str, Any]) -> str:
    """For people."""
    lines = ["| axis | n | wrong | right label second | third | right family |", "|---|---|---|---|---|---|"]
    for axis, row in result.items():
        family = "" if row["family"] is None else row["family"]
        lines.append(f"| {axis} | {row['n']} | {row['errors']} | {row['second']} | {row['third']} | {family} |")
    lines += ["", "| axis | reports | n | accuracy |", "|---|---|---|---|"]
    lines += [f"| {axis} | {name} | {found['n']} | {found['accuracy']:.3f} |" for axis, row in result.items() for name, found in row["accuracy"].items()]
    lines += ["", "| axis | true | predicted | times | mean probability |", "|---|---|---|---|---|"]
    for axis, row in result.items():
        lines += [f"| {axis} | {true} | {predicted} | {count} | {mean:.2f} |" for true, predicted, count, mean in row["confusions"]]
    return "\n".join(lines) + "\n"
