"""Measure a bundle on a split: scores, baselines, readers' agreement, intervals; metrics.json, tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from distriage.base.disk import writing
from distriage.base.errors import ConfigError
from distriage.base.intervals import wilson
from distriage.base.types import Mode, Prediction
from distriage.classifier import Classifier
from distriage.model.taxonomy import Taxonomy
from distriage_training.config import Config
from distriage_training.corpus.agreement import compare
from distriage_training.corpus.load import Splits, load_splits
from distriage_training.corpus.readings import read_readings
from distriage_training.corpus.records import Record, label_numbers
from distriage_training.measure import scoring
from distriage_training.measure.advice import advice_table, read_advice
from distriage_training.measure.baselines import TfidfBaseline, majority
from distriage_training.measure.evaluation import (
    Applied,
    AxisResult,
    CountedScores,
    Evaluation,
    GroupScores,
    ReaderAgreement,
)
from distriage_training.measure.plots import AxisData, draw_figures
from distriage_training.measure.predict import NONE_GIVEN, Given, given_labels, predict, probability_matrix
from distriage_training.measure.report import report

THREE = 3  # a differential diagnosis names as many causes
AMONG = (THREE, 5)
Labels = NDArray[np.integer]


def evaluate(
    classifier: Classifier,
    config: Config,
    split: str,
    output: Path,
    console: Console,
    *,
    baselines: bool = True,
) -> Evaluation:
    """Measure and write everything.

    Args:
        output: Folder for metrics.json, report.md and the figures.

    Raises:
        CorpusError: the split has no record with a text.
        ConfigError: `output` cannot be a folder.
    """
    taxonomy = classifier.bundle.taxonomy
    splits = load_splits(config, taxonomy, console)
    records = splits.measured(split)
    try:
        output.mkdir(parents=True, exist_ok=True)  # before the minutes that measuring takes
    except OSError as error:
        raise ConfigError(f"{output}: {error.strerror}; expected a folder to write to") from None
    predictions = predict(classifier, records, console)
    given = given_labels(classifier, records, predictions)
    axes, groups, figures = _by_axis(
        splits, records, predictions, given, taxonomy, baselines=baselines, console=console
    )
    feedback = splits.feedback if split == "validation" else []
    found = Evaluation(
        model=classifier.bundle.manifest.name,
        split=split,
        records=len(records),
        without_text=splits.without_text.get(split, 0),
        annotated=splits.without_text.get(split, 0) + splits.with_text.get(split, 0),
        axes=axes,
        groups=groups,
        thresholds=_thresholds(records, given, taxonomy),
        agreement=_agreement(config, records, taxonomy),
        feedback=_against_reviews(feedback, predict(classifier, feedback, console), taxonomy) if feedback else {},
        group_macro_f1_mean=_group_means(groups) if config.data.group_column else {},
        published=config.published,
        advice=_advice(config) if split == "validation" else "",
    )
    _write(found, figures, output)
    return found


def _by_axis(
    splits: Splits,
    records: Sequence[Record],
    predictions: Sequence[Prediction],
    given: Given,
    taxonomy: Taxonomy,
    *,
    baselines: bool,
    console: Console,
) -> tuple[dict[str, AxisResult], dict[str, dict[str, GroupScores]], dict[str, AxisData]]:
    labels = np.array([label_numbers(record, taxonomy) for record in records])
    train_labels = np.array([label_numbers(record, taxonomy) for record in splits.train])
    tfidf = TfidfBaseline(splits.train) if baselines else None
    results: dict[str, AxisResult] = {}
    groups: dict[str, dict[str, GroupScores]] = {}
    figures: dict[str, AxisData] = {}
    for i, axis in enumerate(track(list(taxonomy.axes.values()), "axes", console=console, transient=True)):
        rows = np.flatnonzero(labels[:, i] >= 0)
        truth = labels[rows, i]
        probabilities = probability_matrix(predictions, axis.id, axis.label_ids)[rows]
        commonest = majority(train_labels[train_labels[:, i] >= 0, i], len(rows))
        asked = [records[int(row)] for row in rows]
        by_words = None if tfidf is None else tfidf.predict(train_labels[:, i], asked)
        results[axis.id] = score(truth, probabilities, commonest, by_words)
        of_axis = {mode: by_axis[axis.id][rows] for mode, by_axis in given.items()}
        groups[axis.id] = _by_group(asked, truth, probabilities, of_axis)
        figures[axis.id] = (axis.label_ids, truth, probabilities)
    return results, groups, figures


def score(
    truth: Labels, probabilities: NDArray[np.floating], commonest: Labels, by_words: Labels | None = None
) -> AxisResult:
    """All scores of one axis, with 95 % intervals for accuracy and macro-F1.

    Args:
        truth: [n].
        probabilities: [n, labels].
        commonest, by_words: The baselines' predictions, [n].
    """
    predicted = probabilities.argmax(1)
    return AxisResult(
        n=len(truth),
        accuracy=scoring.accuracy(truth, predicted),
        accuracy_interval=scoring.bootstrap_interval(truth, predicted, scoring.accuracy_of_draws),
        macro_f1=scoring.macro_f1(truth, predicted),
        macro_f1_interval=scoring.bootstrap_interval(truth, predicted, scoring.macro_f1_of_draws),
        weighted_f1=scoring.weighted_f1(truth, predicted),
        ece=scoring.expected_calibration_error(truth, probabilities),
        brier=scoring.brier(truth, probabilities),
        coverage={
            f"{target:.2f}": scoring.coverage_at_precision(truth, probabilities, target) for target in (0.8, 0.9, 0.95)
        },
        among={
            str(count): float(scoring.among_likeliest(truth, probabilities, count).mean())
            for count in AMONG
            if count < probabilities.shape[1]
        },
        majority=scores_of(truth, commonest),
        tfidf_lr=None if by_words is None else scores_of(truth, by_words),
    )


def scores_of(truth: Labels, predicted: Labels) -> CountedScores:
    """Accuracy and macro-F1 of label numbers [n]."""
    return CountedScores(
        n=len(truth), accuracy=scoring.accuracy(truth, predicted), macro_f1=scoring.macro_f1(truth, predicted)
    )


def _by_group(
    records: Sequence[Record], truth: Labels, probabilities: NDArray[np.floating], given: Mapping[Mode, Labels]
) -> dict[str, GroupScores]:
    groups: dict[str, list[int]] = {}
    for position, record in enumerate(records):
        groups.setdefault(f"origin {record.origin}", []).append(position)
        if record.group:
            groups.setdefault(f"group {record.group}", []).append(position)
        if any("\u4e00" <= char <= "\u9fff" for char in record.title + record.body[:500]):
            groups.setdefault("language Chinese", []).append(position)
    predicted = probabilities.argmax(1)
    among_three = scoring.among_likeliest(truth, probabilities, THREE)
    return {
        name: GroupScores(
            **scores_of(truth[members], predicted[members]).model_dump(),
            # Wilson's, since drawn again seven right answers of seven are always right.
            accuracy_interval=wilson(int((truth == predicted)[members].sum()), len(members)),
            among_three=float(among_three[members].mean()),
            applied={mode.value: _applied(truth[members], labels[members]) for mode, labels in given.items()},
        )
        for name, members in sorted(groups.items())
    }


def _group_means(groups: dict[str, dict[str, GroupScores]]) -> dict[str, float]:
    return {
        axis: float(np.mean([row.macro_f1 for name, row in by_name.items() if name.startswith("group ")]))
        for axis, by_name in groups.items()
    }


def _against_reviews(
    records: Sequence[Record], predictions: Sequence[Prediction], taxonomy: Taxonomy
) -> dict[str, CountedScores]:
    result = {}
    for axis in taxonomy.axes.values():
        rows = [row for row, record in enumerate(records) if axis.id in record.labels]
        if rows:
            truth = np.array([axis.label_ids.index(records[row].labels[axis.id]) for row in rows])
            result[axis.id] = scores_of(truth, probability_matrix(predictions, axis.id, axis.label_ids)[rows].argmax(1))
    return result


def _thresholds(records: Sequence[Record], given: Given, taxonomy: Taxonomy) -> dict[str, dict[str, Applied]]:
    """Precision and coverage at the shipped thresholds, among reports labelled on the axis."""
    labels = np.array([label_numbers(record, taxonomy) for record in records])
    result: dict[str, dict[str, Applied]] = {}
    for mode, by_axis in given.items():
        for i, (axis, of_reports) in enumerate(by_axis.items()):
            rows = np.flatnonzero(labels[:, i] >= 0)
            result.setdefault(mode.value, {})[axis] = _applied(labels[rows, i], of_reports[rows])
    return result


def _applied(truth: Labels, given: Labels) -> Applied:
    applied = given != NONE_GIVEN
    return Applied(
        coverage=float(applied.mean()) if len(given) else 0.0,
        precision=float((truth == given)[applied].mean()) if applied.any() else None,
    )


def _agreement(config: Config, records: Sequence[Record], taxonomy: Taxonomy) -> dict[str, dict[str, ReaderAgreement]]:
    """Agreement of language models as readers: two of the whole thread, one of title and body only."""
    path = config.data.corpus / "readings.jsonl"
    if config.data.format != "corpus" or not path.is_file():
        return {}
    measured = {record.id for record in records}
    readings = {
        reader: {key: row for key, row in rows.items() if key in measured}
        for reader, rows in read_readings(path).items()
    }
    result = {}
    for name, one, other in (("whole_thread", "second", "first"), ("as_filed", "second", "as-filed")):
        found = compare(readings.get(one, {}), readings.get(other, {}), taxonomy)
        if found:
            result[name] = {
                axis: ReaderAgreement(n=row.n, kappa=row.kappa, accuracy=row.accuracy, macro_f1=row.macro_f1)
                for axis, row in found.items()
            }
    return result


def _advice(config: Config) -> str:
    """Readers' judgements of advice, on reports of the validation split and on others that are in no split."""
    path = config.data.corpus / "advice.jsonl"
    return advice_table(read_advice(path)) if config.data.format == "corpus" and path.is_file() else ""


def _write(found: Evaluation, figures: dict[str, AxisData], output: Path) -> None:
    with writing(output), TemporaryDirectory(dir=output, prefix=".new-") as scratch:
        folder = Path(scratch)
        (folder / "metrics.json").write_text(
            found.model_dump_json(indent=1, exclude_none=True) + "\n", encoding="utf-8"
        )
        (folder / "report.md").write_text(report(found), encoding="utf-8")
        draw_figures(figures, folder)
        for file in sorted(folder.iterdir()):  # the files before them stay until all are whole
            file.replace(output / file.name)
