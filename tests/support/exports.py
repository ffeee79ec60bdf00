"""The parts of the tiny run's export."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from distriage.model.taxonomy import default_taxonomy
from distriage.recipe.text import ModelInput, prepare
from distriage_training.config import Config, load_config
from distriage_training.corpus.load import load_splits
from distriage_training.corpus.records import Record
from distriage_training.fit.encoder import load_tokenizer
from distriage_training.fit.model import TriageModel
from distriage_training.fit.run import load_trained
from distriage_training.release.export import fit_calibration
from distriage_training.release.gates import ValidationSet
from distriage_training.release.graph import torch_logits

from support.toys import REPOSITORY

TAXONOMY = default_taxonomy()
AXES = list(TAXONOMY.axes)
CONFIG = REPOSITORY / "configs" / "tiny.toml"


@dataclass(frozen=True)
class Exported:
    """The parts of the export of the tiny run; `fp32`: the graph that it made on its way."""

    config: Config
    model: TriageModel
    tokenizer: Tokenizer
    fp32: Path
    train: list[Record]
    validation: ValidationSet
    reference: dict[str, object]
    inputs: list[ModelInput]


@pytest.fixture(scope="module")
def exported(tiny_run: Path, tiny_bundle: Path) -> Exported:
    """See `Exported`; the sparse head is mixed in as in the bundle."""
    config = load_config(CONFIG)
    model = load_trained(tiny_run, config, TAXONOMY)
    tokenizer = load_tokenizer(config.encoder)
    tokenizer.enable_truncation(config.encoder.max_tokens)
    splits = load_splits(config, TAXONOMY)
    validation = ValidationSet.of(splits.validation, TAXONOMY)
    fit_calibration(model, *torch_logits(model, tokenizer, validation.inputs), validation, model.axes)
    reference = json.loads((tiny_bundle / "reference.json").read_text(encoding="utf-8"))
    return Exported(
        config,
        model,
        tokenizer,
        tiny_bundle.parent / "fp32.onnx",
        splits.train,
        validation,
        reference,
        [prepare(r["title"], r["body"]) for r in reference["reports"]],
    )
