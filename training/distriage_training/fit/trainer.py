"""transformers' Trainer with bucketed batches, layer-wise learning rates and a clock in its log."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from torch import Tensor
from transformers import Trainer, TrainingArguments

from distriage.base.errors import ConfigError
from distriage_training.config import Config, TrainingConfig
from distriage_training.fit.batches import BucketSampler

ELAPSED_S = "elapsed_s"  # in the log of a checkpoint: seconds of training so far, including resumed parts


class BucketTrainer(Trainer):  # type: ignore[misc]
    """A Trainer whose batches a `BucketSampler` makes."""

    def __init__(self, sampler: BucketSampler, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.sampler = sampler

    def _get_train_sampler(self, _: Dataset | None = None) -> BucketSampler:
        return self.sampler


class TriageTrainer(BucketTrainer):
    """The Trainer of a run.

    Attributes:
        started_s: `time.monotonic()` at which training would have begun without interruptions.
    """

    def __init__(self, config: Config, sampler: BucketSampler, **kwargs: Any) -> None:
        super().__init__(sampler, **kwargs)
        self.config = config
        self.optimizer: torch.optim.Optimizer | None
        self.started_s = time.monotonic()

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log, with the seconds of training until now."""
        super().log({**logs, ELAPSED_S: time.monotonic() - self.started_s}, start_time)

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """AdamW; each encoder layer learns more slowly than the one above, the heads faster."""
        if self.optimizer is None:
            model = model or self.model
            groups: dict[tuple[float, float], list[Tensor]] = {}
            for name, parameter in model.named_parameters():
                if parameter.requires_grad:
                    decay = 0.0 if parameter.ndim < 2 else self.config.training.weight_decay
                    groups.setdefault((_rate(name, model, self.config.training), decay), []).append(parameter)
            self.optimizer = torch.optim.AdamW(
                [
                    {"params": parameters, "lr": rate, "weight_decay": decay}
                    for (rate, decay), parameters in groups.items()
                ],
                betas=(0.9, 0.98),
            )
        return self.optimizer


def _rate(name: str, model: Any, config: TrainingConfig) -> float:
    if not name.removeprefix("module.").startswith("encoder."):
        return config.learning_rate * config.head_rate_factor
    depth = int(getattr(model, "module", model).encoder.config.num_hidden_layers)
    outside = 0 if "embed" in name else depth  # parameters of no layer lie below them, or above like a last norm
    layer = next((int(part) + 1 for part in name.split(".") if part.isdigit()), outside)
    return config.learning_rate * config.layer_decay ** (depth - layer)


def multiplies_bf16() -> bool:
    """Whether the GPU, or the CPU without one, has instructions for bfloat16."""
    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    able = torch.cpu.get_capabilities()
    return bool(able.get("avx512_bf16") or able.get("amx_bf16"))


def use_fast_attention(encoder: Any) -> None:
    """On a CPU, products and a softmax: PyTorch's fused attention takes twice as long to differentiate there."""
    if not torch.cuda.is_available():
        encoder.set_attn_implementation("eager")


def processes() -> int:
    """How many train together: torchrun starts one per GPU or CPU core."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def training_arguments(config: Config, output: Path, **own: Any) -> TrainingArguments:
    """The Trainer's settings that all training shares.

    Args:
        own: Those of one kind of training.
    """
    precision, on_gpu = config.training.precision, torch.cuda.is_available()
    return TrainingArguments(
        output_dir=str(output),
        bf16=precision == "bf16" or (precision == "auto" and multiplies_bf16()),
        use_cpu=not on_gpu,
        seed=config.seed,
        logging_steps=min(25, config.training.save_steps),
        save_steps=config.training.save_steps,
        save_total_limit=2,
        report_to=["tensorboard"],
        remove_unused_columns=False,
        dataloader_pin_memory=on_gpu,
        disable_tqdm=not sys.stderr.isatty(),
        include_num_input_tokens_seen="non_padding",
        **own,
    )


def fine_tuning_arguments(config: Config, output: Path, drawn: int) -> TrainingArguments:
    """The Trainer's settings for fine-tuning.

    Args:
        drawn: Reports an epoch.
    """
    settings = config.training
    steps_per_epoch = math.ceil(drawn / (settings.batch_size * settings.gradient_accumulation))
    steps = steps_per_epoch * settings.epochs
    warmup = round(settings.warmup_fraction * steps)
    return training_arguments(
        config,
        output,
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.gradient_accumulation,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="warmup_stable_decay",
        lr_scheduler_kwargs={"num_decay_steps": min(round(settings.decay_fraction * steps), math.ceil(steps) - warmup)},
        warmup_steps=warmup,
        max_grad_norm=1.0,
        accelerator_config={"split_batches": True},  # as many steps by any number of processes
        # The encoder's own pooling is unused, and so is the head of an axis without a label in a batch.
        ddp_find_unused_parameters=True,
    )


def last_checkpoint(output: Path, *, resume: bool) -> str | None:
    """The checkpoint to continue from; None for a new run.

    Skips one left unfinished by an interruption: `trainer_state.json` is the last file written.

    Raises:
        ConfigError: nothing to resume, or a checkpoint is there and `resume` is not set.
    """
    whole = {
        int(step): file.parent
        for file in output.glob("checkpoint-*/trainer_state.json")
        if (step := file.parent.name.removeprefix("checkpoint-")).isdigit()
    }
    if not whole:
        if resume:
            raise ConfigError(f"{output}: --resume, but there is no checkpoint in it")
        return None
    newest = whole[max(whole)]
    if not resume:
        raise ConfigError(
            f"{output}: holds the checkpoint {newest.name}; pass --resume to go on from it, or another --output"
        )
    return str(newest)


def earlier_seconds(checkpoint: str | None) -> float:
    """Seconds of training before an interruption, from the checkpoint's own log; 0 for a fresh run."""
    if checkpoint is None:
        return 0.0
    state = json.loads((Path(checkpoint) / "trainer_state.json").read_text(encoding="utf-8"))
    return float(next((entry[ELAPSED_S] for entry in reversed(state["log_history"]) if ELAPSED_S in entry), 0.0))
