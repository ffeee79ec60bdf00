"""`recover`: the finished run of a bundle from its graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from distriage.base.errors import ConfigError
from distriage.model.bundle import Bundle
from distriage_research.experiments.recover import recover
from distriage_training.config import load_config
from distriage_training.fit.run import load_run_info, load_trained
from distriage_training.release.graph import joined_logits, onnx_logits

from support.exports import AXES, CONFIG, TAXONOMY, Exported, exported  # noqa: F401  # fixture
from support.toys import write_config


def test_the_recovered_run_says_what_the_bundle_says(
    tiny_bundle: Path,
    exported: Exported,  # noqa: F811
    tmp_path: Path,
) -> None:
    recover(Bundle(tiny_bundle), exported.config, tmp_path / "run")
    model = load_trained(tmp_path / "run", exported.config, TAXONOMY)
    found = joined_logits(model, exported.tokenizer, exported.inputs)
    shipped = onnx_logits(tiny_bundle / "model.onnx", AXES, exported.tokenizer, exported.inputs)
    for axis in AXES:
        assert np.abs(found[axis] - shipped[axis]).mean() < 0.05 * shipped[axis].std()
    np.testing.assert_allclose(model.mix, exported.model.mix, atol=1e-4)
    for name, value in exported.model.encoder.state_dict().items():
        if "pooler" not in name and value.is_floating_point():
            assert (model.encoder.state_dict()[name] - value).abs().mean() <= 0.05 * value.abs().mean(), name
    info = load_run_info(tmp_path / "run")
    assert set(info.trained_on) == Bundle(tiny_bundle).trained_on
    assert load_config(CONFIG).name == info.config["name"]
    with pytest.raises(ConfigError, match="holds something; expected a new folder"):
        recover(Bundle(tiny_bundle), exported.config, tmp_path / "run")


def test_another_architecture_is_refused(tiny_bundle: Path, tmp_path: Path) -> None:
    config = load_config(write_config(tmp_path / "run.toml", encoder={"layers": 2}))
    with pytest.raises(ConfigError, match=r"model\.onnx: lacks encoder\..*layer\.1\..*; expected a model of"):
        recover(Bundle(tiny_bundle), config, tmp_path / "run")
