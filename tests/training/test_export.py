# ruff: noqa: F401, F811  # fixtures
"""The graphs of an export: what they say, how far int8 is from fp32, and the gates before a release."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Collection
from copy import deepcopy
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper
from rich.console import Console

from distriage.classifier import Classifier
from distriage.model.bundle import INDEX, REQUIRED_FILES, TRAINED_ON, Bundle
from distriage.model.shipped import MANIFEST, MAPPED
from distriage.recipe.text import prepare
from distriage_training.corpus.texts import read_texts
from distriage_training.measure import scoring
from distriage_training.release import gates, graph
from distriage_training.release.calibrate import confidence_loss
from distriage_training.release.export import calibrations, export, fit_calibration
from distriage_training.release.gates import (
    MAX_INT8_DIFFERENCE,
    MAX_PARITY_DIFFERENCE,
    parity,
)
from distriage_training.release.graph import (
    GateError,
    joined_logits,
    onnx_logits,
    sample_inputs,
    torch_logits,
    write_int8,
)

from support.exports import AXES, TAXONOMY, Exported, exported
from support.toys import CORPUS


def recorded(exported: Exported, key: str) -> dict[str, NDArray[np.float32]]:
    return {
        axis: np.array([report[key][axis] for report in exported.reference["reports"]], np.float32) for axis in AXES
    }  # type: ignore[attr-defined]


def difference(one: dict[str, NDArray[np.float32]], other: dict[str, NDArray[np.float32]]) -> float:
    assert {axis: values.shape for axis, values in one.items()} == {
        axis: values.shape for axis, values in other.items()
    }
    return max(float(np.abs(one[axis] - other[axis]).max()) for axis in one)


def test_the_recorded_sparse_weights_are_those_of_the_fit(tiny_bundle: Path, exported: Exported) -> None:
    summary = json.loads((tiny_bundle / "metrics.json").read_text(encoding="utf-8"))
    weights = [summary["sparse_weight"][axis] for axis in AXES]
    np.testing.assert_allclose(exported.model.mix.numpy(), weights, rtol=1e-3)
    assert exported.model.mix.max() > 0


def test_only_the_axes_that_are_named_are_fitted(exported: Exported) -> None:
    axis = AXES[int(exported.model.mix.sum(1).argmax())]  # toys give most axes no weight
    model = deepcopy(exported.model)
    model.mix.zero_()
    dense, sparse = torch_logits(model, exported.tokenizer, exported.validation.inputs)
    fit_calibration(model, dense, sparse, exported.validation, [axis])
    assert [bool(weights.any()) for weights in model.mix] == [one == axis for one in AXES]


def test_the_recorded_validation_scores_are_those_of_the_shipped_model(tiny_bundle: Path, exported: Exported) -> None:
    summary = json.loads((tiny_bundle / "metrics.json").read_text(encoding="utf-8"))
    logits = Classifier(tiny_bundle).logits(exported.validation.inputs)
    assert len(exported.validation.inputs) == 96
    for i, axis in enumerate(AXES):
        rows = exported.validation.labels[:, i] >= 0
        truth, predicted = exported.validation.labels[rows, i], logits[axis][rows].argmax(1)
        expected = {
            "n": int(rows.sum()),
            "accuracy": scoring.accuracy(truth, predicted),
            "macro_f1": scoring.macro_f1(truth, predicted),
        }
        assert summary["validation"][axis] == pytest.approx(expected, abs=0.01)
    assert (
        0 < summary["validation"]["cause"]["n"] < summary["validation"]["kind"]["n"] == len(exported.validation.inputs)
    )
    assert 0 <= summary["parity_fp32_max_logit_difference"] <= MAX_PARITY_DIFFERENCE
    assert set(summary["int8_macro_f1_drop"]) == set(AXES)


def test_the_recorded_calibration_is_that_of_the_shipped_model(tiny_bundle: Path, exported: Exported) -> None:
    shipped = onnx_logits(tiny_bundle / "model.onnx", AXES, exported.tokenizer, exported.validation.inputs)
    found = calibrations(shipped, TAXONOMY, exported.validation)
    recorded_axes = Bundle(tiny_bundle).manifest.axes
    assert {axis: row.temperature for axis, row in found.items()} == {
        axis: row.temperature for axis, row in recorded_axes.items()
    }
    for axis in AXES:
        i = AXES.index(axis)
        rows = exported.validation.rows(i)
        truth = exported.validation.labels[rows, i]
        plain = confidence_loss(shipped[axis][rows], truth, 1.0)
        fitted = confidence_loss(shipped[axis][rows], truth, found[axis].temperature, found[axis].floor)
        assert fitted <= plain + 0.01


def test_torch_fp32_and_int8_agree_on_the_reference_reports(tiny_bundle: Path, exported: Exported) -> None:
    assert exported.reference["tolerance"] == {
        "fp32_against_torch": MAX_PARITY_DIFFERENCE,
        "int8_against_torch": MAX_INT8_DIFFERENCE,
    }
    assert Bundle(tiny_bundle).manifest.numeric_format == "int8"
    torch_now = joined_logits(exported.model, exported.tokenizer, exported.inputs)
    fp32_now = onnx_logits(exported.fp32, AXES, exported.tokenizer, exported.inputs)
    int8_now = onnx_logits(tiny_bundle / "model.onnx", AXES, exported.tokenizer, exported.inputs)
    assert difference(torch_now, fp32_now) <= MAX_PARITY_DIFFERENCE
    assert difference(torch_now, int8_now) <= MAX_INT8_DIFFERENCE
    assert difference(torch_now, recorded(exported, "torch")) <= MAX_PARITY_DIFFERENCE
    assert difference(int8_now, recorded(exported, "shipped")) <= MAX_PARITY_DIFFERENCE
    assert difference(recorded(exported, "torch"), recorded(exported, "shipped")) > 0
    assert (
        difference(Classifier(tiny_bundle).logits(exported.inputs), recorded(exported, "shipped"))
        <= MAX_PARITY_DIFFERENCE
    )


def test_reference_reports_are_ours_to_ship_and_cover_the_labels(exported: Exported) -> None:
    reports = [(row["title"], row["body"]) for row in exported.reference["reports"]]  # type: ignore[attr-defined]
    assert len(set(reports)) == len(reports)
    restated = set(read_texts([CORPUS / "restated.jsonl"]).values())
    ours, hard = reports[:-3], reports[-3:]
    assert set(ours) <= restated
    labels = {(r.title, r.body): r.labels for r in exported.train}
    for axis in ("kind", "stage"):
        assert {labels[report].get(axis) for report in ours} - {None} == {
            r.labels[axis] for r in exported.train if r.origin == "restated" and axis in r.labels
        }
    assert ("", "hang") in hard
    assert any("卡住" in title for title, _ in hard)
    assert any(len(body) > 5000 for _, body in hard)


def tampered(source: Path, folder: Path, change: float) -> Path:
    """The graph with one head's bias shifted."""
    model = onnx.load(source)
    names = [tensor.name for tensor in model.graph.initializer if tensor.name.endswith("heads.cause.bias")]
    assert len(names) == 1
    for tensor in model.graph.initializer:
        if tensor.name == names[0]:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) + np.float32(change), tensor.name))
    onnx.save(model, folder / "tampered.onnx")
    return folder / "tampered.onnx"


