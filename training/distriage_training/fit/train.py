"""Fine-tuning with transformers' Trainer: one CPU or GPU, or several (torchrun), run the same command."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from rich.console import Console
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import set_seed

from distriage.base.disk import replaced
from distriage.base.errors import ConfigError
from distriage.base.references import thread_key
from distriage.model.bundle import thread_digest
from distriage.model.taxonomy import Taxonomy
from distriage_training.config import Config
from distriage_training.corpus.load import Splits, load_splits, validation_in_domain
from distriage_training.corpus.records import UNLABELLED, Record
from distriage_training.fit.batches import BucketSampler, Collator
from distriage_training.fit.encoder import (
    PACKAGE,
    PACKAGE_BASE,
    load_tokenizer,
    mask_token,
    save_encoder,
    special_tokens,
    weights_sha256,
)
from distriage_training.fit.examples import tokenize
from distriage_training.fit.model import TriageModel
from distriage_training.fit.rationale import Rationales, embed
from distriage_training.fit.run import (
    RUN_INFO,
    WEIGHTS,
    RunInfo,
    build_model,
    check_beginning,
    check_labels,
    load_run_info,
    load_trained,
    note_beginning,
    take_heads,
)
from distriage_training.fit.sparse import fit_sparse_head
from distriage_training.fit.trainer import (
    TriageTrainer,
    earlier_seconds,
    fine_tuning_arguments,
    last_checkpoint,
    processes,
    use_fast_attention,
)


def train(config: Config, output: Path, *, resume: bool = False, console: Console | None = None) -> Path:
    """Run the training of a configuration.

    Args:
        output: Folder of the run: checkpoints, TensorBoard log, final weights, `run.json`.
        resume: Continue from the last checkpoint in `output`; a finished run stays unchanged.

    Returns:
        The weights' file.

    Raises:
        ConfigError: nothing to resume, `output` holds another run, it was begun with other labels, settings or data,
            no validation record belongs to `domain.groups`, or a batch cannot be divided among the processes.
        CorpusError: the data is not valid.
    """
    console = console or Console(stderr=True, quiet=os.environ.get("RANK", "0") != "0")
    if config.training.batch_size % processes():
        size = config.training.batch_size
        raise ConfigError(f"training.batch_size: {size}; expected a multiple of {processes()}, the number of processes")
    taxonomy = config.load_taxonomy()
    complete = resume and (output / WEIGHTS).is_file()
    checkpoint = None if complete else last_checkpoint(output, resume=resume)
    begun = complete or checkpoint is not None
    if begun:
        check_labels(output, taxonomy)
    elif (output / WEIGHTS).is_file():
        raise ConfigError(f"{output}: holds {WEIGHTS} of a finished run; expected another --output, or delete it")
    before = _earlier_run(config)
    set_seed(config.seed)
    tokenizer = load_tokenizer(config.encoder)
    model = build_model(config, taxonomy)  # before the data: a wrong setting shows at once
    if before is not None and dict(before.labels) == {axis.id: axis.label_ids for axis in taxonomy.axes.values()}:
        take_heads(model, Path(config.encoder.source).parent)
    splits = load_splits(config, taxonomy, console)
    if begun:
        check_beginning(output, config, splits.trained_sha256())
    else:
        note_beginning(output, config, taxonomy, splits.trained_sha256())
    if complete:
        console.print(f"{output}: the run is complete; nothing to resume")
        return output / WEIGHTS
    validation = validation_in_domain(splits, config, taxonomy)
    dataset = tokenize(splits.train, tokenizer, taxonomy, config)
    _prepare_model(model, tokenizer, dataset, splits.train, config)
    trainer = _trainer(config, output, model, tokenizer, dataset, console)
    seconds = _run(trainer, checkpoint)
    if not trainer.is_world_process_zero():
        return output / WEIGHTS
    model.rationales = None  # its work is done
    accuracy = _validation_accuracy(model, tokenizer, validation, taxonomy, config)
    save_encoder(model.encoder, tokenizer, output / "encoder")
    threads = torch.get_num_threads()
    cpu = f"CPU, {threads} thread{'s' * (threads > 1)}"
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else cpu
    info = {
        "labels": {axis.id: axis.label_ids for axis in taxonomy.axes.values()},
        "config": config.record(),
        "records": splits.counts(),
        "data_sha256": splits.trained_sha256(),
        "trained_on": sorted({*_digests(splits.train), *(before.trained_on if before else ())}),
        "validation_accuracy": accuracy,
        "hardware": f"{processes()} x {device}" if processes() > 1 else device,
        "training_seconds": round(seconds + (before.training_seconds if before else 0), 1),
        **_base_model(config, before),
    }
    return _fit_sparse_and_save(model, splits, config, output, info, console)


def refit_sparse(config: Config, output: Path, console: Console | None = None) -> Path:
    """Fit only the sparse head of a finished run: minutes instead of hours when annotations were added.

    Returns:
        The weights' file.

    Raises:
        ConfigError: `output` holds no finished run, or one with other labels.
        CorpusError: the data is not valid.
    """
    console = console or Console(stderr=True)
    taxonomy = config.load_taxonomy()
    model = load_trained(output, config, taxonomy, sparse=False)
    info = load_run_info(output).model_dump(mode="json")
    splits = load_splits(config, taxonomy, console)
    info["trained_on"] = sorted({*info["trained_on"], *_digests(splits.train)})
    return _fit_sparse_and_save(model, splits, config, output, info, console)


def _earlier_run(config: Config) -> RunInfo | None:
    """The finished run whose encoder this one continues from."""
    folder = Path(config.encoder.source).parent
    return load_run_info(folder) if (folder / RUN_INFO).is_file() else None


def _base_model(config: Config, before: RunInfo | None) -> dict[str, str]:
    if before is not None:
        return {
            "base_model": before.base_model,
            "base_model_sha256": before.base_model_sha256,
            "base_model_license": before.base_model_license,
        }
    source = config.record()["encoder"]["source"]
    return {
        "base_model": PACKAGE_BASE if source == PACKAGE else source,
        "base_model_sha256": weights_sha256(config.encoder),
        "base_model_license": config.encoder.license,
    }


def _prepare_model(
    model: TriageModel, tokenizer: Tokenizer, dataset: Dataset, train_records: Sequence[Record], config: Config
) -> None:
    """Freeze embeddings, weigh labels, set the auxiliary task, as the configuration says."""
    use_fast_attention(model.encoder)
    if config.encoder.freeze_embeddings:
        for parameter in model.encoder.get_input_embeddings().parameters():
            parameter.requires_grad = False
    labels = torch.tensor([reading for readings in dataset["labels"] for reading in readings])
    counts = {
        axis: torch.bincount(column[column != UNLABELLED], minlength=size)
        for (axis, size), column in zip(model.axes.items(), labels.T, strict=True)
    }
    model.set_class_weights(counts, config.training.class_balance)
    if config.training.rationale_weight:
        notes = [record.note for record in train_records]
        model.rationales = Rationales(embed(model.encoder.eval(), tokenizer, notes))
        model.rationale_weight = config.training.rationale_weight


def _trainer(
    config: Config, output: Path, model: TriageModel, tokenizer: Tokenizer, dataset: Dataset, console: Console
) -> TriageTrainer:
    settings = config.training
    lengths = list(dataset["length"])  # a column is lazy: an index reads its row
    sources = list(dataset["source"])
    sampler = BucketSampler(lengths, sources, settings.batch_size, settings.sample, config.seed)
    tokens = sum(lengths) / len(dataset)
    console.print(
        f"{len(dataset):,} training reports, {len(sampler):,} drawn an epoch, {tokens:.0f} tokens each on average; "
        f"{config.record()['encoder']['source']}"
    )
    collator = Collator(sampler, settings.token_dropout, mask_token(tokenizer), special_tokens(tokenizer))
    arguments = fine_tuning_arguments(config, output, len(sampler))
    return TriageTrainer(config, sampler, model=model, args=arguments, train_dataset=dataset, data_collator=collator)


def _run(trainer: TriageTrainer, checkpoint: str | None) -> float:
    """Train; returns the seconds that it took, those before an interruption too."""
    trainer.started_s = time.monotonic() - earlier_seconds(checkpoint)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"torch|transformers|accelerate")
        trainer.train(resume_from_checkpoint=checkpoint)
    return time.monotonic() - trainer.started_s


def _validation_accuracy(
    model: TriageModel, tokenizer: Tokenizer, records: Sequence[Record], taxonomy: Taxonomy, config: Config
) -> dict[str, float]:
    """Axis -> accuracy of the encoder and its heads, which `export` must reproduce."""
    dataset = tokenize(records, tokenizer, taxonomy, config)
    right, seen = dict.fromkeys(taxonomy.axes, 0), dict.fromkeys(taxonomy.axes, 0)
    device = next(model.parameters()).device
    model.eval()
    with torch.inference_mode():
        for row in dataset:
            ids = torch.tensor([row["input_ids"]], device=device)
            logits, *_ = model.encode(ids, torch.ones_like(ids))
            for axis, label, output in zip(taxonomy.axes, row["labels"][0], logits, strict=True):
                if label != UNLABELLED:
                    seen[axis] += 1
                    right[axis] += int(output[0].argmax()) == label
    return {axis: round(right[axis] / seen[axis], 4) for axis in taxonomy.axes}


def _fit_sparse_and_save(
    model: TriageModel, splits: Splits, config: Config, output: Path, info: dict[str, Any], console: Console
) -> Path:
    with console.status("sparse head") as status:
        model.sparse = fit_sparse_head(
            splits.train, config.load_taxonomy(), config, lambda axis: status.update(f"sparse head: {axis}")
        )
    sparse = {"sparse_records": len(splits.train), "sparse_data_sha256": splits.trained_sha256()}
    finished = RunInfo.model_validate({**info, **sparse})
    # The record comes first: its list of training reports holds for the earlier weights too.
    with replaced(output / RUN_INFO, output / WEIGHTS) as (record, weights):
        save_file({name: value.contiguous() for name, value in model.state_dict().items()}, weights)
        record.write_text(finished.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return output / WEIGHTS


def _digests(records: Sequence[Record]) -> set[str]:
    return {thread_digest(thread_key(record.id)) for record in records}
