"""Measure a bundle on a split: scores, baselines, annotators' agreement, intervals; metrics.json, tables and figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from distriage.bundle import Bundle
from distriage.classifier import Classifier
from distriage.errors import CorpusError
from distriage.policy import Mode, decide
from distriage.similar import Similar
from distriage.taxonomy import Taxonomy
from distriage.text import prepare
from distriage.types import Outcome, Prediction
from distriage_training import metrics
from distriage_training.agreement import compare
from distriage_training.baselines import TfidfBaseline, majority
from distriage_training.config import Config
from distriage_training.corpus import Record
from distriage_training.examples import label_numbers, load_split_records
from distriage_training.export import seal
from distriage_training.faithfulness import draw_faithfulness, faithfulness_table, measure_faithfulness
from distriage_training.model_card import model_card
from distriage_training.neighbours import measure_similar, similar_table
from distriage_training.plots import draw_figures
from distriage_training.readings import read_readings

Scores = dict[str, Any]


def evaluate(
    classifier: Classifier, config: Config, split: str, output: Path, console: Console, *, baselines: bool = True, faithfulness: int = 0
) -> dict[str, Any]:
    """Measure and write everything; the neighbours too, where the bundle has an index.

    Args:
        split: `validation` or `test`.
        output: Folder for metrics.json, report.md and the figures.
        faithfulness: On how many reports `--explain` is measured.

    Returns:
        The document that is written to metrics.json.

    Raises:
        CorpusError: the split has no record with a text.
    """
    taxonomy = classifier.bundle.taxonomy
    splits = load_split_records(config, taxonomy)
    records = [record for record in splits[split] if record.origin != "feedback"]
    feedback = [record for record in splits[split] if record.origin == "feedback"]
    if not records:
        raise CorpusError(f"split {split}: no record with a text")
    labels = np.array([label_numbers(record, taxonomy) for record in records])
    predictions = predict(classifier, records, console)
    tfidf = TfidfBaseline(splits["train"]) if baselines else None
    train_labels = np.array([label_numbers(record, taxonomy) for record in splits["train"]])
    agreement = _agreement(config, taxonomy)
    document: dict[str, Any] = {
        "model": classifier.bundle.manifest.name,
        "split": split,
        "records": len(records),
        "axes": {},
        "groups": {},
        "thresholds": _realised(classifier, predictions, labels, taxonomy),
        "agreement": agreement,
    }
    figures = {}
    for i, axis in enumerate(track(list(taxonomy.axes.values()), "axes", console=console, transient=True)):
        rows = np.flatnonzero(labels[:, i] >= 0)
        truth = labels[rows, i]
        probabilities = probability_matrix(predictions, axis.id, axis.label_ids)[rows]
        scores = score(truth, probabilities)
        scores["majority"] = _brief(truth, majority(train_labels[train_labels[:, i] >= 0, i], len(rows)))
        if tfidf is not None:
            scores["tfidf_lr"] = _brief(truth, tfidf.predict(train_labels[:, i], [records[row] for row in rows]))
        document["axes"][axis.id] = scores
        document["groups"][axis.id] = _by_group(records, rows, truth, probabilities)
        figures[axis.id] = (axis.label_ids, truth, probabilities)
    if config.data.group_column:
        document["group_macro_f1_mean"] = {
            axis: float(np.mean([row["macro_f1"] for key, row in groups.items() if key.startswith("group ")])) for axis, groups in document["groups"].items()
        }
        document["published"] = config.published
    if Similar.available(classifier.bundle):
        document["similar"] = measure_similar(classifier, records, predictions, splits["train"], console)
    if feedback:
        document["feedback"] = _apart(feedback, predict(classifier, feedback, console), taxonomy)
    output.mkdir(parents=True, exist_ok=True)
    if faithfulness:
        document["faithfulness"] = measure_faithfulness(classifier, records, faithfulness, config.seed, console)
        draw_faithfulness(document["faithfulness"], output)
    (output / "metrics.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    (output / "report.md").write_text(markdown(document), encoding="utf-8")
    draw_figures(figures, output)
    return document


def predict(classifier: Classifier, records: Sequence[Record], console: Console) -> list[Prediction]:
    """The bundle's prediction for each record, with a progress bar."""
    chunk = 64
    predictions: list[Prediction] = []
    for start in track(range(0, len(records), chunk), "predicting", console=console, transient=True):
        predictions += classifier.predict_inputs([prepare(record.title, record.body) for record in records[start : start + chunk]])
    return predictions


