"""Continued pre-training: masked language modelling on unlabelled reports (Gururangan et al., 2020, "Don't Stop
Pretraining").

The result is a folder that `encoder.source` can name.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import torch
from datasets import Dataset
from rich.console import Console
from torch import Tensor, nn
from torch.nn import functional
from transformers import Trainer, TrainingArguments, set_seed
from transformers.trainer_utils import get_last_checkpoint

from distriage.errors import ConfigError, CorpusError
from distriage.recipe.text import prepare
from distriage_training.config import Config
from distriage_training.corpus.texts import read_texts
from distriage_training.fit.encoder import load_encoder, load_tokenizer, save_encoder

IGNORED = -100


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
    """Pads a batch and masks a share of its tokens: four in five become [MASK], one in ten another token, one in ten
    stays.
    """

    def __init__(self, share: float, mask_token: int, vocabulary: int, special_below: int = 999) -> None:
        self.share = share
        self.mask_token = mask_token
        self.vocabulary = vocabulary
        self.special_below = special_below

    def __call__(self, rows: list[dict[str, list[int]]]) -> dict[str, Tensor]:
        width = max(len(row["input_ids"]) for row in rows)
        input_ids = torch.zeros(len(rows), width, dtype=torch.long)
        attention_mask = torch.zeros(len(rows), width, dtype=torch.long)
        for i, row in enumerate(rows):
            input_ids[i, : len(row["input_ids"])] = torch.tensor(row["input_ids"])
            attention_mask[i, : len(row["input_ids"])] = 1
        chosen = (torch.rand(input_ids.shape) < self.share) & (input_ids > self.special_below)
        chosen[:, 1] |= ~chosen.any(1)  # at least one token a report, so that no batch is without a loss
        labels = input_ids.masked_fill(~chosen, IGNORED)
        draw = torch.rand(input_ids.shape)
        input_ids = torch.where(chosen & (draw < 0.8), self.mask_token, input_ids)
        other = torch.randint(self.special_below + 1, self.vocabulary, input_ids.shape)
        input_ids = torch.where(chosen & (draw >= 0.9), other, input_ids)
        return {"input_ids": input_ids, "attention_mask": attention_mask, "labels": labels}


def pretrain(config: Config, output: Path, *, resume: bool = False, console: Console | None = None) -> Path:
    """Adapt the encoder to unlabelled reports.

    Args:
        output: Folder for checkpoints and, at the end, the encoder with its tokenizer.
        resume: Go on from the last checkpoint.

    Returns:
        The encoder's folder.

    Raises:
        CorpusError: no unlabelled report.
        ConfigError: nothing to resume, or the tokenizer has no [MASK].
    """
    console = console or Console(stderr=True)
    settings = config.pretrain
    checkpoint = get_last_checkpoint(str(output)) if output.is_dir() else None
    if resume and not checkpoint:
        raise ConfigError(f"{output}: --resume, but there is no checkpoint in it")
    set_seed(config.seed)
    path = settings.reports
    reports = list(read_texts([path]).values())
    if not reports:
        raise CorpusError(f"{path}: no unlabelled report; `distriage corpus import FOLDER` brings them")
    if settings.limit is not None:
        reports = random.Random(config.seed).sample(reports, min(settings.limit, len(reports)))
    tokenizer = load_tokenizer(config.encoder)
    mask_token = tokenizer.token_to_id("[MASK]")
    if mask_token is None:
        raise ConfigError(f"encoder.source {config.encoder.source!r}: its tokenizer has no [MASK]")
    tokenizer.enable_truncation(config.encoder.max_tokens)
    input_ids = [encoding.ids for encoding in tokenizer.encode_batch([prepare(*report).text for report in reports])]
    dataset = Dataset.from_dict({"input_ids": input_ids, "length": [len(ids) for ids in input_ids]})
    encoder = load_encoder(config.encoder)
    model = MaskedLanguageModel(encoder, encoder.config.hidden_size)
    console.print(f"{len(dataset):,} unlabelled reports; {config.encoder.source}")
    on_gpu = torch.cuda.is_available()
    arguments = TrainingArguments(
        output_dir=str(output),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="linear",
        bf16=on_gpu,
        use_cpu=not on_gpu,
        seed=config.seed,
        logging_steps=25,
        save_steps=200,
        save_total_limit=1,
        train_sampling_strategy="group_by_length",  # padding costs as much as text
        report_to=["tensorboard"],
        remove_unused_columns=False,
        dataloader_pin_memory=on_gpu,
        disable_tqdm=not sys.stderr.isatty(),
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=dataset,
        data_collator=MaskingCollator(settings.mask_fraction, mask_token, tokenizer.get_vocab_size()),
    )
    trainer.train(resume_from_checkpoint=checkpoint)
    folder = output / "encoder"
    save_encoder(encoder, tokenizer, folder)
    return folder
