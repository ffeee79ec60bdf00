"""The finished run of a bundle, made again from its int8 graph when the original weights are lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from safetensors.torch import save_file
from torch import Tensor

from distriage.base.errors import ConfigError
from distriage.model.bundle import Bundle
from distriage_training.config import Config
from distriage_training.fit.encoder import load_tokenizer, save_encoder
from distriage_training.fit.run import RUN_INFO, WEIGHTS, RunInfo, build_model
from distriage_training.release.export import MODEL

Arrays = Mapping[str, NDArray[Any]]


def recover(bundle: Bundle, config: Config, run: Path) -> None:
    """Write a folder such as `train` leaves: weights, `run.json`, and the encoder for `encoder.source`.

    The weights are the graph's, with the error of int8 in them. Nothing in a bundle says how right the encoder alone
    was on validation, so `run.json` says 0.

    Args:
        config: Names an encoder of the same architecture, with biases, such as BERT.

    Raises:
        ConfigError: the folder holds something, or the graph is of another architecture.
    """
    if run.exists() and any(run.iterdir()):
        raise ConfigError(f"{run}: holds something; expected a new folder")
    model = build_model(config, bundle.taxonomy, pretrained=False)
    found = weights(onnx.load(bundle.path / MODEL), list(model.axes.values()))
    wanted = {name: value for name, value in model.state_dict().items() if not name.startswith("encoder.pooler.")}
    for name, value in wanted.items():
        if name not in found or found[name].shape != value.shape:
            raise ConfigError(
                f"{bundle.path / MODEL}: lacks {name} [{', '.join(map(str, value.shape))}]; "
                f"expected a model of the encoder that {config.path} names"
            )
    model.load_state_dict({**model.state_dict(), **{name: found[name] for name in wanted}})
    save_encoder(model.encoder, load_tokenizer(config.encoder), run / "encoder")
    save_file({name: value.contiguous() for name, value in model.state_dict().items()}, run / WEIGHTS)
    origin = asdict(bundle.manifest.provenance)
    info = RunInfo(
        labels={axis: calibration.labels for axis, calibration in bundle.manifest.axes.items()},
        trained_on=tuple(sorted(bundle.trained_on or ())),
        validation_accuracy=dict.fromkeys(bundle.manifest.axes, 0.0),
        **{name: value for name, value in origin.items() if name in RunInfo.model_fields},
    )
    (run / RUN_INFO).write_text(info.model_dump_json(indent=1) + "\n", encoding="utf-8")


def weights(graph: onnx.ModelProto, sizes: list[int]) -> dict[str, Tensor]:
    """The weights of a graph that `release/graph.py` wrote, by their names in `TriageModel`.

    Args:
        sizes: Number of labels of each axis.
    """
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.graph.initializer}
    after = {name: node for node in graph.graph.node for name in node.input}
    before = {name: node for node in graph.graph.node for name in node.output}
    found = {name.removeprefix("model."): value for name, value in stored.items()}
    for name, value in stored.items():
        own = name.removeprefix("model.")
        if own.endswith("_Transposed"):
            found[own.removesuffix("_Transposed")] = value.T
        elif own.endswith("_int8"):
            found[own.removesuffix("_int8")] = value * stored[name.removesuffix("_int8") + "_scale"]
    for node in graph.graph.node:
        if node.op_type in {"MatMul", "MatMulInteger"} and node.input[1] in stored:
            bias = _added_bias(node, after, stored)
            if bias is not None:
                found[bias.removeprefix("model.").removesuffix("bias") + "weight"] = _factor(node, before, stored).T
    # Repeated for each label in the graph.
    found["mix"] = stored["mix"][:, np.cumsum(sizes) - 1].T
    return {name: torch.from_numpy(np.array(value)) for name, value in found.items()}


def _factor(node: onnx.NodeProto, before: Mapping[str, onnx.NodeProto], stored: Arrays) -> NDArray[np.float32]:
    """The weights [inputs, outputs] of a product: int8 multiplied by their scales, smoothing taken back."""
    weight = stored[node.input[1]].astype(np.float32)
    if node.op_type == "MatMul":
        return weight
    weight *= stored[node.input[1].removesuffix("_quantized") + "_scale"]
    smooth = before.get(before[node.input[0]].input[0])  # what was quantized
    if smooth is not None and smooth.op_type == "Mul" and smooth.input[1].endswith("_smoothing"):
        weight *= stored[smooth.input[1]][:, None]
    return weight


def _added_bias(node: onnx.NodeProto, after: Mapping[str, onnx.NodeProto], stored: Arrays) -> str | None:
    """The name of the bias that is added to a product, behind its scales."""
    following = after.get(node.output[0])
    while following is not None and following.op_type in {"Cast", "Mul"}:
        following = after.get(following.output[0])
    if following is None or following.op_type != "Add":
        return None
    return next((name for name in following.input if name in stored), None)