def probability_matrix(predictions: Sequence[Prediction], axis: str, labels: Sequence[str]) -> NDArray[np.float64]:
    """Probabilities of an axis, [predictions, labels]."""
    return np.array([[prediction.scores[axis].probabilities[label] for label in labels] for prediction in predictions])


def score(truth: NDArray[np.integer], probabilities: NDArray[np.floating]) -> Scores:
    """All scores of one axis, with 95 % intervals for accuracy and macro-F1."""
    predicted = probabilities.argmax(1)
    return {
        "n": len(truth),
        "accuracy": metrics.accuracy(truth, predicted),
        "accuracy_interval": metrics.bootstrap_interval(truth, predicted, metrics.accuracy),
        "macro_f1": metrics.macro_f1(truth, predicted),
        "macro_f1_interval": metrics.bootstrap_interval(truth, predicted, metrics.macro_f1),
        "weighted_f1": metrics.weighted_f1(truth, predicted),
        "ece": metrics.expected_calibration_error(truth, probabilities),
        "brier": metrics.brier(truth, probabilities),
        "coverage": {f"{target:.2f}": metrics.coverage_at_precision(truth, probabilities, target) for target in (0.8, 0.9, 0.95)},
    }


def _brief(truth: NDArray[np.integer], predicted: NDArray[np.integer]) -> Scores:
    return {"accuracy": metrics.accuracy(truth, predicted), "macro_f1": metrics.macro_f1(truth, predicted)}


def _apart(records: Sequence[Record], predictions: Sequence[Prediction], taxonomy: Taxonomy) -> dict[str, Scores]:
    """Axis -> scores against verdicts of maintainers, which were given with the answer of some model in view."""
    result = {}
    for axis in taxonomy.axes.values():
        rows = [row for row, record in enumerate(records) if axis.id in record.labels]
        if rows:
            truth = np.array([axis.label_ids.index(records[row].labels[axis.id]) for row in rows])
            result[axis.id] = {"n": len(rows), **_brief(truth, probability_matrix(predictions, axis.id, axis.label_ids)[rows].argmax(1))}
    return result


def _by_group(records: Sequence[Record], rows: NDArray[np.integer], truth: NDArray[np.integer], probabilities: NDArray[np.floating]) -> dict[str, Scores]:
    groups: dict[str, list[int]] = {}
    for position, row in enumerate(rows):
        record = records[row]
        groups.setdefault(f"origin {record.origin}", []).append(position)
        if record.group:
            groups.setdefault(f"group {record.group}", []).append(position)
        if any("\u4e00" <= char <= "\u9fff" for char in record.title + record.body[:500]):
            groups.setdefault("language Chinese", []).append(position)
    return {key: {"n": len(members), **_brief(truth[members], probabilities[members].argmax(1))} for key, members in sorted(groups.items())}


def _realised(classifier: Classifier, predictions: Sequence[Prediction], labels: NDArray[np.integer], taxonomy: Taxonomy) -> dict[str, Any]:
    """Precision and coverage of what the policy applies at the shipped thresholds, among reports labelled on the axis."""
    result: dict[str, Any] = {}
    for mode in (Mode.BALANCED, Mode.PRECISE):
        decisions = [decide(prediction, classifier.bundle.manifest.axes, taxonomy, mode) for prediction in predictions]
        for i, axis in enumerate(taxonomy.axes.values()):
            rows = np.flatnonzero(labels[:, i] >= 0)
            applied = [row for row in rows if decisions[row][axis.id].outcome is Outcome.APPLY]
            right = sum(axis.label_ids.index(decisions[row][axis.id].label) == labels[row, i] for row in applied)
            result.setdefault(mode.value, {})[axis.id] = {
                "coverage": len(applied) / len(rows) if len(rows) else 0.0,
                "precision": right / len(applied) if applied else None,
            }
    return result


