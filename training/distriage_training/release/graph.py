"""The model's logits from torch and from ONNX, and the ONNX file itself: fp32 and int8, one report a pass.

The graph holds standard operators only (opset 23, whose Attention is one node). onnxruntime fuses the rest when it
loads the file; see `distriage.model.graph.open_session`.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer
from torch import Tensor
from transformers import AttentionInterface

from distriage.base.errors import DistriageError
from distriage.classifier import VECTORS, encode
from distriage.model.graph import open_session
from distriage.model.shipped import MAPPED
from distriage.recipe.text import ModelInput, prepare
from distriage_training.corpus.records import Record
from distriage_training.fit.model import ExportedModel, TriageModel

OPSET = 23
MIN_COLUMNS = 100  # a product with fewer columns is a head or the pooling: too small to gain from int8
INPUTS = ("input_ids", "feature_ids", "feature_counts")
ATTENTION = "one-report"  # name of `one_report_attention` in transformers' registry

SAMPLE = 200  # training reports whose activations are looked at
LARGE = 1 << 16  # bytes of weights worth mapping

OUTLIERS = 5.0  # times the median channel: an input with a channel beyond this is smoothed
SMOOTHING = 0.8  # share of the outliers that the weights take over; .7 and .9 were worse (training/LOG.md)

Logits = dict[str, NDArray[np.float32]]
Feeds = dict[str, NDArray[Any]]


class GateError(DistriageError):
    """An exported model does not agree with the trained one."""


def sample_inputs(tokenizer: Tokenizer, records: Sequence[Record]) -> list[Feeds]:
    """The graph's inputs for `SAMPLE` of the records, evenly drawn."""
    drawn = records[:: max(1, len(records) // SAMPLE)][:SAMPLE]
    return [encode(tokenizer, prepare(record.title, record.body)) for record in drawn]


def torch_logits(model: TriageModel, tokenizer: Tokenizer, inputs: Sequence[ModelInput]) -> tuple[Logits, Logits]:
    """Logits of the encoder, axis -> [n, labels], and of the sparse head, axis -> [n, views, labels]."""
    dense: dict[str, list[Tensor]] = {axis: [] for axis in model.axes}
    sparse: dict[str, list[Tensor]] = {axis: [] for axis in model.axes}
    with torch.inference_mode():
        for report in inputs:
            ids, *features = (torch.from_numpy(values) for values in encode(tokenizer, report).values())
            encoded, *_ = model.encode(ids, None)
            extra = model.sparse(*features).split(list(model.axes.values()), dim=2)
            for axis, a, b in zip(model.axes, encoded, extra, strict=True):
                dense[axis].append(a)
                sparse[axis].append(b)
    return (
        {axis: torch.cat(parts).numpy() for axis, parts in dense.items()},
        {axis: torch.cat(parts).numpy() for axis, parts in sparse.items()},
    )


def onnx_logits(file: Path, axes: Sequence[str], tokenizer: Tokenizer, inputs: Sequence[ModelInput]) -> Logits:
    """Logits of an ONNX file, axis -> [n, labels], as the classifier would run it."""
    session = open_session(file, threads=1)
    passes = [session.run(list(axes), encode(tokenizer, report)) for report in inputs]
    return {axis: np.concatenate([outputs[i] for outputs in passes]) for i, axis in enumerate(axes)}


def one_report_attention(
    module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **settings: Any
) -> tuple[Tensor, None]:
    """Attention [1, heads, tokens, size] -> [1, tokens, heads, size] as one ONNX node.

    The node reads heads side by side, as the products before it write them: no transposed copies.
    """
    del module, mask
    batch, heads, tokens, size = query.shape

    def flat(x: Tensor) -> Tensor:
        return x.transpose(1, 2).reshape(batch, x.shape[2], -1)

    found, *_ = torch.onnx.ops.attention(
        flat(query),
        flat(key),
        flat(value),
        q_num_heads=heads,
        kv_num_heads=key.shape[1],
        scale=float(settings.get("scaling") or size**-0.5),
    )
    return found.view(batch, tokens, heads, size), None


AttentionInterface.register(ATTENTION, one_report_attention)


def write_onnx(model: TriageModel, file: Path) -> None:
    """Export the joined graph, fp32, for one report of any length."""
    example = (torch.ones(1, 12, dtype=torch.long), torch.ones(1, 7, dtype=torch.long), torch.ones(1, 7))
    tokens, features = torch.export.Dim("tokens", max=8192), torch.export.Dim("features", max=8192)
    settings = model.encoder.config
    before = settings._attn_implementation
    if all(getattr(settings, name, None) is None for name in ("sliding_window", "local_attention")):
        model.encoder.set_attn_implementation(ATTENTION)  # every token sees every other one
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it names each extension that is not installed
    try:
        with warnings.catch_warnings():
            for category in (DeprecationWarning, FutureWarning):  # torch's own, about its own parts
                warnings.simplefilter("ignore", category)
            warnings.filterwarnings("ignore", "# The axis name")  # several inputs share an axis
            program = torch.onnx.export(
                ExportedModel(model).eval(),
                example,
                dynamo=True,
                opset_version=OPSET,
                input_names=list(INPUTS),
                output_names=[*model.axes, *VECTORS],
                dynamic_shapes=({1: tokens}, {1: features}, {1: features}),
                verbose=False,
            )
    finally:
        model.encoder.set_attn_implementation(before)
    if program is None:
        raise GateError("torch.onnx.export returned no program")
    program.save(str(file), external_data=False)


def write_int8(source: Path, file: Path, feeds: Sequence[Feeds]) -> None:
    """Quantize the encoder's products and its token embeddings to int8; activations on the fly, by their own range.

    Static scales would save looking for the range, 3 % of the time (training/LOG.md), and clip reports that are unlike
    those that the scales were taken from.

    Args:
        feeds: Inputs of the graph for reports of the training split; they say how far channels of activations differ.
    """
    model = onnx.load(source)
    # The exporter's shapes contradict the quantizer's version of Gemm.
    del model.graph.value_info[:]
    products = quantizable(model)
    if not products:  # onnxruntime takes an empty list for all
        _quantize_embeddings(model)
        onnx.save(model, file)
        return
    inputs = dict.fromkeys(node.input[0] for node in products)  # in order: two exports are the same bytes
    _smooth(model, products, largest_activations(source, inputs, feeds))
    _quantize_embeddings(model)
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)  # it warns that no shapes were inferred; with inferred ones it fails
    try:
        quantize_dynamic(
            model,
            str(file),
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=True,  # 7 bits: CPUs without VNNI saturate where two products of u8 and s8 are added
            op_types_to_quantize=["MatMul"],
            nodes_to_quantize=[node.name for node in products],
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},  # of Attention's outputs
        )
    finally:
        logging.disable(before)


