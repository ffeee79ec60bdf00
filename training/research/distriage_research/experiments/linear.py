"""The sparse head alone, for experiments: its fit takes minutes, the encoder's hours. Reads validation, chooses
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from distriage.model.taxonomy import Taxonomy
from distriage_research.experiments.notebook import Notebook
from distriage_training.config import Config
from distriage_training.corpus.load import Splits
from distriage_training.corpus.records import Record, label_numbers
from distriage_training.fit.sparse import feature_matrix, fit_sparse_head
from distriage_training.measure.evaluate import scores_of
from distriage_training.measure.evaluation import CountedScores
from distriage_training.measure.tables import markdown

Ints = NDArray[np.int64]
AxisScores = Mapping[str, CountedScores]
EVERYTHING = "all training records"


class Linear:
    """The sparse head's answers, fitted on chosen training records; kept in `linear.json`."""

    def __init__(self, config: Config, taxonomy: Taxonomy, splits: Splits, output: Path) -> None:
        """Open the notebook of a run's data in the folder `output`."""
        self.config = config
        self.taxonomy = taxonomy
        self._notebook = Notebook(
            output / "linear.json",
            {
                "data": splits.trained_sha256(),
                "sparse": config.sparse.model_dump(mode="json"),
                "weights": [config.training.label_weights, config.training.unsure_weights],
                "seed": config.seed,
            },
        )

    def labels(self, key: str, train: Sequence[Record], records: Sequence[Record]) -> Ints:
        """Label numbers [records, axes] of a head fitted on `train`; kept under `key`."""
        return np.array(
            self._notebook.measure(
                key,
                lambda: [
                    [int(label) for label in row] for row in linear_labels(train, records, self.taxonomy, self.config)
                ],
            )
        )

    def scores(self, records: Sequence[Record], labels: Ints) -> dict[str, CountedScores]:
        """Axis -> scores of label numbers [records, axes]; axes without a label are left out."""
        truth = np.array([label_numbers(record, self.taxonomy) for record in records])
        rows = {axis: np.flatnonzero(truth[:, i] >= 0) for i, axis in enumerate(self.taxonomy.axes)}
        return {
            axis: scores_of(truth[rows[axis], i], labels[rows[axis], i])
            for i, axis in enumerate(self.taxonomy.axes)
            if len(rows[axis])
        }


def linear_labels(train: Sequence[Record], records: Sequence[Record], taxonomy: Taxonomy, config: Config) -> Ints:
    """The likeliest labels by the sparse head alone, both views with the same weight: [records, axes]."""
    head = fit_sparse_head(train, taxonomy, config)
    features = feature_matrix(records)
    logits = []
    with torch.inference_mode():
        for row in range(len(records)):
            span = slice(features.indptr[row], features.indptr[row + 1])
            ids = torch.from_numpy(features.indices[span].astype(np.int64))
            counts = torch.from_numpy(features.data[span].astype(np.float32))
            logits.append(head(ids[None], counts[None]).sum(1)[0].numpy())
    sizes = [len(axis.label_ids) for axis in taxonomy.axes.values()]
    return np.stack([part.argmax(1) for part in np.split(np.array(logits), np.cumsum(sizes)[:-1], axis=1)], 1)


def scores_table(rows: Mapping[str, AxisScores], first: str) -> str:
    """A row a measurement, accuracy / macro-F1 (n) an axis."""
    axes = list(dict.fromkeys(axis for scores in rows.values() for axis in scores))
    return markdown(
        [first, *axes],
        [
            [key, *(f"{scores[axis]} ({scores[axis].n})" if axis in scores else "" for axis in axes)]
            for key, scores in rows.items()
        ],
    )
