"""Fine-tuning with transformers' Trainer: one CPU, one GPU (bf16) or several (torchrun) run the same command."""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from rich.console import Console
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import Trainer, TrainingArguments, set_seed
from transformers.trainer_utils import get_last_checkpoint

from distriage.bundle import thread_digest
from distriage.errors import ConfigError
from distriage.features import HASH_BUCKETS, VIEWS
from distriage.taxonomy import Taxonomy
from distriage_training.batching import BucketSampler, Collator
from distriage_training.config import Config, TrainingConfig
from distriage_training.corpus import Record, thread_key
from distriage_training.encoder import RUN_INFO, load_encoder, load_tokenizer, save_encoder
from distriage_training.examples import UNLABELLED, data_sha256, load_split_records, tokenize
from distriage_training.model import TriageModel
from distriage_training.rationale import Rationales, embed
from distriage_training.sparse import fit_sparse_head

WEIGHTS = "model.safetensors"
ELAPSED_S = "elapsed_s"  # in the log of a checkpoint: seconds of training until then, those of resumed parts too


def build_model(config: Config, taxonomy: Taxonomy, *, pretrained: bool = True) -> TriageModel:
    """The untrained model of a configuration.

    Raises:
        ConfigError: an axis has a name that PyTorch's modules keep for themselves.
    """
    for axis in taxonomy.axes:
        if hasattr(torch.nn.ModuleDict(), axis):
            raise ConfigError(f"{config.taxonomy}: axis {axis!r}: PyTorch keeps this name for itself; expected another one, such as issue-{axis}")
    return TriageModel(
        load_encoder(config.encoder, config.path.parent, pretrained=pretrained),
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
        ConfigError: the run has no weights yet.
    """
    file = run / WEIGHTS
    if not file.is_file():
        raise ConfigError(f"{file}: missing; expected a finished run (`distriage train CONFIG --output {run}`)")
    model = build_model(config, taxonomy, pretrained=False)
    weights = load_file(file)
    if not sparse:
        own = {name: value for name, value in model.state_dict().items() if name == "mix" or name.startswith("sparse.")}
        weights = {**weights, **own}
    model.load_state_dict(weights, strict=True)
    return model.eval()


def load_run_info(run: Path) -> dict[str, Any]:
    """What a finished run says of itself: seconds, hardware, records, data hash, configuration.

    Raises:
        ConfigError: it is missing or damaged.
    """
    file = run / RUN_INFO
    try:
        info = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        info = None
    if not isinstance(info, dict):
        raise ConfigError(f"{file}: missing or damaged; expected a finished run")
    return info


class TriageTrainer(Trainer):  # type: ignore[misc]
    """The Trainer with bucketed batches, layer-wise learning rates and a clock in its log.

    Attributes:
        started_s: `time.monotonic()` at which training would have begun without interruptions.
    """

    def __init__(self, config: Config, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.config = config
        self.optimizer: torch.optim.Optimizer | None
        self.started_s = time.monotonic()

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log, with the seconds of training until now."""
        super().log({**logs, ELAPSED_S: time.monotonic() - self.started_s}, start_time)

    def _get_train_sampler(self, train_dataset: Dataset | None = None) -> BucketSampler:
        data = train_dataset if train_dataset is not None else self.train_dataset
        return BucketSampler(data["length"], data["source"], self.config.training, self.config.seed)

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """AdamW; each encoder layer learns slower than the one above it, the heads faster."""
        if self.optimizer is None:
            model = model or self.model
            groups: dict[tuple[float, float], list[Tensor]] = {}
            for name, parameter in model.named_parameters():
                if parameter.requires_grad:
                    decay = 0.0 if parameter.ndim < 2 else self.config.training.weight_decay
                    groups.setdefault((_rate(name, model, self.config.training), decay), []).append(parameter)
            self.optimizer = torch.optim.AdamW(
                [{"params": parameters, "lr": rate, "weight_decay": decay} for (rate, decay), parameters in groups.items()], betas=(0.9, 0.98)
            )
        return self.optimizer


def _rate(name: str, model: Any, config: TrainingConfig) -> float:
    if not name.removeprefix("module.").startswith("encoder."):
        return config.learning_rate * config.head_rate_factor
    depth = int(getattr(model, "module", model).encoder.config.num_hidden_layers)
    layer = next((int(part) + 1 for part in name.split(".") if part.isdigit()), 0)  # 0: the embeddings
    return config.learning_rate * config.layer_decay ** (depth - layer)


def train(config: Config, output: Path, *, resume: bool = False, console: Console | None = None) -> Path:
    """Run the training of a configuration.

    Args:
        output: Folder of the run: checkpoints, TensorBoard log, final weights, `run.json`.
        resume: Go on from the last checkpoint in `output`.

    Returns:
        The weights' file.

    Raises:
        ConfigError: nothing to resume, or `output` holds another run.
        CorpusError: the data is not valid.
    """
    console = console or Console(stderr=True)
    checkpoint = get_last_checkpoint(str(output)) if output.is_dir() else None
    if checkpoint and not resume:
        raise ConfigError(f"{output}: holds the checkpoint {Path(checkpoint).name}; pass --resume to go on from it, or another --output")
    if resume and not checkpoint:
        raise ConfigError(f"{output}: --resume, but there is no checkpoint in it")
    taxonomy = config.load_taxonomy()
    set_seed(config.seed)
    tokenizer = load_tokenizer(config.encoder, config.path.parent)
    model = build_model(config, taxonomy)  # before the data: a wrong setting shows at once
    splits = load_split_records(config, taxonomy)
    dataset = tokenize(splits["train"], tokenizer, taxonomy, config)
    if config.encoder.freeze_embeddings:
        for parameter in model.encoder.get_input_embeddings().parameters():
            parameter.requires_grad = False
    labels = torch.tensor([reading for readings in dataset["labels"] for reading in readings])
    model.set_class_weights(
        {axis: torch.bincount(column[column != UNLABELLED], minlength=size) for (axis, size), column in zip(model.axes.items(), labels.T, strict=True)},
        config.training.class_balance,
    )
    settings = config.training
    if settings.rationale_weight:
        model.rationales = Rationales(embed(model.encoder.eval(), tokenizer, [record.note for record in splits["train"]]))
        model.rationale_weight = settings.rationale_weight
    drawn = len(BucketSampler(dataset["length"], dataset["source"], settings, config.seed))
    steps_per_epoch = math.ceil(drawn / (settings.batch_size * settings.gradient_accumulation))
    tokens = sum(dataset["length"]) / len(dataset)
    console.print(f"{len(dataset):,} training reports, {drawn:,} drawn an epoch, {tokens:.0f} tokens each on average; {config.encoder.source}")
    on_gpu = torch.cuda.is_available()
    arguments = TrainingArguments(
        output_dir=str(output),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.gradient_accumulation,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=round(settings.warmup_fraction * steps_per_epoch * settings.epochs),
        max_grad_norm=1.0,
        bf16=on_gpu,
        use_cpu=not on_gpu,
        seed=config.seed,
        logging_steps=min(25, settings.save_steps),
        save_steps=settings.save_steps,
        save_total_limit=2,
        report_to=["tensorboard"],
        remove_unused_columns=False,
        dataloader_pin_memory=on_gpu,
        disable_tqdm=not sys.stderr.isatty(),
        ddp_find_unused_parameters=False,
    )
    unknown = tokenizer.token_to_id("[MASK]")
    collator = Collator(settings, unknown if unknown is not None else 0, special_below=999 if unknown is not None else 1 << 30)
    trainer = TriageTrainer(config, model=model, args=arguments, train_dataset=dataset, data_collator=collator)
    trainer.started_s = time.monotonic() - _earlier_seconds(checkpoint)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"torch|transformers|accelerate")
        trainer.train(resume_from_checkpoint=checkpoint)
    seconds = time.monotonic() - trainer.started_s
    if not trainer.is_world_process_zero():
        return output / WEIGHTS
    model.rationales = None  # its work is done
    save_encoder(model.encoder, tokenizer, output / "encoder")
    info = {
        "training_seconds": round(seconds, 1),
        "hardware": torch.cuda.get_device_name() if on_gpu else f"CPU, {torch.get_num_threads()} threads",
        "records": {split: len(members) for split, members in splits.items()},
        "data_sha256": _trained_on(splits),
        "trained_on": _digests(splits["train"]),
        "config": config.model_dump(mode="json"),
    }
    return _fit_sparse_and_save(model, splits, config, output, info, console)


