"""Continued pre-training: masked language modelling on unlabelled reports (Gururangan et al., 2020, "Don't Stop
Pretraining").

The result is a folder that `encoder.source` can name.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from rich.console import Console
from torch import Tensor, nn
from torch.nn import functional
from transformers import set_seed

from distriage.base.errors import ConfigError, CorpusError
from distriage.base.references import thread_key
from distriage.recipe.text import prepare
from distriage_training.config import Config
from distriage_training.corpus.records import valid_annotations
from distriage_training.corpus.texts import read_texts
from distriage_training.fit.batches import BucketSampler, pad
from distriage_training.fit.encoder import load_encoder, load_tokenizer, mask_token, save_encoder, special_tokens
from distriage_training.fit.trainer import BucketTrainer, last_checkpoint, training_arguments, use_fast_attention

IGNORED = -100


@dataclass(frozen=True, slots=True)
class Pretraining:
    """Settings; those of the encoder, its precision and the seed are a run's.

    Attributes:
        reports: JSONL with id, title and body.
        epochs: Passes over the reports.
        batch_size: Reports per step and device.
        learning_rate: Peak rate.
        mask_fraction: Share of the tokens that are masked.
        limit: Most reports used; all if None.
    """

    reports: Path
    epochs: float = 1.0
    batch_size: int = 32
    learning_rate: float = 1e-4
    mask_fraction: float = 0.2
    limit: int | None = None


class MaskedLanguageModel(nn.Module):
    """The encoder with a prediction layer that shares the token embeddings."""

    def __init__(self, encoder: nn.Module, width: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.transform = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> dict[str, Tensor]:
        """Loss over the masked tokens; `labels` [batch, tokens], `IGNORED` elsewhere."""
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        masked = labels != IGNORED
        scores = self.transform(hidden[masked]) @ self.encoder.get_input_embeddings().weight.T  # type: ignore[operator]
        return {"loss": functional.cross_entropy(scores.float(), labels[masked])}


class MaskingCollator:
    """Pads a batch (`pad`) and masks a share of its tokens: of ten, eight become [MASK], one another token, one stays.

    Args:
        special: Ids that are neither masked nor used as replacements.
    """

    def __init__(
        self, sampler: BucketSampler, share: float, mask_token: int, special: Sequence[int], vocabulary: int
    ) -> None:
        self.sampler = sampler
        self.share = share
        self.mask_token = mask_token
        self.special = torch.tensor(special, dtype=torch.long)
        ids = torch.arange(vocabulary)
        self.words = ids[~torch.isin(ids, self.special)]

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
        padded = pad(rows, self.sampler.longest)
        input_ids, attention_mask = padded["input_ids"], padded["attention_mask"]
        chance, draw = torch.ones(input_ids.shape), torch.ones(input_ids.shape)
        other = torch.zeros(input_ids.shape, dtype=torch.long)
        for i, row in enumerate(rows):
            length, generator = len(row["input_ids"]), self.sampler.generator(row["row"])
            chance[i, :length], draw[i, :length] = (torch.from_numpy(generator.random(length)) for _ in range(2))
            other[i, :length] = torch.from_numpy(generator.integers(len(self.words), size=length))
        text = attention_mask.bool() & ~torch.isin(input_ids, self.special)
        chosen = (chance < self.share) & text
        chosen[:, 1] |= ~chosen.any(1)  # at least one token a report, so that no batch is without a loss
        labels = input_ids.masked_fill(~chosen, IGNORED)
        input_ids = torch.where(chosen & (draw < 0.8), self.mask_token, input_ids)
        input_ids = torch.where(chosen & (draw >= 0.9), self.words[other], input_ids)
        return {"input_ids": input_ids, "attention_mask": attention_mask, "labels": labels}


def pretrain(
    config: Config, settings: Pretraining, output: Path, *, resume: bool = False, console: Console | None = None
) -> Path:
    """Adapt the encoder to unlabelled reports.

    Args:
        output: Folder for checkpoints and, at the end, the encoder with its tokenizer.

    Returns:
        The encoder's folder.

    Raises:
        CorpusError: no unlabelled report, or the annotations are not valid.
        ConfigError: nothing to resume, `output` holds another run, or the tokenizer has no token that masks.
    """
    console = console or Console(stderr=True)
    checkpoint = last_checkpoint(output, resume=resume)
    set_seed(config.seed)
    reports = _reports(config, settings.reports)
    if settings.limit is not None:
        reports = random.Random(config.seed).sample(reports, min(settings.limit, len(reports)))
    tokenizer = load_tokenizer(config.encoder)
    mask = mask_token(tokenizer)
    if mask is None:
        raise ConfigError(f"encoder.source {config.encoder.source!r}: its tokenizer has neither [MASK] nor <mask>")
    tokenizer.enable_truncation(config.encoder.max_tokens)
    input_ids = [encoding.ids for encoding in tokenizer.encode_batch([prepare(*report).text for report in reports])]
    dataset = Dataset.from_dict({"input_ids": input_ids, "row": list(range(len(input_ids)))})
    lengths = [len(ids) for ids in input_ids]
    sampler = BucketSampler(lengths, [""] * len(lengths), settings.batch_size, {}, config.seed)
    encoder = load_encoder(config.encoder)
    use_fast_attention(encoder)
    model = MaskedLanguageModel(encoder, encoder.config.hidden_size)
    console.print(f"{len(dataset):,} unlabelled reports; {config.encoder.source}")
    arguments = training_arguments(
        config,
        output,
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="linear",
    )
    trainer = BucketTrainer(
        sampler,
        model=model,
        args=arguments,
        train_dataset=dataset,
        data_collator=MaskingCollator(
            sampler, settings.mask_fraction, mask, special_tokens(tokenizer), tokenizer.get_vocab_size()
        ),
    )
    trainer.train(resume_from_checkpoint=checkpoint)
    folder = output / "encoder"
    save_encoder(encoder, tokenizer, folder)
    return folder


def _reports(config: Config, path: Path) -> list[tuple[str, str]]:
    """Texts of the unlabelled reports, without threads annotated since the import that measure a model."""
    annotations = config.data.corpus / "annotations.jsonl"
    measured: set[str] = set()
    if config.data.format == "corpus" and annotations.is_file():
        read = valid_annotations(annotations, config.load_taxonomy())
        measured = {thread_key(annotation.id) for annotation in read if annotation.split != "train"}
    reports = [text for i, text in read_texts([path]).items() if thread_key(i) not in measured]
    if not reports:
        raise CorpusError(f"{path}: no unlabelled report; `corpus import FOLDER` brings them")
    return reports
