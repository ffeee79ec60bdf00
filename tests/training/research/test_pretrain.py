"""`pretrain`: words are masked as said, and the adapted encoder is one that a run can start from."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'distriage[train]'")
pytest.importorskip("datasets", reason="needs datasets: pip install 'distriage[train]'")

from safetensors.torch import load_file  # noqa: E402
from transformers import TrainingArguments  # noqa: E402

from distriage.base.errors import ConfigError, CorpusError  # noqa: E402
from distriage_research.experiments.pretrain import IGNORED, MaskingCollator, Pretraining, pretrain  # noqa: E402
from distriage_training.config import Config, EncoderConfig, load_config  # noqa: E402
from distriage_training.fit import trainer  # noqa: E402
from distriage_training.fit.batches import BucketSampler  # noqa: E402
from distriage_training.fit.encoder import load_encoder, load_tokenizer  # noqa: E402

from support.runs import random_encoder  # noqa: E402
from support.toys import annotation, texts, write_config, write_corpus, write_lines  # noqa: E402

MASK, SPECIAL, VOCABULARY = 103, (0, 100, 101, 102, 103), 30_522  # of the base model's tokenizer


def small(folder: Path) -> Config:
    """A narrow encoder, short texts, and no report that a model is measured on."""
    encoder = {"source": str(random_encoder(folder / "base", "Bert")), "layers": None, "max_tokens": 16}
    return load_config(write_config(folder / "run.toml", encoder=encoder, data={"corpus": "none"}))


def sampler() -> BucketSampler:
    return BucketSampler([8] * 20, [""] * 20, 4, {}, 3)


def test_a_share_of_the_words_is_masked_and_only_those_are_asked_for() -> None:
    rows = [{"input_ids": [101, *range(2000, 2300), 102], "row": n} for n in range(20)]
    batch = MaskingCollator(sampler(), 0.2, MASK, SPECIAL, VOCABULARY)(rows)
    asked = batch["labels"] != IGNORED
    before = torch.tensor([row["input_ids"] for row in rows])
    assert asked.float().mean() == pytest.approx(0.2, abs=0.02)
    assert not asked[:, 0].any() and not asked[:, -1].any()  # [CLS], [SEP]
    assert torch.equal(batch["labels"][asked], before[asked])
    assert torch.equal(batch["input_ids"][~asked], before[~asked])
    now = batch["input_ids"][asked]
    assert (now == MASK).float().mean() == pytest.approx(0.8, abs=0.03)
    assert (now == before[asked]).float().mean() == pytest.approx(0.1, abs=0.03)


def test_special_tokens_with_high_numbers_and_padding_are_not_masked() -> None:
    rows = [{"input_ids": [28, *range(20), 29], "row": 0}, {"input_ids": [28, 5, 29], "row": 1}]
    batch = MaskingCollator(sampler(), 1 - 1e-9, 27, (27, 28, 29), 30)(rows)
    assert (batch["labels"] != IGNORED).sum(1).tolist() == [20, 1]  # padding has the number of a word here
    assert set(batch["input_ids"][0, 1:-1].tolist()) <= set(range(28))


def test_every_report_is_asked_for_one_word_at_least_and_padding_for_none() -> None:
    batch = MaskingCollator(sampler(), 1e-9, MASK, SPECIAL, VOCABULARY)(
        [{"input_ids": [101, 2000, 102], "row": 0}, {"input_ids": [101, 2001, 2002, 102], "row": 1}]
    )
    assert (batch["labels"] != IGNORED).sum(1).tolist() == [1, 1]
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0]]


def test_the_adapted_encoder_is_one_to_start_from_and_a_run_goes_on(tmp_path: Path) -> None:
    reports = write_lines(tmp_path / "reports.jsonl", texts(f"a/b#{n}" for n in range(12)))
    config, settings = small(tmp_path), Pretraining(reports, batch_size=4, limit=8, learning_rate=1e-3)
    folder = pretrain(config, settings, tmp_path / "out")
    adapted = EncoderConfig(max_tokens=16, source=str(folder))
    before, after = load_encoder(config.encoder), load_encoder(adapted)
    weights = "encoder.layer.0.attention.self.query.weight"
    assert not torch.equal(before.state_dict()[weights], after.state_dict()[weights])
    assert load_tokenizer(adapted).encode("hang").tokens == ["[CLS]", "hang", "[SEP]"]
    (checkpoint,) = (tmp_path / "out").glob("checkpoint-*")
    assert checkpoint.name == "checkpoint-2"  # 8 reports, 4 a step
    with pytest.raises(ConfigError, match="holds the checkpoint checkpoint-2; pass --resume to go on from it"):
        pretrain(config, settings, tmp_path / "out")
    shutil.rmtree(folder)
    assert pretrain(config, settings, tmp_path / "out", resume=True) == folder  # nothing is left to do but to write it
    again = load_encoder(adapted).state_dict()[weights]
    assert torch.equal(again, after.state_dict()[weights])


def save_every_second(patch: pytest.MonkeyPatch) -> None:
    def arguments(**settings: Any) -> TrainingArguments:
        return TrainingArguments(**{**settings, "save_steps": 2, "save_total_limit": None})

    patch.setattr(trainer, "TrainingArguments", arguments)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Pretraining, Path]:
    """A run of two epochs of three steps, and its folder."""
    folder = tmp_path_factory.mktemp("whole")
    reports = write_lines(folder / "reports.jsonl", texts(f"a/b#{n}" for n in range(12)))
    config, settings = small(folder), Pretraining(reports, epochs=2, batch_size=4, learning_rate=1e-3)
    with pytest.MonkeyPatch.context() as patch:
        save_every_second(patch)
        pretrain(config, settings, folder / "out")
    return config, settings, folder / "out"


@pytest.mark.parametrize("step", [2, 4], ids=["first epoch", "second epoch"])
def test_a_resumed_run_reads_the_batches_and_masks_of_an_uninterrupted_one(
    uninterrupted: tuple[Config, Pretraining, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    config, settings, whole = uninterrupted
    shutil.copytree(whole / f"checkpoint-{step}", tmp_path / f"checkpoint-{step}")
    save_every_second(monkeypatch)
    resumed = load_file(pretrain(config, settings, tmp_path, resume=True) / "model.safetensors")
    for name, value in load_file(whole / "encoder" / "model.safetensors").items():
        torch.testing.assert_close(resumed[name], value, atol=1e-6, rtol=1e-5)


def test_no_thread_that_a_model_is_measured_on_is_read(tmp_path: Path) -> None:
    """Annotated since the last import, or under an earlier name."""
    rows = [annotation("a/b#1", split="test"), annotation("deepspeedai/DeepSpeed#2", split="validation")]
    corpus = write_corpus(tmp_path / "corpus", rows)
    reports = write_lines(tmp_path / "reports.jsonl", texts(["A/b#1", "microsoft/DeepSpeed#2"]))
    config = load_config(write_config(tmp_path / "run.toml", data={"corpus": str(corpus)}))
    with pytest.raises(CorpusError, match="no unlabelled report"):
        pretrain(config, Pretraining(reports), tmp_path / "out")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    config, settings = small(tmp_path), Pretraining(tmp_path / "none.jsonl")
    with pytest.raises(CorpusError, match=r"none\.jsonl: no unlabelled report; `corpus import FOLDER`"):
        pretrain(config, settings, tmp_path / "out")
    with pytest.raises(ConfigError, match="--resume, but there is no checkpoint in it"):
        pretrain(config, settings, tmp_path / "out", resume=True)
