"""Other text classifiers, trained on the same records: fastText and SetFit. Extra `peers`; they never run where a
model is served.

fastText: Joulin et al. 2017 (arXiv 1607.01759). SetFit: Tunstall et al. 2022 (arXiv 2209.11055), with the
    configuration's own encoder.
"""

from __future__ import annotations

import random
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from distriage.recipe.text import prepare
from distriage_training.config import Config
from distriage_training.corpus.records import Record
from distriage_training.fit.encoder import locate
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
    """Contrastive pairs fine-tune the encoder, then a logistic regression learns from its vectors; one of each an axis.

    The pairs are drawn from `SHOTS` records of every label, for `STEPS` steps; the regression learns from at most
    `HEAD_RECORDS` records. Those limits keep the time on two CPU cores at about two minutes an axis. Dropout is off as
    in our own training: on CPUs it halves the speed.
    """

    SHOTS = 16
    STEPS = 20
    HEAD_RECORDS = 1000

    def __init__(self, train: Sequence[Record], config: Config) -> None:
        self._config = config
        self._texts = _texts(train)

    def predict(self, train_labels: Ints, records: Sequence[Record]) -> Ints:
        import torch
        from datasets import Dataset
        from setfit import SetFitModel, Trainer, TrainingArguments

        rng = random.Random(self._config.seed)
        rows: dict[int, list[int]] = {}
        for row, label in enumerate(train_labels.tolist()):
            if label >= 0:
                rows.setdefault(label, []).append(row)
        shots = [row for members in rows.values() for row in rng.sample(members, min(self.SHOTS, len(members)))]
        labelled = [row for members in rows.values() for row in members]
        learnt = sorted({*shots, *rng.sample(labelled, min(self.HEAD_RECORDS, len(labelled)))})
        model = SetFitModel.from_pretrained(
            locate(self._config.encoder.source),
            head_params={"class_weight": "balanced", "max_iter": 500},
        )
        model.model_body.max_seq_length = self._config.encoder.max_tokens
        for module in model.model_body.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arguments = TrainingArguments(
                output_dir=folder,
                batch_size=16,
                max_steps=self.STEPS,
                seed=self._config.seed,
                report_to="none",
                save_strategy="no",
                show_progress_bar=False,
            )
            data = Dataset.from_dict(
                {"text": [self._texts[row] for row in shots], "label": [int(train_labels[row]) for row in shots]}
            )
            trainer = Trainer(model=model, args=arguments, train_dataset=data)
            trainer.train_embeddings(data["text"], data["label"], args=arguments)
            model.model_head.fit(self._vectors(model, [self._texts[row] for row in learnt]), train_labels[learnt])
        return np.asarray(model.model_head.predict(self._vectors(model, _texts(records))))

    @staticmethod
    def _vectors(model: Any, texts: Sequence[str]) -> NDArray[np.floating]:
        return np.asarray(
            model.model_body.encode(list(texts), batch_size=32, normalize_embeddings=True, show_progress_bar=False)
        )


PEERS: Mapping[str, Callable[[Sequence[Record], Config], Peer]] = {
    "tfidf": lambda train, _: TfidfBaseline(train),  # the baseline of every evaluation
    "fasttext": FastText,
    "setfit": SetFit,
}
TITLES = {"tfidf": "TF-IDF + LR", "fasttext": "fastText", "setfit": "SetFit, same encoder"}


def _texts(records: Sequence[Record]) -> list[str]:
    return [" ".join(prepare(record.title, record.body).text.split()) for record in records]
