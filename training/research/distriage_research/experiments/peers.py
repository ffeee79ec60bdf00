"""Other text classifiers, trained on the same records: fastText and SetFit. Extra `peers`; never used in serving.

fastText: Joulin et al. 2017 (arXiv 1607.01759). SetFit: `contrastive.py`, with the configuration's own encoder.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from distriage_research.experiments import contrastive
from distriage_training.config import Config
from distriage_training.corpus.records import Record
from distriage_training.measure.baselines import TfidfBaseline

Ints = NDArray[np.integer]


class Peer(Protocol):
    """A classifier of one axis at a time."""

    def predict(self, train_labels: Ints, records: Sequence[Record]) -> Ints:
        """Train on the records of the constructor and label others.

        Args:
            train_labels: Of the training records, in order; negative: not labelled on this axis.
        """


class FastText:
    """fastText on words and word pairs of the recipe's text; other settings as in its authors' tutorial for small
    sets.
    """

    def __init__(self, train: Sequence[Record], config: Config) -> None:
        self._seed = config.seed
        self._texts = _texts(train)

    def predict(self, train_labels: Ints, records: Sequence[Record]) -> Ints:
        import fasttext

        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "train.txt"
            lines = [
                f"__label__{label} {text}" for label, text in zip(train_labels, self._texts, strict=True) if label >= 0
            ]
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
            model = fasttext.train_supervised(
                str(file), epoch=25, lr=0.5, wordNgrams=2, dim=100, bucket=200_000, seed=self._seed, thread=1, verbose=0
            )
        labels, _ = model.predict(_texts(records))
        return np.array(
            [
                int(found[0].removeprefix("__label__"))
                if found
                else np.bincount(train_labels[train_labels >= 0]).argmax()
                for found in labels
            ]
        )


class SetFit:
    """A few pairs fine-tune the encoder, then a logistic regression learns from its vectors; one of each an axis.

    The regression learns from at most `HEAD_RECORDS` records, which keeps the time on two CPU cores at about two
    minutes an axis.
    """

    HEAD_RECORDS = 1000

    def __init__(self, train: Sequence[Record], config: Config) -> None:
        self._config = config
        self._texts = _texts(train)

    def predict(self, train_labels: Ints, records: Sequence[Record]) -> Ints:
        encoder, seed = self._config.encoder, self._config.seed
        members = [
            np.flatnonzero(train_labels == label).tolist() for label in np.unique(train_labels[train_labels >= 0])
        ]
        shots = contrastive.shots(members, seed)
        labelled = [row for rows in members for row in rows]
        learned = sorted({*shots, *random.Random(seed).sample(labelled, min(self.HEAD_RECORDS, len(labelled)))})
        tuned = contrastive.fine_tuned(
            encoder.source,
            encoder.max_tokens,
            [self._texts[row] for row in shots],
            [int(train_labels[row]) for row in shots],
            seed,
        )
        head = LogisticRegression(class_weight="balanced", max_iter=500)
        head.fit(contrastive.vectors(tuned, [self._texts[row] for row in learned]), train_labels[learned])
        return np.asarray(head.predict(contrastive.vectors(tuned, _texts(records))))


PEERS: Mapping[str, Callable[[Sequence[Record], Config], Peer]] = {
    "tfidf": lambda train, _: TfidfBaseline(train),  # the baseline of every evaluation
    "fasttext": FastText,
    "setfit": SetFit,
}
TITLES = {"tfidf": "TF-IDF + LR", "fasttext": "fastText", "setfit": "SetFit, same encoder"}


def _texts(records: Sequence[Record]) -> list[str]:
    return [contrastive.one_line(record.title, record.body) for record in records]
