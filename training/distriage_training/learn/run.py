"""Past issues -> a folder with heads for their labels, and a page on their quality. Runs the model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from distriage.base.disk import replaced
from distriage.base.pages import page_environment, plain
from distriage.classifier import Classifier
from distriage.github.listed import ListedIssue
from distriage.model.shipped import sha256_of
from distriage.own.features import OwnFeatures
from distriage.own.labels import ARRAYS, MANIFEST, OWN_FORMAT, LabelHead, OwnLabels, OwnManifest, probabilities_sha256
from distriage_training.learn.compare import Comparison, compare, held_out
from distriage_training.learn.examples import Issues, Labels, Wishes, choose, newest
from distriage_training.learn.features import Progress
from distriage_training.learn.fit import KINDS, Bools, Learned, best, learn
from distriage_training.learn.measure import Figures, measure, what_would_help
from distriage_training.learn.thresholds import Promise

PAGE, FIGURES = "report.html", "report.json"


@dataclass(frozen=True, slots=True)
class Result:
    """Heads and their figures.

    Attributes:
        figures: Of each kind of features, fitted on the earlier issues and measured on the later ones; the chosen kind
            first.
    """

    issues: Issues
    labels: Labels
    final: Learned
    figures: tuple[Figures, ...]


def truth_of(issues: Sequence[ListedIssue], labels: Labels) -> Bools:
    """Which label each issue has, [issues, labels]."""
    rows = [[label in issue.labels for label in labels.names] for issue in issues]
    return np.array(rows, np.bool_).reshape(len(rows), len(labels.names))


def learn_and_measure(
    issues: Issues, wishes: Wishes, rows: list[OwnFeatures], promise: Promise, progress: Progress
) -> Result:
    """Learn from the earlier issues and measure on the later ones; then learn from all.

    No data of the later issues, not even their labels, reaches the heads learned from the earlier ones. The kind of
    features is chosen on the issues that also test thresholds; the promised confidence does not account for that.

    Raises:
        InputError: no label can be learned.
    """
    labels, first, steps = choose(issues.kept, wishes), newest(len(rows)), len(KINDS) + 1
    early = choose(issues.kept[:first], wishes)
    truth = truth_of(issues.kept, early)
    measured = []
    for number, kind in enumerate(KINDS):
        progress("learning", number, steps)
        learned = learn(kind, rows[:first], truth[:first], promise)
        probabilities = learned.probabilities(rows[first:])
        measured.append((learned, measure(early.names, learned, issues.kept, probabilities, truth)))
    chosen = best([learned for learned, _ in measured])
    progress("learning", len(KINDS), steps)
    final = learn(chosen.heads.kind, rows, truth_of(issues.kept, labels), promise)
    ordered = sorted(measured, key=lambda item: item[0] is not chosen)
    return Result(issues, labels, final, tuple(figures for _, figures in ordered))


def compare_with(
    previous: OwnLabels, result: Result, wishes: Wishes, rows: list[OwnFeatures], promise: Promise
) -> Comparison:
    """Compare the new heads with earlier ones on issues that neither has seen, by learning again without those.

    Raises:
        InputError: too few issues remain to learn any label.
    """
    issues = result.issues.kept
    first = held_out(issues, previous)
    if first == len(issues):
        return Comparison(0, ())
    early = choose(issues[:first], wishes)
    learned = learn(result.final.heads.kind, rows[:first], truth_of(issues[:first], early), promise)
    return compare(previous, learned, early.names, rows[first:], truth_of(issues[first:], early))


@dataclass(frozen=True, slots=True)
class Page:
    """Content of the page.

    Attributes:
        figures: One for each kind of features, the chosen one first.
    """

    manifest: OwnManifest
    issues: Issues
    figures: tuple[Figures, ...]
    promise: Promise


def render_page(page: Page) -> str:
    """The page."""
    environment = page_environment("distriage_training.learn")
    chosen = page.figures[0]
    first = len(page.issues.kept) - chosen.issues
    text = environment.get_template("page.html").render(
        manifest=page.manifest,
        promise=page.promise,
        figures=page.figures,
        chosen=chosen,
        issues=page.issues,
        learned=page.issues.kept[:first],
        later=page.issues.kept[first:],
        advice={
            label.name: plain(what_would_help(label, page.promise))
            for label in chosen.labels
            if label.threshold is None
        },
    )
    return text.encode("utf-8", "replace").decode("utf-8")


def write(folder: Path, repository: str, classifier: Classifier, result: Result, promise: Promise) -> None:
    """Write the folder of heads, page and figures, replacing an earlier one once all of it is written.

    Raises:
        InputError: the folder cannot be written.
    """
    bundle, final = classifier.bundle.manifest, result.final
    truth = truth_of(result.issues.kept, result.labels)
    manifest = OwnManifest(
        format=OWN_FORMAT,
        repository=repository,
        model=bundle.name,
        model_sha256=probabilities_sha256(bundle),
        created=datetime.now(UTC).strftime("%Y-%m-%d"),
        until=result.issues.kept[-1].created_at,
        issues=len(truth),
        precision=promise.precision,
        confidence=promise.confidence,
        features=final.heads.kind.name,
        labels=tuple(_heads(result.labels, final, truth)),
        left_out=result.labels.left_out,
    )
    page = render_page(Page(manifest, result.issues, result.figures, promise))
    words = len(final.heads.scales.buckets)
    scales = {name: getattr(final.heads.scales, name) for name in ("centre", "mean", "scale")}
    # The manifest is the last: a server looks at it to know that all is there.
    with replaced(*(folder / name for name in (PAGE, FIGURES, ARRAYS, MANIFEST))) as (html, json_file, arrays, head):
        np.savez_compressed(
            arrays,
            allow_pickle=False,
            buckets=final.heads.scales.buckets.astype(np.int32),
            idf=final.heads.scales.idf.astype(np.float32),
            words=final.heads.weights[:, :words].astype(np.float16),
            dense=final.heads.weights[:, words:].astype(np.float32),
            bias=final.heads.bias,
            **scales,
        )
        html.write_text(page, encoding="utf-8")
        document = figures_json(repository, result, promise)
        json_file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        manifest = manifest.model_copy(update={"arrays_sha256": sha256_of(arrays)})
        head.write_text(manifest.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _heads(labels: Labels, learned: Learned, truth: Bools) -> list[LabelHead]:
    slope, shift = learned.calibration.slope.tolist(), learned.calibration.shift.tolist()
    heads = []
    for column, (name, threshold) in enumerate(zip(labels.names, learned.thresholds, strict=True)):
        tested = {} if threshold is None else {"given": threshold.given, "right": threshold.right}
        heads.append(
            LabelHead(
                name=name,
                examples=int(truth[:, column].sum()),
                threshold=None if threshold is None else threshold.probability,
                bound=0.0 if threshold is None else threshold.bound,
                slope=slope[column],
                shift=shift[column],
                **tested,
            )
        )
    return heads


def figures_json(repository: str, result: Result, promise: Promise) -> dict[str, Any]:
    """The page's figures, without texts of issues."""
    kinds = []
    for figures in result.figures:
        labels = [
            {
                **{
                    key: value
                    for key, value in asdict(label).items()
                    if key not in {"wrong", "missed", "confused", "threshold"}
                },
                "threshold": None if label.threshold is None else label.threshold.probability,
                "precision": label.precision,
                "interval": label.interval,
                "found": label.found,
                "confused": [{"people": other or None, "issues": count} for other, count in label.confused],
                "wrong": [issue.number for issue, _ in label.wrong],
                "missed": [issue.number for issue, _ in label.missed],
            }
            for label in figures.labels
        ]
        kinds.append(
            {
                "features": figures.features,
                "average_precision_held_out": figures.quality,
                "issues": figures.issues,
                "coverage": figures.coverage,
                "given": figures.given,
                "right": figures.right,
                "precision": figures.precision,
                "interval": figures.interval,
                "micro_f1": figures.micro_f1,
                "labels": labels,
            }
        )
    return {
        "repository": repository,
        "promise": asdict(promise),
        "issues": len(result.issues.kept),
        "left_out": dict(result.labels.left_out),
        "measured": kinds,
    }