def write_mapped(file: Path) -> None:
    """Write `MAPPED` beside a graph: the same graph, its large int8 weights as external data that begin in `file`.

    onnxruntime maps external data instead of copying it twice. Floats stay inside: in `file` they begin at any byte,
    and a processor may want them at a multiple of four. Writes nothing for a graph without such weights.
    """
    model, content = onnx.load(file), file.read_bytes()
    large = [tensor for tensor in model.graph.initializer if len(tensor.raw_data) >= LARGE and _is_int8(tensor)]
    for tensor in large:
        place = {"location": file.name, "offset": content.index(tensor.raw_data), "length": len(tensor.raw_data)}
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.extend(onnx.StringStringEntryProto(key=key, value=str(one)) for key, one in place.items())
    if large:
        file.with_name(MAPPED).write_bytes(model.SerializeToString())


def _is_int8(tensor: onnx.TensorProto) -> bool:
    return tensor.data_type in (onnx.TensorProto.INT8, onnx.TensorProto.UINT8)


def quantizable(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """Products with weights that are large enough to gain from int8."""
    columns = {tensor.name: tensor.dims[-1] for tensor in model.graph.initializer if len(tensor.dims) == 2}
    return [
        node for node in model.graph.node if node.op_type == "MatMul" and columns.get(node.input[1], 0) >= MIN_COLUMNS
    ]


def largest_activations(file: Path, names: Collection[str], feeds: Sequence[Feeds]) -> dict[str, NDArray[np.float32]]:
    """Largest absolute value of each channel over all feeds of tensors [1, tokens, channels]: name -> [channels]."""
    model = onnx.load(file)
    model.graph.output.extend(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # more spin while they wait
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found = {name: np.float32(0) for name in names}
    for feed in feeds:
        for name, values in zip(names, session.run(list(names), feed), strict=True):
            found[name] = np.maximum(found[name], np.abs(values[0]).max(0))
    return {name: np.asarray(values) for name, values in found.items()}


def _smooth(
    model: onnx.ModelProto, products: Sequence[onnx.NodeProto], largest: Mapping[str, NDArray[np.float32]]
) -> None:
    """If a few channels of an input dwarf the rest, divide them before the product and multiply its weights.

    One scale then fits all channels. SmoothQuant (Xiao et al., 2023), but for every input with outliers, even GELU's,
    by a separate Mul: that costs 3 % of the time and nearly halves the error of the logits (training/LOG.md).
    """
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for name, channels in largest.items():
        if channels.max() < OUTLIERS * np.median(channels):
            continue
        readers = [node for node in products if node.input[0] == name]
        rows = np.max([np.abs(numpy_helper.to_array(weights[node.input[1]])).max(1) for node in readers], 0)
        scale = np.maximum(channels, 1e-5) ** SMOOTHING / np.maximum(rows, 1e-5) ** (1 - SMOOTHING)
        scale = (scale / np.exp(np.log(scale).mean())).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(1 / scale, f"{name}_smoothing"))
        place = next(i for i, node in enumerate(model.graph.node) if node.name == readers[0].name)
        model.graph.node.insert(
            place,
            helper.make_node("Mul", [name, f"{name}_smoothing"], [f"{name}_smooth"], name=f"{name}_smooth"),
        )
        for node in readers:
            tensor = weights[node.input[1]]
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * scale[:, None], tensor.name))
            node.input[0] = f"{name}_smooth"


