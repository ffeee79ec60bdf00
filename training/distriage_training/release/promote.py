"""Replace the default model by a candidate that is not worse on any axis. The test split decides nothing here.

Both models read the same reports, in the same order: the validation split's of `domain.groups`, and reviews of
maintainers. A report counts only if neither model's weights were fitted on it, which is known from the bundles'
`trained-on.txt`.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

from distriage.base.errors import BundleError, CorpusError
from distriage.base.references import thread_key
from distriage.classifier import Classifier
from distriage.model.bundle import TRAINED_ON, Bundle, thread_digests
from distriage.model.shipped import DEFAULT_FILE, MANIFEST, default_in, sha256_of
from distriage.model.taxonomy import Axis, Taxonomy
from distriage.recipe.text import prepare
from distriage_training.config import Config
from distriage_training.corpus.load import load_splits, validation_in_domain
from distriage_training.corpus.records import FEEDBACK, PARTIAL, Record, valid_annotations
from distriage_training.corpus.reviews import labels_of, read_reviews
from distriage_training.measure import scoring
from distriage_training.release.model_card import read_figures

MIN_REPORTS = 20  # fewer on an axis: shown, but they decide nothing
_CHUNK = 64

Predicted = dict[str, NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class AxisComparison:
    """Both models on one axis of one set of reports.

    Attributes:
        reports: `validation` or `reviews`.
        current, candidate: (accuracy, macro-F1).
        interval: 95 % interval of macro-F1 of the candidate minus that of the current model (paired bootstrap).
    """

    axis: str
    reports: str
    n: int
    current: tuple[float, float]
    candidate: tuple[float, float]
    interval: tuple[float, float]

    @property
    def outcome(self) -> str:
        """`better`, `worse` or neither, by `scoring.direction_of`."""
        return scoring.direction_of(self.interval, self.n >= MIN_REPORTS)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The reports of a comparison, and how many were left out because a model knew them."""

    validation: list[Record]
    reviews: list[Record]
    validation_seen: int
    reviews_seen: int


def compare(
    current: Classifier, candidate: Classifier, config: Config, reviews: Path | None, console: Console
) -> tuple[list[AxisComparison], Evidence]:
    """Score both models on the same reports.

    Args:
        reviews: More reviews from `distriage reviews export`, beside those of the corpus's validation split.

    Raises:
        BundleError: the models answer different questions, or one does not list its training records.
        ConfigError, CorpusError: the data is missing or not valid.
    """
    taxonomy = current.bundle.taxonomy
    if other := _difference(taxonomy, candidate.bundle.taxonomy):
        raise BundleError(
            f"{candidate.bundle.path}: {other}; expected the axes and labels of the current model, "
            f"{current.bundle.path} (--current names another)"
        )
    for bundle in (current.bundle, candidate.bundle):
        if bundle.trained_on is None:
            raise BundleError(f"{bundle.path}: no {TRAINED_ON}; expected a bundle that says what it was trained on")
    evidence = _evidence((current.bundle, candidate.bundle), config, reviews, console)
    comparisons = []
    for name, records in (("validation", evidence.validation), ("reviews", evidence.reviews)):
        old, new = (
            _predict(model, records, f"{name}, {model.bundle.manifest.name}", console) for model in (current, candidate)
        )
        for axis in taxonomy.axes.values():
            rows = [row for row, record in enumerate(records) if axis.id in record.labels]
            if rows:
                truth = np.array([axis.label_ids.index(records[row].labels[axis.id]) for row in rows])
                comparisons.append(_compare_axis(axis, name, truth, old[axis.id][rows], new[axis.id][rows]))
    return comparisons, evidence


def replaced_in(models: Path, candidate: Bundle) -> str | None:
    """The default model of a folder, which a candidate would replace; None if there is none.

    Raises:
        BundleError: it does not load, or answers other questions: who uses it by default would get other labels.
    """
    if (name := default_in(models)) is None:
        return None
    try:
        default = Bundle(models / name, whole=False)
    except BundleError as error:
        raise BundleError(f"{models / DEFAULT_FILE} names {name}: {error}") from None
    if other := _difference(default.taxonomy, candidate.taxonomy):
        raise BundleError(
            f"{candidate.path}: {other}; expected the axes and labels of {default.path}, the default model of {models} "
            "(--models names another folder)"
        )
    return str(default.path)


def _difference(one: Taxonomy, other: Taxonomy) -> str | None:
    """The first difference in what two taxonomies ask and what they may answer; their words may differ."""
    for axis_id in {**one.axes, **other.axes}:
        axis, theirs = one.axes.get(axis_id), other.axes.get(axis_id)
        if axis is None or theirs is None:
            return f"axis {axis_id}: only one of the models has it"
        if axis.label_ids != theirs.label_ids:
            changed = sorted({*axis.label_ids} ^ {*theirs.label_ids})
            return f"axis {axis_id}: only one has {', '.join(changed)}" if changed else f"axis {axis_id}: another order"
        if axis.requires != theirs.requires:
            return f"axis {axis_id}: another `requires`"
    return None


