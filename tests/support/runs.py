"""Runs of training of four steps, and encoders with random weights to start from."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
import transformers

from distriage.model.taxonomy import default_taxonomy
from distriage_training.config import Config, load_config
from distriage_training.fit.encoder import PACKAGE, locate

from support.toys import write_config

TAXONOMY = default_taxonomy()
VOCABULARY = 30522  # of the tokenizer that is at hand
SMALL = {"vocab_size": VOCABULARY, "hidden_size": 128, "intermediate_size": 192, "num_attention_heads": 2}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "Bert": {"num_hidden_layers": 2, "hidden_size": 32, "intermediate_size": 48, "max_position_embeddings": 80},
    # The first layer looks at the whole report, the second at a window, as in ModernBERT-base.
    "ModernBert": {"num_hidden_layers": 2, "global_attn_every_n_layers": 2, "local_attention": 8, "pad_token_id": 0},
    "XLMRoberta": {"num_hidden_layers": 1, "max_position_embeddings": 80, "pad_token_id": 0},
    "MPNet": {"num_hidden_layers": 1, "max_position_embeddings": 80, "pad_token_id": 0},
}


def four_steps(folder: Path, **tables: Any) -> Config:
    """A run of four steps with a checkpoint after each second one, of an encoder that takes no time to write."""
    encoder = tables.pop("encoder", {})
    if "source" not in encoder:
        encoder = {"source": str(random_encoder(folder / "base", "Bert")), **encoder}
    training = {"save_steps": 2, **tables.pop("training", {})}
    tables = {"data": {"limit": 32}, "sparse": {"max_iterations": 1}, **tables}
    return load_config(write_config(folder / "run.toml", encoder=encoder, training=training, **tables))


def random_encoder(folder: Path, architecture: str) -> Path:
    """An encoder of this architecture with random weights, and the tokenizer of the default one."""
    torch.manual_seed(7)
    settings = getattr(transformers, f"{architecture}Config")(**{**SMALL, **ARCHITECTURES[architecture]})
    transformers.AutoModel.from_config(settings).save_pretrained(folder)
    shutil.copy(Path(locate(PACKAGE)) / "tokenizer.json", folder)
    return folder
