"""The fine-tuning of SetFit (Tunstall et al. 2022, arXiv 2209.11055): pairs of few texts of each label move an encoder.
Extra `peers`.

Few steps from few texts keep the time on two CPU cores at some minutes. Dropout is off as in our own training: on CPUs
it halves the speed.
"""

from __future__ import annotations

import random
import sys
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from distriage.recipe.text import prepare
from distriage_training.fit.encoder import locate

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

STEPS, BATCH, SHOTS = 20, 16, 16


def one_line(title: str, body: str) -> str:
    """The recipe's text of a report without its lines."""
    return " ".join(prepare(title, body).text.split())


def shots(members: Iterable[Sequence[int]], seed: int) -> list[int]:
    """Rows to draw pairs from: at most `SHOTS` of each label.

    Args:
        members: The rows of each label.
    """
    draw = random.Random(seed)
    return sorted({row for rows in members for row in draw.sample(list(rows), min(SHOTS, len(rows)))})


def fine_tuned(
    source: str, max_tokens: int, texts: Sequence[str], labels: Sequence[int] | Sequence[list[int]], seed: int
) -> SentenceTransformer:
    """An encoder after `STEPS` steps on pairs of equal and of different labels; unchanged if all labels are equal.

    Args:
        source: The encoder, as for `locate`.
        labels: Of each text, its label; or one 0 or 1 per label.

    Raises:
        ConfigError: unknown encoder.
    """
    import torch
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments

    several = {"multi_target_strategy": "one-vs-rest"} if any(isinstance(label, list) for label in labels) else {}
    model = SetFitModel.from_pretrained(locate(source), **several)
    encoder: SentenceTransformer = model.model_body
    encoder.max_seq_length = max_tokens
    if all(label == labels[0] for label in labels):
        return encoder
    for module in encoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), redirect_stdout(sys.stderr):
        warnings.simplefilter("ignore")
        arguments = TrainingArguments(
            output_dir=folder,
            batch_size=BATCH,
            max_steps=STEPS,
            seed=seed,
            report_to="none",
            save_strategy="no",
            show_progress_bar=False,
        )
        data = Dataset.from_dict({"text": list(texts), "label": list(labels)})
        Trainer(model=model, args=arguments, train_dataset=data).train_embeddings(
            data["text"], data["label"], args=arguments
        )
    return encoder


def vectors(encoder: SentenceTransformer, texts: Sequence[str]) -> NDArray[np.float32]:
    """Of unit length, [texts, dimensions]."""
    found = encoder.encode(list(texts), batch_size=32, normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(found, np.float32)
