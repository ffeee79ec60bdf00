"""The tiny run, exported again in parts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from distriage.recipe.text import ModelInput, prepare
from distriage.taxonomy import default_taxonomy
from distriage_training.config import Config, load_config
from distriage_training.corpus.load import load_splits
from distriage_training.corpus.records import label_numbers
from distriage_training.fit.encoder import load_tokenizer
from distriage_training.fit.model import TriageModel
from distriage_training.fit.run import load_trained
from distriage_training.release.gates import ValidationSet
from distriage_training.release.graph import write_onnx

from support.toys import REPOSITORY

TAXONOMY = default_taxonomy()
AXES = list(TAXONOMY.axes)
CONFIG = REPOSITORY / "configs" / "tiny.toml"


@dataclass(frozen=True)
class Exported:
    """The parts of an export of the tiny run, made anew."""

    config: Config
    model: TriageModel
    tokenizer: Tokenizer
    fp32: Path
    validation: ValidationSet
    reference: dict[str, object]
    inputs: list[ModelInput]


@pytest.fixture(scope="module")
def exported(tiny_run: Path, tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """See `Exported`; the sparse head is mixed in as in the bundle."""
    config = load_config(CONFIG)
    model = load_trained(tiny_run, config, TAXONOMY)
    weights = json.loads((tiny_bundle / "metrics.json").read_text(encoding="utf-8"))["sparse_weight"]
    for i, axis in enumerate(AXES):
        model.mix[i] = torch.tensor(weights[axis])
    tokenizer = load_tokenizer(config.encoder)
    tokenizer.enable_truncation(config.encoder.max_tokens)
    fp32 = tmp_path_factory.mktemp("onnx") / "fp32.onnx"
    write_onnx(model, fp32)
    records = load_splits(config, TAXONOMY).validation
    validation = ValidationSet(
        [prepare(r.title, r.body) for r in records],
        np.array([label_numbers(r, TAXONOMY) for r in records]),
        np.array([r.origin for r in records]),
    )
    reference = json.loads((tiny_bundle / "reference.json").read_text(encoding="utf-8"))
    return Exported(
        config,
        model,
        tokenizer,
        fp32,
        validation,
        reference,
        [prepare(r["title"], r["body"]) for r in reference["reports"]],
    )
