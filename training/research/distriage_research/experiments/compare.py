"""A bundle beside other classifiers that are trained on the same records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from distriage.base.errors import ConfigError
from distriage.classifier import Classifier
from distriage_research.experiments.notebook import Notebook
from distriage_research.experiments.peers import PEERS, TITLES, Peer
from distriage_research.intervals import paired_interval
from distriage_training.config import Config
from distriage_training.corpus.load import data_sha256, load_splits
from distriage_training.corpus.records import Record, label_numbers
from distriage_training.measure.evaluate import scores_of
from distriage_training.measure.evaluation import CountedScores, Interval
from distriage_training.measure.predict import predict, probability_matrix
from distriage_training.measure.tables import markdown


class PeerScores(CountedScores):
    """A peer's scores; `difference`: 95 % interval of our accuracy minus its own (paired bootstrap)."""

    difference: Interval


class AxisComparison(CountedScores):
    """This model's scores on an axis, and those of its peers."""

    peers: Mapping[str, PeerScores]


def compare_with_peers(
    classifier: Classifier,
    config: Config,
    split: str,
    names: Sequence[str],
    output: Path,
    console: Console,
    axes: Sequence[str] | None = None,
) -> dict[str, AxisComparison]:
    """Train peers on the training records and measure them beside a bundle on the same split.

    Args:
        names: Of `PEERS`.
        output: Folder for peers.json, which keeps every given label.

    Raises:
        ConfigError: an unknown peer or axis.
        CorpusError: the split has no record with a text.
    """
    if unknown := sorted(set(names) - PEERS.keys()):
        raise ConfigError(f"unknown peer {', '.join(unknown)}; known: {', '.join(PEERS)}")
    taxonomy = classifier.bundle.taxonomy
    if unknown := sorted(set(axes or ()) - taxonomy.axes.keys()):
        raise ConfigError(f"unknown axis {', '.join(map(repr, unknown))}; known: {', '.join(taxonomy.axes)}")
    splits = load_splits(config, taxonomy, console)
    records = splits.measured(split)
    train_labels = np.array([label_numbers(record, taxonomy) for record in splits.train])
    labels = np.array([label_numbers(record, taxonomy) for record in records])
    made_of = {
        "data": data_sha256([*splits.train, *records]),
        "split": split,
        "seed": config.seed,
        "encoder": config.record()["encoder"],  # SetFit's
    }
    notebook = Notebook(output / "peers.json", made_of)
    predictions = predict(classifier, records, console)
    peers = {name: PEERS[name](splits.train, config) for name in names}
    wanted = [(i, axis) for i, axis in enumerate(taxonomy.axes.values()) if axes is None or axis.id in axes]
    result = {}
    for i, axis in track(wanted, "axes", console=console, transient=True):
        rows = np.flatnonzero(labels[:, i] >= 0)
        truth = labels[rows, i]
        ours = probability_matrix(predictions, axis.id, axis.label_ids)[rows].argmax(1)
        asked = [records[row] for row in rows]
        found = {}
        for name, peer in peers.items():
            theirs = _measured(notebook, f"{name} {axis.id}", peer, train_labels[:, i], asked)
            difference = paired_interval((ours == truth).astype(float) - (theirs == truth).astype(float))
            found[name] = PeerScores(**scores_of(truth, theirs).model_dump(), difference=difference)
        result[axis.id] = AxisComparison(**scores_of(truth, ours).model_dump(), peers=found)
    return result


def _measured(
    notebook: Notebook, key: str, peer: Peer, train_labels: NDArray[np.int64], records: Sequence[Record]
) -> NDArray[np.int64]:
    return np.array(notebook.measure(key, lambda: labels_of(peer, train_labels, records)))


def labels_of(peer: Peer, train_labels: NDArray[np.int64], records: Sequence[Record]) -> list[int]:
    """Train a peer on an axis and let it label records."""
    return [int(label) for label in peer.predict(train_labels, records)]


def peers_table(result: Mapping[str, AxisComparison]) -> str:
    """Accuracy / macro-F1, and by how much this model's accuracy is higher."""
    names = list(next(iter(result.values())).peers)
    headings = ["accuracy / macro-F1", "n", "this model"]
    for name in names:
        headings += [TITLES[name], "ahead of it"]
    rows = []
    for axis, row in result.items():
        cells: list[object] = [axis, row.n, f"**{row}**"]
        for name in names:
            low, high = row.peers[name].difference
            cells += [row.peers[name], f"{low:+.3f} to {high:+.3f}"]
        rows.append(cells)
    return markdown(headings, rows)
