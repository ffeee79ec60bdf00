"""Studies beside an evaluation: peers in the same run, learning curve, repositories and sources left out.

Each keeps what it has measured, so that it can be interrupted. Learning curve and what is left out use the sparse head alone: its fit takes minutes, the
encoder's hours. They choose nothing and read validation only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from distriage.classifier import Classifier
from distriage.errors import ConfigError, CorpusError
from distriage.taxonomy import Taxonomy
from distriage_training import metrics
from distriage_training.config import Config
from distriage_training.corpus import Record, thread_key
from distriage_training.evaluate import pair, predict, probability_matrix
from distriage_training.examples import data_sha256, draw, label_numbers, load_split_records
from distriage_training.peers import PEERS, TITLES, Peer
from distriage_training.sparse import feature_matrix, fit_sparse_head

Ints = NDArray[np.int64]
Scores = dict[str, dict[str, float]]  # axis -> accuracy, macro_f1, n
MIN_REPORTS = 20  # validation reports of a repository that is left out
OURS = "this model"
LINEAR = "linear.json"  # what the sparse head said, of both studies that fit it
EVERYTHING = "all training records"


class _Notebook:
    """Measurements under a key, on disk after each; those of other data or settings are not taken up again."""

    def __init__(self, file: Path, made_of: Mapping[str, Any]) -> None:
        self.file = file
        self.made_of = json.loads(json.dumps(made_of))
        self.entries: dict[str, Any] = {}
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return
        if isinstance(found, dict) and found.get("made_of") == self.made_of:
            self.entries = found["entries"]

    def measure(self, key: str, make: Callable[[], Any]) -> Any:
        if key not in self.entries:
            self.entries[key] = make()
            self.file.parent.mkdir(parents=True, exist_ok=True)
            part = self.file.with_suffix(".part")
            part.write_text(json.dumps({"made_of": self.made_of, "entries": self.entries}, indent=1) + "\n", encoding="utf-8")
            part.replace(self.file)
        return self.entries[key]


def compare_with_peers(
    classifier: Classifier, config: Config, split: str, names: Sequence[str], output: Path, console: Console, axes: Sequence[str] | None = None
) -> dict[str, Any]:
    """A bundle and peers that are trained here, on the same records and the same split.

    Args:
        names: Of `PEERS`.
        output: Folder for peers.json, which keeps every label given.
        axes: None: all.

    Returns:
        Axis -> system -> accuracy, macro_f1, n; for peers also `difference`, the 95 % interval of our accuracy minus theirs (paired bootstrap).

    Raises:
        ConfigError: an unknown peer.
    """
    if unknown := sorted(set(names) - PEERS.keys()):
        raise ConfigError(f"unknown peer {', '.join(unknown)}; known: {', '.join(PEERS)}")
    taxonomy = classifier.bundle.taxonomy
    splits = load_split_records(config, taxonomy)
    train = splits["train"]
    records = [record for record in splits[split] if record.origin != "feedback"]
    if not records:
        raise CorpusError(f"split {split}: no record with a text")
    train_labels = np.array([label_numbers(record, taxonomy) for record in train])
    labels = np.array([label_numbers(record, taxonomy) for record in records])
    notebook = _Notebook(output / "peers.json", {"data": data_sha256([*train, *records]), "split": split, "seed": config.seed})
    predictions = predict(classifier, records, console)
    wanted = [axis for axis in taxonomy.axes.values() if axes is None or axis.id in axes]
    peers = {name: PEERS[name](train, config) for name in names}
    result: dict[str, Any] = {axis.id: {} for axis in wanted}
    for axis in track(wanted, "axes", console=console, transient=True):
        column = list(taxonomy.axes).index(axis.id)
        rows = np.flatnonzero(labels[:, column] >= 0)
        truth = labels[rows, column]
        ours = probability_matrix(predictions, axis.id, axis.label_ids)[rows].argmax(1)
        result[axis.id][OURS] = _scores(truth, ours)
        for name, peer in peers.items():
            theirs = np.array(notebook.measure(f"{name} {axis.id}", partial(_labels_of, peer, train_labels[:, column], [records[row] for row in rows])))
            difference = (ours == truth).astype(float) - (theirs == truth).astype(float)
            result[axis.id][name] = {**_scores(truth, theirs), "difference": metrics.paired_interval(difference)}
    return result


def peers_table(result: Mapping[str, Any]) -> str:
    """For people: accuracy / macro-F1, and by how much this model's accuracy is higher."""
    names = [name for name in next(iter(result.values())) if name != OURS]
    lines = ["| accuracy / macro-F1 | n | this model | " + " | ".join(f"{TITLES[name]} | ahead of it" for name in names) + " |"]
    lines.append("|---" * (3 + 2 * len(names)) + "|")
    for axis, row in result.items():
        cells = [f"{pair(row[name])} | {row[name]['difference'][0]:+.3f} to {row[name]['difference'][1]:+.3f}" for name in names]
        lines.append(f"| {axis} | {row[OURS]['n']} | **{pair(row[OURS])}** | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def learning_curve(config: Config, shares: Sequence[float], output: Path, console: Console) -> dict[str, Scores]:
    """The sparse head, fitted on growing shares of the training records, on validation. Each share contains the smaller ones.

    Args:
        shares: Of the training records, in (0, 1].
        output: Folder for linear.json and learning-curve.png.

    Returns:
        Number of training records, as text -> scores.
    """
    taxonomy = config.load_taxonomy()
    splits = load_split_records(config, taxonomy)
    notebook = _Notebook(output / LINEAR, _made_of(config, splits))
    order = draw(splits["train"], len(splits["train"]), taxonomy, config.seed)
    curve = {}
    for share in track(sorted(shares), "learning curve", console=console, transient=True):
        part = order[: max(8, round(share * len(order)))]
        key = EVERYTHING if len(part) == len(order) else f"first {len(part)}"
        labels = np.array(notebook.measure(key, partial(_linear, part, splits["validation"], taxonomy, config)))
        curve[str(len(part))] = _by_axis(splits["validation"], labels, taxonomy)
    _draw_curve(curve).savefig(output / "learning-curve.png", dpi=110)
    return curve


def leave_out(config: Config, output: Path, console: Console, repositories: Sequence[str] = ()) -> dict[str, dict[str, Scores]]:
    """The sparse head on each repository's validation reports, fitted with and without that repository's training records.

    Args:
        output: Folder for linear.json.
        repositories: `owner/name`; none: all with `MIN_REPORTS` validation reports.

    Returns:
        Repository -> `with` and `without` -> scores.

    Raises:
        CorpusError: a repository has no validation report, or none has enough.
    """
    taxonomy = config.load_taxonomy()
    splits = load_split_records(config, taxonomy)
    records = splits["validation"]
    members: dict[str, list[int]] = {}
    for row, record in enumerate(records):
        members.setdefault(_repository(record.id), []).append(row)
    wanted = [_repository(f"{name}#0") for name in repositories]
    largest = sorted(members, key=lambda name: -len(members[name]))
    if unknown := [name for name in wanted if name not in members]:
        raise CorpusError(f"{config.path}: no validation report of {', '.join(unknown)}; most are of {', '.join(largest[:5])}")
    wanted = wanted or [name for name in largest if len(members[name]) >= MIN_REPORTS]
    if not wanted:
        raise CorpusError(f"{config.path}: no repository with {MIN_REPORTS} validation reports")
    notebook = _Notebook(output / LINEAR, _made_of(config, splits))
    known = np.array(notebook.measure(EVERYTHING, partial(_linear, splits["train"], records, taxonomy, config)))
    result = {}
    for name in track(wanted, "repositories", console=console, transient=True):
        own = [records[row] for row in members[name]]
        others = [record for record in splits["train"] if _repository(record.id) != name]
        without = np.array(notebook.measure(f"without {name}", partial(_linear, others, own, taxonomy, config)))
        result[name] = {"with": _by_axis(own, known[members[name]], taxonomy), "without": _by_axis(own, without, taxonomy)}
    return result


def leave_out_sources(config: Config, output: Path, console: Console, sources: Sequence[str] = ()) -> dict[str, Scores]:
    """What each source of training records brings to each axis: the sparse head fitted without it, on all validation reports.

    A source whose annotators kept another convention, or whose labels are lopsided, helps one axis and harms another; `training.label_weights` is the remedy.

    Args:
        output: Folder for linear.json.
        sources: None given: all.

    Returns:
        `EVERYTHING` and `without SOURCE` -> scores.

    Raises:
        ConfigError: a source without training records.
    """
    taxonomy = config.load_taxonomy()
    splits = load_split_records(config, taxonomy)
    known = sorted({record.source for record in splits["train"]})
    if unknown := sorted(set(sources) - set(known)):
        raise ConfigError(f"{config.path}: no training record of source {', '.join(unknown)}; sources: {', '.join(known)}")
    notebook = _Notebook(output / LINEAR, _made_of(config, splits))
    arms = {EVERYTHING: splits["train"]}
    for source in sources or known:
        arms[f"without {source}"] = [record for record in splits["train"] if record.source != source]
    result = {}
    for key, train in track(arms.items(), "sources", console=console, transient=True):
        labels = np.array(notebook.measure(key, partial(_linear, train, splits["validation"], taxonomy, config)))
        result[key] = _by_axis(splits["validation"], labels, taxonomy)
    return result


def linear_labels(train: Sequence[Record], records: Sequence[Record], taxonomy: Taxonomy, config: Config) -> Ints:
    """The likeliest labels by the sparse head alone, both views with the same weight: [records, axes]."""
    head = fit_sparse_head(train, taxonomy, config)
    features = feature_matrix(records)
    logits = []
    with torch.inference_mode():
        for row in range(len(records)):
            span = slice(features.indptr[row], features.indptr[row + 1])
            ids, counts = torch.from_numpy(features.indices[span].astype(np.int64)), torch.from_numpy(features.data[span].astype(np.float32))
            logits.append(head(ids[None], counts[None]).sum(1)[0].numpy())
    sizes = [len(axis.label_ids) for axis in taxonomy.axes.values()]
    return np.stack([part.argmax(1) for part in np.split(np.array(logits), np.cumsum(sizes)[:-1], axis=1)], 1)


def scores_table(rows: Mapping[str, Mapping[str, Mapping[str, float]]], first: str) -> str:
    """For people: a row a measurement, accuracy / macro-F1 (n) an axis."""
    axes = list(dict.fromkeys(axis for scores in rows.values() for axis in scores))
    lines = [f"| {first} | " + " | ".join(axes) + " |", "|---" * (len(axes) + 1) + "|"]
    for key, scores in rows.items():
        lines.append(f"| {key} | " + " | ".join(f"{pair(scores[axis])} ({scores[axis]['n']:.0f})" if axis in scores else "" for axis in axes) + " |")
    return "\n".join(lines) + "\n"


def _linear(train: Sequence[Record], records: Sequence[Record], taxonomy: Taxonomy, config: Config) -> list[list[int]]:
    return [[int(label) for label in row] for row in linear_labels(train, records, taxonomy, config)]


def _by_axis(records: Sequence[Record], labels: Ints, taxonomy: Taxonomy) -> Scores:
    truth = np.array([label_numbers(record, taxonomy) for record in records])
    rows = {axis: np.flatnonzero(truth[:, i] >= 0) for i, axis in enumerate(taxonomy.axes)}
    return {axis: _scores(truth[rows[axis], i], labels[rows[axis], i]) for i, axis in enumerate(taxonomy.axes) if len(rows[axis])}


def _labels_of(peer: Peer, train_labels: Ints, records: Sequence[Record]) -> list[int]:
    return [int(label) for label in peer.predict(train_labels, records)]


def _scores(truth: Ints, predicted: Ints) -> dict[str, float]:
    return {"accuracy": metrics.accuracy(truth, predicted), "macro_f1": metrics.macro_f1(truth, predicted), "n": len(truth)}


def _repository(identifier: str) -> str:
    return thread_key(identifier).rpartition("#")[0]


def _made_of(config: Config, splits: Mapping[str, Sequence[Record]]) -> dict[str, Any]:
    return {
        "data": data_sha256([*splits["train"], *splits["validation"]]),
        "sparse": config.sparse.model_dump(mode="json"),
        "weights": [config.training.label_weights, config.training.unsure_weights],
        "seed": config.seed,
    }


def _draw_curve(curve: Mapping[str, Scores]) -> Figure:
    figure = Figure(figsize=(9, 4), layout="constrained")
    plots = figure.subplots(1, 2, sharex=True)
    sizes = [int(size) for size in curve]
    for plot, score in zip(plots, ("accuracy", "macro_f1"), strict=True):
        for axis in dict.fromkeys(axis for scores in curve.values() for axis in scores):
            plot.plot(sizes, [scores[axis][score] for scores in curve.values()], marker="o", markersize=3, label=axis)
        plot.set(xscale="log", xlabel="training records", ylabel={"macro_f1": "macro-F1"}.get(score, score), ylim=(0, 1))
        plot.set_xticks(sizes, [f"{size:,}" for size in sizes], fontsize=8)
        plot.minorticks_off()
        plot.grid(alpha=0.3)
    plots[0].legend(fontsize=8, ncols=2, loc="lower right")
    figure.suptitle("Learning curve of the sparse head, validation")
    return figure


def repository_rows(result: Mapping[str, Mapping[str, Scores]]) -> Iterator[tuple[str, Scores]]:
    """Rows for `scores_table`."""
    for name, both in result.items():
        for which in ("with", "without"):
            yield f"{name}, {which} it in training", both[which]
