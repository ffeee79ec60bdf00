"""The folder of a run: its weights, and `run.json` with their labels and training data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file

from distriage.base.errors import ConfigError
from distriage.base.validation import first_fault
from distriage.model.taxonomy import Taxonomy
from distriage.recipe.features import HASH_BUCKETS, VIEWS
from distriage_training.config import Config
from distriage_training.fit.encoder import load_encoder
from distriage_training.fit.model import TriageModel

WEIGHTS = "model.safetensors"
RUN_INFO = "run.json"
DECIDING = ("seed", "encoder.", "training.")  # settings that change the encoder's result on the same data


class RunInfo(BaseModel):
    """Record of a finished run.

    Attributes:
        labels: Axis -> label ids, in the order of the model's outputs.
        records: Split -> number of reports.
        data_sha256, sparse_data_sha256: Hash of the data of the encoder and of the sparse head.
        trained_on: `thread_digest` of every training record, including those of earlier runs.
        validation_accuracy: Axis -> accuracy of encoder and heads on validation reports in the domain, without the
            sparse head.
        training_seconds: Including earlier runs.
        base_model, base_model_sha256, base_model_license: The starting point of the first run.
    """

    model_config = ConfigDict(frozen=True)

    labels: Mapping[str, tuple[str, ...]]
    config: Mapping[str, Any]
    records: Mapping[str, int]
    data_sha256: str
    sparse_records: int
    sparse_data_sha256: str
    trained_on: tuple[str, ...]
    validation_accuracy: Mapping[str, float]
    hardware: str
    training_seconds: float
    base_model: str
    base_model_sha256: str
    base_model_license: str


def load_run_info(run: Path) -> RunInfo:
    """Read a finished run's record.

    Raises:
        ConfigError: it is missing, damaged or not finished.
    """
    file = run / RUN_INFO
    document = _read(file)
    if missing := [key for key in RunInfo.model_fields if key not in document]:
        raise ConfigError(f"{file}: lacks {', '.join(missing)}; expected a finished run")
    try:
        return RunInfo.model_validate(document)
    except ValidationError as error:
        raise ConfigError(f"{file}: {first_fault(error, RunInfo)}") from None


def note_beginning(run: Path, config: Config, taxonomy: Taxonomy, data_sha256: str) -> None:
    """Begin the record of a run: its labels, settings and data."""
    run.mkdir(parents=True, exist_ok=True)
    begun = {"labels": _labels(taxonomy), "config": config.record(), "data_sha256": data_sha256}
    (run / RUN_INFO).write_text(json.dumps(begun) + "\n", encoding="utf-8")


def check_beginning(run: Path, config: Config, data_sha256: str) -> None:
    """Refuse settings of the encoder or its training, or data, that a run was not begun with.

    The weights would be of a mixture, or of the former ones, and the record would name the new ones.

    Raises:
        ConfigError: names the first difference.
    """
    begun, ours = _read(run / RUN_INFO), _flat(config.record())
    theirs = _flat(begun.get("config", {}))
    for key in sorted(ours.keys() | theirs.keys()):
        if key.startswith(DECIDING) and theirs.get(key) != ours.get(key):
            raise ConfigError(
                f"{run}: begun with {key} = {theirs.get(key)}, found {ours.get(key)}; --resume needs the same settings"
            )
    if begun.get("data_sha256") != data_sha256:
        raise ConfigError(
            f"{run}: begun with other data; --resume needs the same. Train anew with another --output, or, if the run "
            "is finished, fit its sparse head alone with --sparse-only"
        )


def check_labels(run: Path, taxonomy: Taxonomy) -> None:
    """Refuse a taxonomy that a run was not trained with: its outputs would be read as other labels.

    Raises:
        ConfigError: another axis, label or order; names the first difference.
    """
    trained = _read(run / RUN_INFO).get("labels")
    ours = _labels(taxonomy)
    if not isinstance(trained, dict):
        raise ConfigError(f"{run / RUN_INFO}: lacks labels; expected a finished run")
    if list(trained) != list(ours):
        raise ConfigError(f"{run}: trained with the axes {', '.join(trained)}; the taxonomy has {', '.join(ours)}")
    for axis, labels in ours.items():
        for place, (before, now) in enumerate(zip_longest(trained[axis], labels), 1):
            if before != now:
                raise ConfigError(
                    f"{run}: trained with other labels: label {place} of axis {axis} was {before or 'absent'}, "
                    f"in the taxonomy it is {now or 'absent'}; train anew, or restore the taxonomy"
                )


def build_model(config: Config, taxonomy: Taxonomy, *, pretrained: bool = True) -> TriageModel:
    """The untrained model of a configuration.

    Raises:
        ConfigError: an axis has a name that PyTorch's modules keep for themselves.
    """
    for axis in taxonomy.axes:
        if hasattr(torch.nn.ModuleDict(), axis):
            raise ConfigError(
                f"{config.taxonomy}: axis {axis!r}: PyTorch keeps this name for itself; "
                f"expected another one, such as issue-{axis}"
            )
    return TriageModel(
        load_encoder(config.encoder, pretrained=pretrained),
        {axis.id: len(axis.label_ids) for axis in taxonomy.axes.values()},
        hash_buckets=HASH_BUCKETS,
        views=VIEWS,
        head_dropout=config.training.head_dropout,
        label_smoothing=config.training.label_smoothing,
    )


def load_trained(run: Path, config: Config, taxonomy: Taxonomy, *, sparse: bool = True) -> TriageModel:
    """The model of a finished run, in evaluation mode.

    Args:
        sparse: False leaves the sparse head empty.

    Raises:
        ConfigError: the run has no weights yet, they are damaged, or it was trained with other labels.
    """
    file = run / WEIGHTS
    if not file.is_file():
        raise ConfigError(f"{file}: missing; expected a finished run (`distriage train CONFIG --output {run}`)")
    check_labels(run, taxonomy)
    model = build_model(config, taxonomy, pretrained=False)
    try:
        weights = load_file(file)
    except SafetensorError as error:
        raise ConfigError(f"{file}: damaged: {error}; expected the weights of a finished run") from None
    if not sparse:
        own = {name: value for name, value in model.state_dict().items() if name == "mix" or name.startswith("sparse.")}
        weights = {**weights, **own}
    model.load_state_dict(weights, strict=True)
    return model.eval()


def take_heads(model: TriageModel, run: Path) -> None:
    """Start from the pooling and heads of a finished run with the same labels."""
    own = {name: value for name, value in load_file(run / WEIGHTS).items() if name.startswith(("pool.", "heads."))}
    model.load_state_dict(own, strict=False)


def _labels(taxonomy: Taxonomy) -> dict[str, list[str]]:
    return {axis.id: list(axis.label_ids) for axis in taxonomy.axes.values()}


def _flat(document: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by their dotted names."""
    tables = {key: value for key, value in document.items() if isinstance(value, dict)}
    plain = {key: value for key, value in document.items() if key not in tables}
    return plain | {f"{table}.{key}": value for table, keys in tables.items() for key, value in keys.items()}


def _read(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        document = None
    if not isinstance(document, dict):
        raise ConfigError(f"{file}: missing or damaged; expected a finished run")
    return document