def _agreement(config: Config, taxonomy: Taxonomy) -> dict[str, Any]:
    """What readers reach on the public test reports: two whole-thread readers, and an expert who saw title and body only."""
    path = config.resolve(config.data.corpus) / "readings.jsonl"
    if config.data.format != "corpus" or not path.is_file():
        return {}
    readings = read_readings(path)
    result = {}
    for name, one, other in (("whole_thread", "second", "first"), ("as_filed", "second", "as-filed")):
        if one in readings and other in readings:
            result[name] = {
                axis: {"n": found.n, "kappa": found.kappa, "accuracy": found.accuracy, "macro_f1": found.macro_f1}
                for axis, found in compare(readings[one], readings[other], taxonomy).items()
            }
    return result


def markdown(document: Mapping[str, Any]) -> str:
    """The tables, for people."""
    lines = [
        f"# {document['model']}, split {document['split']} ({document['records']} reports)",
        "",
        "| accuracy / macro-F1 | n | majority | TF-IDF + LR | this model | 95 % interval | ECE | Brier | coverage at 80 / 90 / 95 % "
        "| reader as filed | two readers |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for axis, row in document["axes"].items():
        lines.append(
            f"| {axis} | {row['n']} | {pair(row['majority'])} | {pair(row.get('tfidf_lr'))} | **{pair(row)}** | "
            f"{_span(row['accuracy_interval'])} / {_span(row['macro_f1_interval'])} | {row['ece']:.3f} | {row['brier']:.3f} | "
            f"{' / '.join(f'{value:.0%}' for value in row['coverage'].values())} | "
            f"{pair(document['agreement'].get('as_filed', {}).get(axis))} | {pair(document['agreement'].get('whole_thread', {}).get(axis))} |"
        )
    lines += ["", "Applied at the shipped thresholds: precision (coverage)", ""]
    lines += ["| mode | " + " | ".join(document["axes"]) + " |", "|---" * (len(document["axes"]) + 1) + "|"]
    for mode, axes in document["thresholds"].items():
        cells = ["none (0%)" if cell["precision"] is None else f"{cell['precision']:.2f} ({cell['coverage']:.0%})" for cell in axes.values()]
        lines.append(f"| {mode} | " + " | ".join(cells) + " |")
    if "feedback" in document:
        lines += ["", "Against verdicts of maintainers, which are in no other table: accuracy / macro-F1 (n)", ""]
        lines += ["| " + " | ".join(document["feedback"]) + " |", "|---" * len(document["feedback"]) + "|"]
        lines.append("| " + " | ".join(f"{pair(row)} ({row['n']})" for row in document["feedback"].values()) + " |")
    if "similar" in document:
        lines += ["", *similar_table(document["similar"])]
    if "faithfulness" in document:
        lines += ["", *faithfulness_table(document["faithfulness"])]
    keys = sorted({key for groups in document["groups"].values() for key in groups})
    lines += ["", "| accuracy / macro-F1 (n) | " + " | ".join(document["groups"]) + " |", "|---" * (len(document["groups"]) + 1) + "|"]
    for key in keys:
        cells = [f"{pair(groups[key])} ({groups[key]['n']})" if key in groups else "" for groups in document["groups"].values()]
        lines.append(f"| {key} | " + " | ".join(cells) + " |")
    if "group_macro_f1_mean" in document:
        lines += ["", "| system | mean over groups of macro-F1 |", "|---|---|"]
        lines += [f"| **this model, {axis}** | **{value:.4f}** |" for axis, value in document["group_macro_f1_mean"].items()]
        lines += [f"| {name} (published) | {value:.3f} |" for name, value in document["published"].items()]
    return "\n".join(lines) + "\n"


def pair(row: Mapping[str, Any] | None) -> str:
    """`accuracy / macro-F1`; empty for None."""
    return "" if row is None else f"{row['accuracy']:.3f} / {row['macro_f1']:.3f}"


def _span(interval: Sequence[float]) -> str:
    return f"{interval[0]:.2f}–{interval[1]:.2f}"


def record_in_bundle(bundle: Bundle, document: Mapping[str, Any]) -> None:
    """Write an evaluation into the bundle's metrics.json and model card, and seal it anew."""
    file = bundle.path / "metrics.json"
    summary = json.loads(file.read_text(encoding="utf-8"))
    summary["evaluation_" + str(document["split"])] = document
    file.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    test = summary.get("evaluation_test")
    (bundle.path / "README.md").write_text(model_card(bundle.manifest, summary, test), encoding="utf-8")
    seal(bundle.path, bundle.manifest)