def test_the_parity_gate_refuses_a_tampered_graph(exported: Exported, tmp_path: Path) -> None:
    honest = parity(exported.model, exported.fp32, exported.tokenizer, exported.inputs)
    assert honest <= MAX_PARITY_DIFFERENCE
    slightly = tampered(exported.fp32, tmp_path, MAX_PARITY_DIFFERENCE / 4)
    assert parity(exported.model, slightly, exported.tokenizer, exported.inputs) > honest
    with pytest.raises(
        GateError, match=r"tampered\.onnx: logits differ from torch by 2\.\d\de-03; at most 1e-03 is allowed"
    ):
        parity(exported.model, tampered(exported.fp32, tmp_path, 2e-3), exported.tokenizer, exported.inputs)
    with pytest.raises(GateError, match="logits differ from torch by nan"):
        parity(exported.model, tampered(exported.fp32, tmp_path, float("nan")), exported.tokenizer, exported.inputs)


def test_the_graph_takes_any_length(exported: Exported) -> None:
    inputs = [prepare("", "hang"), prepare("NCCL error", "watchdog timeout " * 400)]
    alone = [joined_logits(exported.model, exported.tokenizer, [one]) for one in inputs]
    together = onnx_logits(exported.fp32, AXES, exported.tokenizer, [*inputs * 9])
    for axis in AXES:
        assert together[axis].shape == (18, len(TAXONOMY.axes[axis].label_ids))
        for row in range(18):
            np.testing.assert_allclose(together[axis][row], alone[row % 2][axis][0], atol=MAX_PARITY_DIFFERENCE)


def test_int8_is_smaller_and_close(tiny_bundle: Path, exported: Exported) -> None:
    int8 = tiny_bundle / "model.onnx"
    assert int8.stat().st_size < 0.6 * exported.fp32.stat().st_size
    found = [onnx_logits(file, AXES, exported.tokenizer, exported.inputs) for file in (exported.fp32, int8)]
    assert 0 < difference(*found) <= MAX_INT8_DIFFERENCE


