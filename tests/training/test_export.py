from __future__ import annotations

import io
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from rich.console import Console
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from distriage.bundle import INDEX, MANIFEST, REQUIRED_FILES, TRAINED_ON, Bundle
from distriage.classifier import Classifier
from distriage.errors import BundleError, ConfigError
from distriage.recipe.text import ModelInput, prepare
from distriage.taxonomy import default_taxonomy, default_taxonomy_text
from distriage_training.config import Config, load_config
from distriage_training.corpus.load import in_domain, load_splits
from distriage_training.corpus.records import Record, label_numbers
from distriage_training.corpus.texts import read_texts
from distriage_training.fit.encoder import load_tokenizer
from distriage_training.fit.model import TriageModel
from distriage_training.fit.run import RUN_INFO, load_trained
from distriage_training.measure import scoring
from distriage_training.release import gates
from distriage_training.release.calibrate import TARGETS, confidence_loss
from distriage_training.release.export import calibrate_bundle, calibrations, export, fit_calibration
from distriage_training.release.gates import (
    MAX_INT8_DIFFERENCE,
    MAX_PARITY_DIFFERENCE,
    ValidationSet,
    int8_drops,
    parity,
)
from distriage_training.release.golden import golden_reports
from distriage_training.release.graph import (
    GateError,
    joined_logits,
    onnx_logits,
    sample_inputs,
    torch_logits,
    write_int8,
    write_onnx,
)
from distriage_training.release.seal import seal

from support.toys import CORPUS, REPOSITORY, write_config

TAXONOMY = default_taxonomy()
AXES = list(TAXONOMY.axes)
CONFIG = REPOSITORY / "configs" / "tiny.toml"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@dataclass(frozen=True)
class Exported:
    """The parts of an export of the tiny run, made anew."""

    config: Config
    model: TriageModel
    tokenizer: Tokenizer
    fp32: Path
    validation: ValidationSet
    reference: dict[str, object]
    inputs: list[ModelInput]


