"""Encoders of other architectures go from training to a verdict: random weights, a step, export, parity, bundle."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'distriage[train]'")

import transformers

from distriage.base.errors import ConfigError
from distriage_training.config import load_config
from distriage_training.fit.batches import BucketSampler
from distriage_training.fit.run import build_model
from distriage_training.fit.train import train
from distriage_training.fit.trainer import TriageTrainer
from distriage_training.release.export import export

from support.checkout import REPOSITORY
from support.command_line import Command
from support.runs import TAXONOMY, four_steps, random_encoder

ARCHITECTURES = ("ModernBert", "XLMRoberta", "MPNet")


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_another_architecture_goes_end_to_end(command: Command, tmp_path: Path, architecture: str) -> None:
    encoder = {"source": str(random_encoder(tmp_path / "encoder", architecture)), "layers": None, "max_tokens": 48}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of torch and transformers about themselves
        config = four_steps(tmp_path, encoder=encoder)
        train(config, tmp_path / "run")
        bundle = export(tmp_path / "run", config, tmp_path / "bundle")  # its gate holds ONNX against torch
    done = command("classify", REPOSITORY / "examples" / "report.md", "--model", bundle, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["model"] == config.name


def test_a_norm_above_the_layers_learns_as_fast_as_the_top_one(tmp_path: Path) -> None:
    encoder = {"source": str(random_encoder(tmp_path / "encoder", "ModernBert")), "layers": None, "max_tokens": 48}
    config = four_steps(tmp_path, encoder=encoder, training={"learning_rate": 1e-3, "layer_decay": 0.5})
    model = build_model(config, TAXONOMY)
    arguments = transformers.TrainingArguments(output_dir=str(tmp_path), use_cpu=True, report_to=[])
    sampler = BucketSampler([1], ["restated"], 1, {}, config.seed)
    groups = TriageTrainer(config, sampler, model=model, args=arguments).create_optimizer().param_groups
    rates = {id(parameter): group["lr"] for group in groups for parameter in group["params"]}
    found = {name: rates[id(parameter)] for name, parameter in model.named_parameters()}
    assert found["encoder.final_norm.weight"] == found["encoder.layers.1.mlp.Wi.weight"] == 1e-3
    assert found["encoder.embeddings.norm.weight"] == 0.25e-3


@pytest.mark.parametrize("name", ["mpnet", "modernbert", "multilingual"])
def test_the_configurations_say_what_differs_from_the_released_run(name: str) -> None:
    config, released = (load_config(REPOSITORY / "configs" / f"{one}.toml") for one in (name, "base"))
    assert config.encoder.source != released.encoder.source and config.name != released.name
    assert (config.domain, config.data, config.training.label_weights) == (
        released.domain,
        released.data,
        released.training.label_weights,
    )
    assert config.training.learning_rate < released.training.learning_rate


@pytest.mark.parametrize("base", ['"../base.toml"', '"run.toml"', "7"])
def test_a_configuration_extends_another_one_beside_it(tmp_path: Path, base: str) -> None:
    (tmp_path / "run.toml").write_text(f'extends = {base}\nname = "x"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="expected the name of another file beside it"):
        load_config(tmp_path / "run.toml")


def test_configurations_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{one}.toml").write_text(f'extends = "{other}.toml"\nname = "x"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"extends: 'a\.toml'"):
        load_config(tmp_path / "a.toml")