def test_what_is_added_comes_in_the_order_of_the_graph(exported: Exported, monkeypatch: pytest.MonkeyPatch) -> None:
    """A set of names has another order in every process."""
    asked: list[str] = []

    def stop(_: Path, names: Collection[str], *__: object) -> None:
        asked.extend(names)
        raise InterruptedError

    monkeypatch.setattr(graph, "largest_activations", stop)
    with pytest.raises(InterruptedError):
        write_int8(exported.fp32, exported.fp32, [])
    products = graph.quantizable(onnx.load(exported.fp32))
    assert asked == list(dict.fromkeys(node.input[0] for node in products)) and len(asked) > 3


def test_an_encoder_too_small_for_int8_products_keeps_them(
    exported: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "MIN_COLUMNS", 10_000)
    write_int8(exported.fp32, tmp_path / "int8.onnx", sample_inputs(exported.tokenizer, exported.train[:2]))
    assert "MatMulInteger" not in {node.op_type for node in onnx.load(tmp_path / "int8.onnx").graph.node}


def test_outliers_are_smoothed_and_the_product_stays_what_it_was(exported: Exported, tmp_path: Path) -> None:
    """One channel of an input is made 40 times as large as the others; one scale for all of them would blur them."""
    model = onnx.load(exported.fp32)
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    norm = next(name for name in tensors if name.endswith("layer.0.attention.output.LayerNorm.weight"))
    values = numpy_helper.to_array(tensors[norm]).copy()
    values[5] *= 40
    tensors[norm].CopyFrom(numpy_helper.from_array(values, norm))
    onnx.save(model, tmp_path / "outlier.onnx")
    write_int8(tmp_path / "outlier.onnx", tmp_path / "int8.onnx", sample_inputs(exported.tokenizer, exported.train))
    smoothed = [t.name for t in onnx.load(tmp_path / "int8.onnx").graph.initializer if t.name.endswith("_smoothing")]
    assert smoothed
    fp32, int8 = (
        onnx_logits(tmp_path / f"{name}.onnx", AXES, exported.tokenizer, exported.inputs)
        for name in ("outlier", "int8")
    )
    assert difference(fp32, int8) <= MAX_INT8_DIFFERENCE


def test_joined_logits_add_both_heads(exported: Exported) -> None:
    inputs = exported.inputs[:5]
    dense, sparse = torch_logits(exported.model, exported.tokenizer, inputs)
    joined = joined_logits(exported.model, exported.tokenizer, inputs)
    for i, axis in enumerate(AXES):
        weights = exported.model.mix[i].tolist()
        expected = dense[axis] + sum(weight * sparse[axis][:, view] for view, weight in enumerate(weights))
        np.testing.assert_allclose(joined[axis], expected, rtol=1e-5, atol=1e-5)
        assert np.abs(sparse[axis]).max() > 0


def test_int8_that_loses_too_much_gives_way_to_fp32_and_the_old_bundle_is_replaced_as_a_whole(
    tiny_run: Path, tiny_bundle: Path, exported: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two graphs are those of `tiny_bundle`, which torch takes long to write."""
    output = tmp_path / "models" / "tiny"
    output.mkdir(parents=True)
    (output / "stray.txt").write_text("of an older bundle", encoding="utf-8")
    for name in ("model.onnx", MANIFEST):
        (output / name).write_bytes(b"old")
    monkeypatch.setattr(gates, "MAX_INT8_DROP", -1.0)  # more than any drop
    monkeypatch.setattr(gates, "write_onnx", lambda _, file: shutil.copy(exported.fp32, file))
    monkeypatch.setattr(gates, "write_int8", lambda _, file, __: shutil.copy(tiny_bundle / "model.onnx", file))
    out = io.StringIO()
    assert export(tiny_run, exported.config, output, Console(file=out, width=200)) == output  # warnings are errors here
    assert "fp32 ships" in out.getvalue()
    bundle = Bundle(output)
    assert bundle.manifest.numeric_format == "fp32"
    assert {path.name for path in output.iterdir()} == {MANIFEST, *REQUIRED_FILES, MAPPED, INDEX, TRAINED_ON}
    assert [path.name for path in output.parent.iterdir()] == ["tiny"]
    document = json.loads((output / "reference.json").read_text(encoding="utf-8"))
    for report in document["reports"]:
        for axis in AXES:
            np.testing.assert_allclose(report["torch"][axis], report["shipped"][axis], atol=MAX_PARITY_DIFFERENCE)
    torch_now = joined_logits(exported.model, exported.tokenizer, exported.inputs)
    assert difference(Classifier(output).logits(exported.inputs), torch_now) <= MAX_PARITY_DIFFERENCE
    assert "fp32, 48 tokens" in (output / "README.md").read_text(encoding="utf-8")
