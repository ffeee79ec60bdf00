"""The model's logits from torch and from ONNX, and the ONNX file itself: fp32 and int8."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from numpy.typing import NDArray
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer

from distriage.classifier import BATCH_SIZE, encode
from distriage.errors import DistriageError
from distriage.text import ModelInput
from distriage_training.model import ExportedModel, TriageModel

FLOAT_LAYERS = 2  # takes a fifth off the error of the logits, for 3.5 MB (LOG.md)
MAX_HEAD_LABELS = 100  # a product with fewer columns is a head or the pooling

INPUTS = ("input_ids", "attention_mask", "feature_ids", "feature_counts")

Logits = dict[str, NDArray[np.float32]]


class GateError(DistriageError):
    """An exported model does not agree with the trained one."""


def batches(tokenizer: Tokenizer, inputs: Sequence[ModelInput]) -> list[tuple[list[int], dict[str, NDArray[Any]]]]:
    """Row numbers and graph inputs, reports of like length together."""
    order = sorted(range(len(inputs)), key=lambda i: len(inputs[i].text))
    chunks = [order[start : start + BATCH_SIZE] for start in range(0, len(order), BATCH_SIZE)]
    return [(rows, encode(tokenizer, [inputs[i] for i in rows])) for rows in chunks]


def torch_logits(model: TriageModel, tokenizer: Tokenizer, inputs: Sequence[ModelInput]) -> tuple[Logits, Logits]:
    """Logits of the encoder, axis -> [n, labels], and of the sparse head, axis -> [n, views, labels]."""
    dense = {axis: np.zeros((len(inputs), size), np.float32) for axis, size in model.axes.items()}
    sparse = {axis: np.zeros((len(inputs), model.mix.shape[1], size), np.float32) for axis, size in model.axes.items()}
    with torch.inference_mode():
        for rows, feeds in batches(tokenizer, inputs):
            tensors = {name: torch.from_numpy(values) for name, values in feeds.items()}
            encoded, _ = model.encode(tensors["input_ids"], tensors["attention_mask"])
            extra = model.sparse(tensors["feature_ids"], tensors["feature_counts"]).split(list(model.axes.values()), dim=2)
            for axis, a, b in zip(model.axes, encoded, extra, strict=True):
                dense[axis][rows] = a.numpy()
                sparse[axis][rows] = b.numpy()
    return dense, sparse


def onnx_logits(file: Path, axes: Sequence[str], tokenizer: Tokenizer, inputs: Sequence[ModelInput]) -> Logits:
    """Logits of an ONNX file, axis -> [n, labels]."""
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    parts: dict[str, list[tuple[list[int], NDArray[np.float32]]]] = {axis: [] for axis in axes}
    for rows, feeds in batches(tokenizer, inputs):
        for axis, output in zip(axes, session.run(list(axes), feeds), strict=True):
            parts[axis].append((rows, output))
    result = {}
    for axis, pieces in parts.items():
        values = np.zeros((len(inputs), pieces[0][1].shape[1]), np.float32)
        for rows, output in pieces:
            values[rows] = output
        result[axis] = values
    return result


def write_onnx(model: TriageModel, file: Path) -> None:
    """Export the joined graph, fp32, batch and lengths dynamic."""
    example = (
        torch.ones(2, 12, dtype=torch.long),
        torch.ones(2, 12, dtype=torch.long),
        torch.ones(2, 7, dtype=torch.long),
        torch.ones(2, 7),
    )
    batch, tokens, features = torch.export.Dim("batch", max=4096), torch.export.Dim("tokens", max=8192), torch.export.Dim("features", max=8192)
    shapes = ({0: batch, 1: tokens}, {0: batch, 1: tokens}, {0: batch, 1: features}, {0: batch, 1: features})
    with warnings.catch_warnings():
        for category in (DeprecationWarning, FutureWarning):  # torch's own, about its own parts
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("ignore", "# The axis name")  # several inputs share an axis
        program = torch.onnx.export(
            ExportedModel(model).eval(), example, dynamo=True, input_names=list(INPUTS), output_names=list(model.axes), dynamic_shapes=shapes, verbose=False
        )
    if program is None:
        raise GateError("torch.onnx.export returned no program")
    program.save(str(file), external_data=False)


def write_int8(source: Path, file: Path) -> None:
    """Quantize weights of matrix products and embeddings to int8, activations on the fly (dynamic quantization).

    The down-projections of the first `FLOAT_LAYERS` feed-forward blocks stay fp32: their inputs have outliers, and one scale a tensor then blurs the rest.
    """
    model = onnx.load(source)
    del model.graph.value_info[:]  # the quantizer rewrites Gemm to MatMul and leaves the exporter's shapes behind, which then contradict
    weights = {tensor.name: tensor.dims for tensor in model.graph.initializer}
    products = [(node.name, weights[node.input[1]]) for node in model.graph.node if node.op_type == "MatMul" and node.input[1] in weights]
    narrowing = [name for name, (rows, columns) in products if rows > columns > MAX_HEAD_LABELS]
    quantize_dynamic(
        model,
        str(file),
        weight_type=QuantType.QInt8,
        per_channel=True,
        op_types_to_quantize=["MatMul", "Gemm", "Gather"],
        nodes_to_exclude=narrowing[:FLOAT_LAYERS],
    )


def joined_logits(model: TriageModel, tokenizer: Tokenizer, inputs: Sequence[ModelInput]) -> Logits:
    """Logits of the torch model as it is exported."""
    dense, sparse = torch_logits(model, tokenizer, inputs)
    return join(model, dense, sparse)


def join(model: TriageModel, dense: Logits, sparse: Logits) -> Logits:
    """Logits of encoder and sparse head together, axis -> [n, labels]."""
    return {axis: dense[axis] + np.einsum("v,nvl->nl", model.mix[i].numpy(), sparse[axis]) for i, axis in enumerate(model.axes)}