def _quantize_embeddings(model: onnx.ModelProto) -> None:
    """int8 with a scale a row in place of the token embeddings; one scale for the whole table doubles their error."""
    tables = {tensor.name: tensor for tensor in model.graph.initializer}
    node = next(node for node in model.graph.node if node.op_type == "Gather" and node.input[1] == "input_ids")
    table = tables[node.input[0]]
    values = numpy_helper.to_array(table)
    scale = np.maximum(np.abs(values).max(1, keepdims=True) / 127, 1e-12).astype(np.float32)
    name, found = table.name, node.output[0]
    numbers, rows, scales = f"{name}_int8", f"{found}_int8", f"{found}_scale"
    table.CopyFrom(numpy_helper.from_array(np.round(values / scale).astype(np.int8), numbers))
    model.graph.initializer.append(numpy_helper.from_array(scale, f"{name}_scale"))
    place = list(model.graph.node).index(node)
    del model.graph.node[place]
    for offset, new in enumerate(
        (
            helper.make_node("Gather", [numbers, "input_ids"], [rows], name=rows),
            helper.make_node("Cast", [rows], [f"{rows}_float"], name=f"{rows}_float", to=onnx.TensorProto.FLOAT),
            helper.make_node("Gather", [f"{name}_scale", "input_ids"], [scales], name=scales),
            helper.make_node("Mul", [f"{rows}_float", scales], [found], name=found),
        )
    ):
        model.graph.node.insert(place + offset, new)


def joined_logits(model: TriageModel, tokenizer: Tokenizer, inputs: Sequence[ModelInput]) -> Logits:
    """Logits of the torch model in its exported form."""
    dense, sparse = torch_logits(model, tokenizer, inputs)
    return join(model, dense, sparse)


def join(model: TriageModel, dense: Logits, sparse: Logits) -> Logits:
    """Logits of encoder and sparse head together, axis -> [n, labels]."""
    return {
        axis: dense[axis] + np.einsum("v,nvl->nl", model.mix[i].numpy(), sparse[axis])
        for i, axis in enumerate(model.axes)
    }