def refit_sparse(config: Config, output: Path, console: Console | None = None) -> Path:
    """Fit the sparse head of a finished run anew: minutes instead of hours when annotations were added. The encoder stays as it is.

    Returns:
        The weights' file.

    Raises:
        ConfigError: `output` holds no finished run.
        CorpusError: the data is not valid.
    """
    taxonomy = config.load_taxonomy()
    model = load_trained(output, config, taxonomy, sparse=False)
    info = load_run_info(output)
    return _fit_sparse_and_save(model, load_split_records(config, taxonomy), config, output, info, console or Console(stderr=True))


def _fit_sparse_and_save(
    model: TriageModel, splits: Mapping[str, Sequence[Record]], config: Config, output: Path, info: Mapping[str, Any], console: Console
) -> Path:
    with console.status("sparse head") as status:
        model.sparse = fit_sparse_head(splits["train"], config.load_taxonomy(), config, lambda axis: status.update(f"sparse head: {axis}"))
    save_file({name: value.contiguous() for name, value in model.state_dict().items()}, output / WEIGHTS)
    sparse: dict[str, Any] = {"sparse_records": len(splits["train"]), "sparse_data_sha256": _trained_on(splits)}
    if "trained_on" in info:  # not in runs that were made before it was noted
        sparse["trained_on"] = sorted({*info["trained_on"], *_digests(splits["train"])})
    (output / RUN_INFO).write_text(json.dumps({**info, **sparse}, indent=1) + "\n", encoding="utf-8")
    return output / WEIGHTS


def _trained_on(splits: Mapping[str, Sequence[Record]]) -> str:
    return data_sha256([record for split in ("train", "validation") for record in splits[split]])


def _digests(records: Sequence[Record]) -> list[str]:
    return sorted({thread_digest(thread_key(record.id)) for record in records})


def _earlier_seconds(checkpoint: str | None) -> float:
    """Seconds of training before an interruption, from the checkpoint's own log; 0 for a fresh run."""
    if checkpoint is None:
        return 0.0
    state = json.loads((Path(checkpoint) / "trainer_state.json").read_text(encoding="utf-8"))
    return float(next((entry[ELAPSED_S] for entry in reversed(state["log_history"]) if ELAPSED_S in entry), 0.0))