def _evidence(bundles: Sequence[Bundle], config: Config, reviews: Path | None, console: Console) -> Evidence:
    taxonomy = bundles[0].taxonomy
    splits = load_splits(config, taxonomy, console)
    people: dict[str, Record] = {thread_key(record.id): record for record in splits.feedback}
    annotated: set[str] = set()
    if reviews is not None:
        if config.data.format != "corpus":
            raise CorpusError(f"{config.path}: --reviews goes with data.format corpus, found {config.data.format}")
        annotations = valid_annotations(config.data.corpus / "annotations.jsonl", taxonomy)
        annotated = {thread_key(annotation.id) for annotation in annotations if annotation.origin not in PARTIAL}
        for thread in read_reviews(reviews, taxonomy):
            last = max(thread, key=lambda review: review.at)
            labels = labels_of(thread, taxonomy)
            if labels:
                people[thread_key(last.id)] = Record(
                    last.id, last.title, last.body, labels, "validation", FEEDBACK, FEEDBACK, ""
                )
    fresh = {key: record for key, record in people.items() if key not in annotated and not _seen(record, bundles)}
    # The gate silences reports of other groups, so no threshold is fitted to them.
    validation = validation_in_domain(splits, config, taxonomy)
    unseen = [record for record in validation if not _seen(record, bundles)]
    if not unseen:
        raise CorpusError(f"{config.path}: every report of split validation was trained on by one of the models")
    return Evidence(unseen, list(fresh.values()), len(validation) - len(unseen), len(people) - len(fresh))


def _seen(record: Record, bundles: Sequence[Bundle]) -> bool:
    digests = thread_digests(record.id)
    return any(not digests.isdisjoint(bundle.trained_on or ()) for bundle in bundles)


def _predict(model: Classifier, records: Sequence[Record], what: str, console: Console) -> Predicted:
    inputs = [prepare(record.title, record.body) for record in records]
    parts: dict[str, list[NDArray[np.int64]]] = {axis: [np.zeros(0, np.int64)] for axis in model.bundle.taxonomy.axes}
    for start in track(
        range(0, len(inputs), _CHUNK), what, console=console, transient=True, disable=not console.is_terminal
    ):
        for axis, logits in model.logits(inputs[start : start + _CHUNK]).items():
            parts[axis].append(logits.argmax(1))
    return {axis: np.concatenate(pieces) for axis, pieces in parts.items()}


def _compare_axis(
    axis: Axis, reports: str, truth: NDArray[np.int64], one: NDArray[np.int64], other: NDArray[np.int64]
) -> AxisComparison:
    def scores(predicted: NDArray[np.int64]) -> tuple[float, float]:
        return scoring.accuracy(truth, predicted), scoring.macro_f1(truth, predicted)

    return AxisComparison(
        axis.id, reports, len(truth), scores(one), scores(other), scoring.paired_bootstrap_macro_f1(truth, one, other)
    )


def worse_axes(comparisons: Sequence[AxisComparison]) -> list[str]:
    """Axes on which the candidate is worse; it may be promoted if the list is empty.

    Raises:
        CorpusError: no axis has the `MIN_REPORTS` needed to decide.
    """
    most = max((comparison.n for comparison in comparisons), default=0)
    if most < MIN_REPORTS:
        raise CorpusError(
            f"validation and reviews: at most {most} reports on an axis are new to both models; "
            f"expected {MIN_REPORTS} or more on one, to decide by"
        )
    return sorted({comparison.axis for comparison in comparisons if comparison.outcome == "worse"})


def print_comparison(
    console: Console, comparisons: Sequence[AxisComparison], evidence: Evidence, current: Bundle, candidate: Bundle
) -> None:
    """Print the deciding figures, then the test figures recorded in the bundles."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in (
        "reports",
        "axis",
        "n",
        current.manifest.name,
        candidate.manifest.name,
        "macro-F1",
        "95 % interval",
        "",
    ):
        table.add_column(column, justify="left" if column in {"reports", "axis", ""} else "right", no_wrap=True)
    for row in comparisons:
        low, high = row.interval
        difference = row.candidate[1] - row.current[1]
        table.add_row(
            row.reports,
            row.axis,
            str(row.n),
            _pair(row.current),
            _pair(row.candidate),
            f"{difference:+.3f}",
            f"{low:+.3f} to {high:+.3f}",
            row.outcome,
        )
    console.print("accuracy / macro-F1")
    console.print(table)
    if not evidence.reviews:
        console.print("no review of a maintainer that is new to both models: the validation split decides alone")
    for name, seen in (("validation reports", evidence.validation_seen), ("reviews", evidence.reviews_seen)):
        if seen:
            console.print(f"{seen} {name} left out: a model was trained on them, or the corpus holds a reading of them")
    for bundle in (current, candidate):
        test = _test_figures(bundle)
        if test:
            console.print(f"test, decides nothing: {bundle.manifest.name}: {test}")


def _pair(scores: tuple[float, float]) -> str:
    return f"{scores[0]:.3f} / {scores[1]:.3f}"


def _test_figures(bundle: Bundle) -> str:
    test = read_figures(bundle).evaluation_test
    return ", ".join(f"{axis} {row}" for axis, row in test.axes.items()) if test is not None else ""


def install(candidate: Bundle, models: Path) -> Path:
    """Copy a bundle into the folder of models and make it the default; each step is atomic.

    Raises:
        BundleError: the name is taken by another model.
    """
    name = candidate.manifest.name
    target = models / name
    if target.exists():
        if not (target / MANIFEST).is_file() or sha256_of(target / MANIFEST) != sha256_of(candidate.path / MANIFEST):
            raise BundleError(
                f"{target}: another model of this name is there; expected a new `name` in the candidate's configuration"
            )
    else:
        part = models / f".{name}.new"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        for file in (MANIFEST, *candidate.manifest.files):
            shutil.copyfile(candidate.path / file, part / file)
        Bundle(part)  # a bundle that does not load must not become the default
        part.rename(target)
    default = models / DEFAULT_FILE
    part = default.with_name(f".{DEFAULT_FILE}.new")
    part.write_text(f"{name}\n", encoding="utf-8")
    part.replace(default)
    return target