@pytest.fixture(scope="module")
def exported(tiny_run: Path, tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    config = load_config(CONFIG)
    model = load_trained(tiny_run, config, TAXONOMY)
    weights = json.loads((tiny_bundle / "metrics.json").read_text(encoding="utf-8"))["sparse_weight"]
    for i, axis in enumerate(AXES):
        model.mix[i] = torch.tensor(weights[axis])
    tokenizer = load_tokenizer(config.encoder)
    tokenizer.enable_truncation(config.encoder.max_tokens)
    fp32 = tmp_path_factory.mktemp("onnx") / "fp32.onnx"
    write_onnx(model, fp32)
    records = load_splits(config, TAXONOMY).validation
    validation = ValidationSet(
        [prepare(r.title, r.body) for r in records],
        np.array([label_numbers(r, TAXONOMY) for r in records]),
        np.array([r.origin for r in records]),
    )
    reference = json.loads((tiny_bundle / "reference.json").read_text(encoding="utf-8"))
    return Exported(
        config,
        model,
        tokenizer,
        fp32,
        validation,
        reference,
        [prepare(r["title"], r["body"]) for r in reference["reports"]],
    )


def recorded(exported: Exported, key: str) -> dict[str, NDArray[np.float32]]:
    return {
        axis: np.array([report[key][axis] for report in exported.reference["reports"]], np.float32) for axis in AXES
    }  # type: ignore[attr-defined]


def difference(one: dict[str, NDArray[np.float32]], other: dict[str, NDArray[np.float32]]) -> float:
    assert {axis: values.shape for axis, values in one.items()} == {
        axis: values.shape for axis, values in other.items()
    }
    return max(float(np.abs(one[axis] - other[axis]).max()) for axis in one)


# ---------------------------------------------------------------- the bundle of the tiny run


def test_the_bundle_is_whole(tiny_bundle: Path) -> None:
    bundle = Bundle(tiny_bundle)
    assert {path.name for path in tiny_bundle.iterdir()} == {MANIFEST, *REQUIRED_FILES, INDEX, TRAINED_ON}
    assert oct(tiny_bundle.stat().st_mode)[-3:] == "755"
    manifest = bundle.manifest
    assert (manifest.name, manifest.max_tokens) == ("tiny", 48)
    assert (tiny_bundle / "taxonomy.toml").read_text(encoding="utf-8") == default_taxonomy_text()
    for axis in TAXONOMY.axes.values():
        calibration = manifest.axes[axis.id]
        assert calibration.labels == axis.label_ids
        assert set(calibration.thresholds) == set(TARGETS)
        assert all(set(row) == set(axis.label_ids) for row in calibration.thresholds.values())
        assert all(set(row) == set(axis.families) for row in calibration.family_thresholds.values())
        assert set(calibration.family_thresholds) == (set(TARGETS) if axis.families else set())
    assert Tokenizer.from_file(str(tiny_bundle / "tokenizer.json")).truncation is None
    assert not [path.name for path in tiny_bundle.parent.iterdir() if path.name.startswith(".")]


def test_provenance_is_that_of_the_run(tiny_run: Path, tiny_bundle: Path) -> None:
    provenance = Bundle(tiny_bundle).manifest.provenance
    info = json.loads((tiny_run / RUN_INFO).read_text(encoding="utf-8"))
    for key in ("trained_on", "labels", "validation_accuracy"):
        info.pop(key)  # not of the manifest
    assert {key: getattr(provenance, key) for key in info} == info
    assert provenance.base_model == "sentence-transformers/all-MiniLM-L6-v2"
    assert re.fullmatch(r"[0-9a-f]{64}", provenance.base_model_sha256)
    assert re.fullmatch(r"[0-9a-f]{40}|unknown", provenance.commit)
    assert {"torch", "onnxruntime", "scikit-learn"} <= set(provenance.versions)


def test_the_sparse_weights_are_those_of_a_new_fit(exported: Exported) -> None:
    dense, sparse = torch_logits(exported.model, exported.tokenizer, exported.validation.inputs)
    weights = exported.model.mix.clone()
    exported.model.mix.zero_()
    fit_calibration(exported.model, dense, sparse, exported.validation)
    np.testing.assert_allclose(exported.model.mix.numpy(), weights.numpy(), rtol=1e-3)
    assert exported.model.mix.max() > 0


def test_the_recorded_validation_scores_are_those_of_the_shipped_model(tiny_bundle: Path, exported: Exported) -> None:
    summary = json.loads((tiny_bundle / "metrics.json").read_text(encoding="utf-8"))
    logits = Classifier(tiny_bundle).logits(exported.validation.inputs)
    assert len(exported.validation.inputs) > 300
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


# ---------------------------------------------------------------- golden reports and gates


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
    train = load_splits(exported.config, TAXONOMY).train
    ours, hard = reports[:-3], reports[-3:]
    assert set(ours) <= restated
    labels = {(r.title, r.body): r.labels for r in train}
    for axis in ("kind", "stage"):
        assert {labels[report].get(axis) for report in ours} - {None} == {
            r.labels[axis] for r in train if r.origin == "restated" and axis in r.labels
        }
    assert ("", "hang") in hard
    assert any("卡住" in title for title, _ in hard)
    assert any(len(body) > 5000 for _, body in hard)


def test_raw_texts_are_never_reference_reports() -> None:
    def record(number: int, origin: str, stage: str) -> Record:
        return Record(
            f"a/b#{number}", origin, f"text {number}", {"kind": "bug", "stage": stage}, "train", "toys", origin, ""
        )

    train = [
        record(1, "raw", "inference"),
        record(2, "generated", "inference"),
        record(3, "restated", "build-import"),
        record(4, "restated", "inference"),
    ]
    reports = golden_reports(train, TAXONOMY)
    assert reports[:-3] == [("restated", "text 3"), ("restated", "text 4")]


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


def test_a_model_that_does_no_longer_what_it_did_when_trained_is_not_exported(tiny_run: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(tiny_run, tmp_path / "run"))
    weights = load_file(run / "model.safetensors")
    weights["heads.stage.weight"] = -weights["heads.stage.weight"]
    weights["heads.stage.bias"] = -weights["heads.stage.bias"]
    save_file(weights, run / "model.safetensors")
    output = tmp_path / "models" / "tiny"
    with pytest.raises(
        GateError, match=r"axis stage: accuracy on validation is 0\.\d+; when training ended it was 0\."
    ):
        export(run, load_config(CONFIG), output, Console(file=io.StringIO()))
    assert not output.exists()


def test_the_graph_takes_any_length(exported: Exported) -> None:
    inputs = [prepare("", "hang"), prepare("NCCL error", "watchdog timeout " * 400)]
    alone = [joined_logits(exported.model, exported.tokenizer, [one]) for one in inputs]
    together = onnx_logits(exported.fp32, AXES, exported.tokenizer, [*inputs * 9])
    for axis in AXES:
        assert together[axis].shape == (18, len(TAXONOMY.axes[axis].label_ids))
        for row in range(18):
            np.testing.assert_allclose(together[axis][row], alone[row % 2][axis][0], atol=MAX_PARITY_DIFFERENCE)


def test_int8_is_smaller_and_close(exported: Exported, tmp_path: Path) -> None:
    train = load_splits(exported.config, TAXONOMY).train
    write_int8(exported.fp32, tmp_path / "int8.onnx", sample_inputs(exported.tokenizer, train))
    assert (tmp_path / "int8.onnx").stat().st_size < 0.6 * exported.fp32.stat().st_size
    fp32, int8 = (
        onnx_logits(file, AXES, exported.tokenizer, exported.inputs) for file in (exported.fp32, tmp_path / "int8.onnx")
    )
    assert 0 < difference(fp32, int8) <= MAX_INT8_DIFFERENCE


def test_int8_drops_by_hand() -> None:
    labels = np.array([[0, -100], [0, 1], [1, 1], [1, 0]])
    right = np.array([[2.0, 1.0], [2.0, 1.0], [1.0, 2.0], [1.0, 2.0]], np.float32)
    half = np.array([[2.0, 1.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], np.float32)  # F1 2/3 and 4/5
    drops = int8_drops(
        {"kind": right, "fix": half}, {"kind": half, "fix": half}, ValidationSet([], labels, np.array([]))
    )
    assert drops == {"kind": pytest.approx(1 - (2 / 3 + 4 / 5) / 2), "fix": 0.0}
    assert int8_drops({"kind": half}, {"kind": right}, ValidationSet([], labels, np.array([])))["kind"] < 0


def test_outliers_are_smoothed_and_the_product_stays_what_it_was(exported: Exported, tmp_path: Path) -> None:
    """One channel of an input is made 40 times as large as the others; one scale for all of them would blur them."""
    model = onnx.load(exported.fp32)
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    norm = next(name for name in tensors if name.endswith("layer.0.attention.output.LayerNorm.weight"))
    values = numpy_helper.to_array(tensors[norm]).copy()
    values[5] *= 40
    tensors[norm].CopyFrom(numpy_helper.from_array(values, norm))
    onnx.save(model, tmp_path / "outlier.onnx")
    train = load_splits(exported.config, TAXONOMY).train
    write_int8(tmp_path / "outlier.onnx", tmp_path / "int8.onnx", sample_inputs(exported.tokenizer, train))
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


# ---------------------------------------------------------------- replacing a bundle


def test_int8_that_loses_too_much_gives_way_to_fp32_and_the_old_bundle_is_replaced_as_a_whole(
    tiny_run: Path, exported: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "models" / "tiny"
    output.mkdir(parents=True)
    (output / "stray.txt").write_text("of an older bundle", encoding="utf-8")
    (output / "model.onnx").write_bytes(b"old")
    monkeypatch.setattr(gates, "MAX_INT8_DROP", -1.0)  # more than any drop
    out = io.StringIO()
    assert export(tiny_run, exported.config, output, Console(file=out, width=200)) == output  # warnings are errors here
    assert "fp32 ships" in out.getvalue()
    bundle = Bundle(output)
    assert bundle.manifest.numeric_format == "fp32"
    assert {path.name for path in output.iterdir()} == {MANIFEST, *REQUIRED_FILES, INDEX, TRAINED_ON}
    assert [path.name for path in output.parent.iterdir()] == ["tiny"]
    document = json.loads((output / "reference.json").read_text(encoding="utf-8"))
    for report in document["reports"]:
        for axis in AXES:
            np.testing.assert_allclose(report["torch"][axis], report["shipped"][axis], atol=MAX_PARITY_DIFFERENCE)
    torch_now = joined_logits(exported.model, exported.tokenizer, exported.inputs)
    assert difference(Classifier(output).logits(exported.inputs), torch_now) <= MAX_PARITY_DIFFERENCE
    assert "fp32, 48 tokens" in (output / "README.md").read_text(encoding="utf-8")


def test_a_bundle_that_would_not_load_leaves_the_old_one(tiny_run: Path, tiny_bundle: Path, tmp_path: Path) -> None:
    other = default_taxonomy_text().replace('version = "1.0.0"', 'version = "9.9.9"')
    (tmp_path / "taxonomy.toml").write_text(other, encoding="utf-8")
    config = load_config(write_config(tmp_path / "run.toml", top={"taxonomy": "taxonomy.toml"}))
    output = tmp_path / "models" / "tiny"
    shutil.copytree(tiny_bundle, output)
    before = contents(output)
    with pytest.raises(BundleError, match=r"made for taxonomy version 9\.9\.9"):
        export(tiny_run, config, output, Console(file=io.StringIO()))
    assert contents(output) == before
    assert [path.name for path in output.parent.iterdir()] == ["tiny"]


def test_a_run_that_is_not_finished(tiny_run: Path, tmp_path: Path) -> None:
    config = load_config(CONFIG)
    output = tmp_path / "bundle"
    with pytest.raises(ConfigError, match=r"none/model\.safetensors: missing; expected a finished run"):
        export(tmp_path / "none", config, output)
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(tiny_run / "model.safetensors", run)
    with pytest.raises(ConfigError, match=r"run/run\.json: missing or damaged"):
        export(run, config, output)
    info = json.loads((tiny_run / RUN_INFO).read_text(encoding="utf-8"))
    del info["hardware"], info["sparse_records"]
    (run / RUN_INFO).write_text(json.dumps(info), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"run/run\.json: lacks sparse_records, hardware; expected a finished run"):
        export(run, config, output)
    assert not output.exists()


def test_sealing_records_the_files_as_they_are(tiny_bundle: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_bundle, tmp_path / "copy"))
    manifest = Bundle(folder).manifest
    with (folder / "README.md").open("a", encoding="utf-8") as stream:
        stream.write("changed\n")
    with pytest.raises(BundleError, match=r"README\.md"):
        Bundle(folder)
    seal(folder, manifest)
    sealed = Bundle(folder).manifest
    assert sealed.files["README.md"].bytes == manifest.files["README.md"].bytes + len("changed\n")
    assert sealed.model_copy(update={"files": {}}) == manifest.model_copy(update={"files": {}})


def test_calibrating_a_bundle_anew_gives_what_its_export_gave(tiny_bundle: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_bundle, tmp_path / "copy"))
    exported = Bundle(folder).manifest
    axes = {name: axis.model_copy(update={"temperature": 9.0}) for name, axis in exported.axes.items()}
    seal(folder, exported.model_copy(update={"axes": axes}))
    config = load_config(CONFIG)
    splits = load_splits(config, TAXONOMY)
    assert calibrate_bundle(Bundle(folder), config, splits) == len(splits.validation)
    assert Bundle(folder).manifest.axes == exported.axes


def test_reports_of_groups_that_the_model_is_not_for_do_not_calibrate() -> None:
    config = load_config(CONFIG)
    bounded = config.model_copy(update={"domain": config.domain.model_copy(update={"groups": ["ray"]})})
    records = [Record("o/r#1", "", "", {}, "validation", "", "raw", group) for group in ("ray", "other")]
    assert in_domain(records, bounded) == records[:1] and in_domain(records, config) == records
