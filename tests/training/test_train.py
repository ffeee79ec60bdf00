"""A run of training: what it leaves, resumes, refuses, and goes on from."""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import shutil
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState
from rich.console import Console
from safetensors.torch import load_file

from distriage.base.errors import ConfigError
from distriage.model.taxonomy import default_taxonomy_text
from distriage_training.config import Config, load_config
from distriage_training.corpus.load import data_sha256, in_domain, load_splits
from distriage_training.corpus.records import Record
from distriage_training.fit.examples import tokenize
from distriage_training.fit.run import RUN_INFO, WEIGHTS, build_model, load_run_info, load_trained, note_beginning
from distriage_training.fit.train import refit_sparse, train
from distriage_training.fit.trainer import ELAPSED_S, last_checkpoint
from distriage_training.release.export import export

from support.runs import TAXONOMY, four_steps
from support.toys import REPOSITORY
from support.waiting import until


def quiet() -> Console:
    return Console(file=io.StringIO())


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Path]:
    """A finished run of four steps. Warnings are errors here, unlike in `tiny_run`."""
    folder = tmp_path_factory.mktemp("four")
    config = four_steps(folder)
    assert train(config, folder / "run", console=quiet()) == folder / "run" / WEIGHTS
    return config, folder / "run"


def copy_of(run: Path, folder: Path) -> Path:
    return Path(shutil.copytree(run, folder / "run"))


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
        if torch.equal(value, other[name]):  # as most are; what follows takes a second for each head of the words
            continue
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
    note_beginning(interrupted, config, TAXONOMY, load_run_info(run).data_sha256)
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


def tokens_read(run: Path) -> list[tuple[int, int]]:
    """Step and tokens until then, of each entry of the log."""
    state = json.loads((run / "checkpoint-4" / "trainer_state.json").read_text(encoding="utf-8"))
    return [(entry["step"], entry["num_input_tokens_seen"]) for entry in state["log_history"]]


def one_of(group: dict[str, str], rank: int, config: Config, output: Path) -> None:
    """Train as one process of torchrun, in the environment that it would set."""
    os.environ |= group | {"RANK": str(rank), "LOCAL_RANK": str(rank)}
    AcceleratorState._reset_state(reset_partial_state=True)
    train(config, output)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12's, of a process with threads
def test_two_processes_read_the_batches_of_one(finished: tuple[Config, Path], tmp_path: Path) -> None:
    config, run = finished
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    group = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    forked = multiprocessing.get_context("fork")  # to import PyTorch twice more takes 20 s of CPU
    both = [forked.Process(target=one_of, args=(group, rank, config, tmp_path / "two")) for rank in range(2)]
    for process in both:
        process.start()
    try:
        until(lambda: all(process.exitcode == 0 for process in both) or any(process.exitcode for process in both))
        assert [process.exitcode for process in both] == [0, 0]
    finally:
        for process in both:
            process.kill()
    assert tokens_read(tmp_path / "two") == tokens_read(run)
    assert load_run_info(tmp_path / "two").hardware == "2 x CPU, 1 thread"


def test_a_batch_that_the_processes_cannot_share_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(ConfigError, match=r"^training\.batch_size: 8; expected a multiple of 3, the number of proc"):
        train(four_steps(tmp_path), tmp_path / "run")
    assert not (tmp_path / "run").exists()


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


def test_weights_of_a_finished_run_are_not_overwritten(tmp_path: Path) -> None:
    config = four_steps(tmp_path)
    (tmp_path / WEIGHTS).write_bytes(b"hours of work")
    with pytest.raises(ConfigError, match=r"holds model\.safetensors of a finished run; expected another --output"):
        train(config, tmp_path)
    assert (tmp_path / WEIGHTS).read_bytes() == b"hours of work"


def test_a_checkpoint_that_was_not_written_to_its_end_is_passed_over(tmp_path: Path) -> None:
    for step in (2, 10, 12):
        (tmp_path / f"checkpoint-{step}").mkdir()
    for step in (2, 10):
        (tmp_path / f"checkpoint-{step}" / "trainer_state.json").touch()
    assert last_checkpoint(tmp_path, resume=True) == str(tmp_path / "checkpoint-10")


def test_damaged_weights_are_named_in_one_line(tmp_path: Path) -> None:
    config = four_steps(tmp_path)
    note_beginning(tmp_path, config, TAXONOMY, "")
    (tmp_path / WEIGHTS).write_bytes(b"x" * 100)
    with pytest.raises(ConfigError, match=r"model\.safetensors: damaged: .+; expected the weights of a finished run"):
        load_trained(tmp_path, config, TAXONOMY)


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


def test_a_fit_that_is_interrupted_leaves_the_run_as_it_was(
    finished: tuple[Config, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, run = finished
    copy = copy_of(run, tmp_path)

    def interrupted(_: object, file: Path) -> None:
        file.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("distriage_training.fit.train.save_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        refit_sparse(config, copy, quiet())
    for name in (WEIGHTS, RUN_INFO):
        assert (copy / name).read_bytes() == (run / name).read_bytes()


def test_fitting_anew_needs_a_finished_run(finished: tuple[Config, Path], tmp_path: Path) -> None:
    config, run = finished
    with pytest.raises(ConfigError, match=r"model\.safetensors: missing"):
        refit_sparse(config, tmp_path)
    shutil.copy(run / WEIGHTS, tmp_path)
    with pytest.raises(ConfigError, match=r"run\.json: missing or damaged"):
        refit_sparse(config, tmp_path)


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


def test_a_run_that_goes_on_from_another_keeps_what_that_one_saw(
    finished: tuple[Config, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the validation reports, those of the domain are what it is measured on."""
    _, run = finished
    first = load_run_info(run)
    config = four_steps(tmp_path, top={"seed": 8}, encoder={"source": str(run / "encoder")})
    validation = load_splits(config, TAXONOMY).validation
    groups = [name for name, _ in Counter(record.group for record in validation).most_common()][:-1]
    config = config.model_copy(update={"domain": config.domain.model_copy(update={"groups": groups})})
    read = []

    def remember(records: list[Record], *rest: Any) -> Any:
        read.append(records)
        return tokenize(records, *rest)

    monkeypatch.setattr("distriage_training.fit.train.tokenize", remember)
    train(config, tmp_path / "next", console=quiet())
    assert read[-1] == in_domain(validation, config) != validation
    second = load_run_info(tmp_path / "next")
    assert set(first.trained_on) < set(second.trained_on)
    assert second.training_seconds > first.training_seconds
    assert (second.base_model, second.base_model_sha256) == (first.base_model, first.base_model_sha256)
    assert str(run) not in json.dumps(second.config)


@pytest.mark.parametrize("same", [True, False])
def test_the_heads_of_a_run_with_the_same_labels_go_on(
    finished: tuple[Config, Path], tmp_path: Path, same: bool
) -> None:
    _, run = finished
    shutil.copytree(run, tmp_path / "earlier")
    if not same:
        record = json.loads((run / RUN_INFO).read_text(encoding="utf-8"))
        record["labels"]["fix"].reverse()
        (tmp_path / "earlier" / RUN_INFO).write_text(json.dumps(record), encoding="utf-8")
    still = {"learning_rate": 1e-12, "head_rate_factor": 1e-9}
    config = four_steps(tmp_path, encoder={"source": str(tmp_path / "earlier" / "encoder")}, training=still)
    train(config, tmp_path / "next", console=quiet())
    before, after = (load_file(folder / WEIGHTS)["heads.symptom.weight"] for folder in (run, tmp_path / "next"))
    assert torch.allclose(before, after, atol=1e-6) == same
