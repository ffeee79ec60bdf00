"""A finished run -> a bundle: calibration, the gates of ONNX fp32 and int8, model card, checksums."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from tokenizers import Tokenizer

from distriage import bundle as bundles
from distriage.classifier import softmax
from distriage.errors import ConfigError
from distriage.features import HASH_BUCKETS
from distriage.taxonomy import Taxonomy, default_taxonomy_text
from distriage.text import RECIPE_VERSION, ModelInput, prepare
from distriage_training import calibrate, metrics
from distriage_training.config import Config, EncoderConfig
from distriage_training.corpus import Record
from distriage_training.encoder import PACKAGE, PACKAGE_BASE, RUN_INFO, earlier_runs, load_tokenizer, weights_sha256
from distriage_training.examples import label_numbers, load_split_records
from distriage_training.graph import GateError, Logits, join, joined_logits, onnx_logits, torch_logits, write_int8, write_onnx
from distriage_training.index import known_issues, write_index
from distriage_training.model import TriageModel
from distriage_training.model_card import model_card
from distriage_training.train import load_run_info, load_trained

MAX_PARITY_DIFFERENCE = 1e-3  # fp32 ONNX against torch, in logits
MAX_INT8_DROP = 0.01  # macro-F1 on validation, any axis; else fp32 ships
MAX_INT8_DIFFERENCE = 1.5  # int8 against torch on the reference reports, in logits, a coarse guard; else fp32 ships

RUN_KEYS = ("config", "data_sha256", "records", "sparse_data_sha256", "sparse_records", "hardware", "training_seconds")


@dataclass(frozen=True, slots=True)
class ValidationSet:
    """Prepared validation reports and their labels [n, axes]."""

    inputs: list[ModelInput]
    labels: NDArray[np.int64]

    def rows(self, axis_number: int) -> NDArray[np.bool_]:
        """Reports that are labelled on an axis."""
        return np.asarray(self.labels[:, axis_number] >= 0)


def fit_calibration(model: TriageModel, dense: Logits, sparse: Logits, validation: ValidationSet) -> None:
    """Fit the weight of the sparse head per axis and put it into the model."""
    for i, axis in enumerate(model.axes):
        rows = validation.rows(i)
        model.mix[i] = torch.tensor(calibrate.fit_mix(dense[axis][rows], sparse[axis][rows], validation.labels[rows, i]))


def calibrations(logits: Logits, taxonomy: Taxonomy, validation: ValidationSet) -> dict[str, bundles.AxisCalibration]:
    """Temperature, floor and thresholds per axis from the logits of the file that ships."""
    result = {}
    for i, axis in enumerate(taxonomy.axes.values()):
        rows = validation.rows(i)
        scores, truth = logits[axis.id][rows], validation.labels[rows, i]
        temperature, floor = calibrate.fit_confidence(scores, truth)
        labels, families = calibrate.all_thresholds(softmax(scores, temperature, floor), truth, axis)
        result[axis.id] = bundles.AxisCalibration(labels=axis.label_ids, temperature=temperature, floor=floor, thresholds=labels, family_thresholds=families)
    return result


def export(run: Path, config: Config, output: Path, console: Console | None = None) -> Path:
    """Make a bundle of a finished run.

    Args:
        run: Folder of the run, with `model.safetensors` and `run.json`.
        output: The bundle's folder; replaced as a whole, only once everything has passed.

    Raises:
        GateError: ONNX fp32 differs from torch by more than `MAX_PARITY_DIFFERENCE`.
        BundleError: the new bundle would not load.
        ConfigError, CorpusError: the run or the data is missing.
    """
    console = console or Console(stderr=True)
    taxonomy = config.load_taxonomy()
    model = load_trained(run, config, taxonomy)
    info = load_run_info(run)
    if missing := [key for key in RUN_KEYS if key not in info]:
        raise ConfigError(f"{run / RUN_INFO}: lacks {', '.join(missing)}; expected a finished run")
    tokenizer = load_tokenizer(config.encoder, config.path.parent)
    tokenizer.enable_truncation(config.encoder.max_tokens)
    splits = load_split_records(config, taxonomy)
    # Verdicts of maintainers neither calibrate nor decide here: `distriage promote` holds a candidate against them.
    validation = _validation_set([record for record in splits["validation"] if record.origin != "feedback"], taxonomy)
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".export-") as scratch, console.status("calibrating") as status:
        folder = Path(scratch)
        dense, sparse = torch_logits(model, tokenizer, validation.inputs)
        fit_calibration(model, dense, sparse, validation)
        mixed = join(model, dense, sparse)
        status.update("writing ONNX")
        fp32, int8 = folder / "model.fp32.onnx", folder / "model.onnx"
        write_onnx(model, fp32)
        reference = _reference_reports(splits, taxonomy)
        reference_inputs = [prepare(title, body) for title, body in reference]
        parity = _parity(model, fp32, tokenizer, reference_inputs)
        status.update("quantizing")
        write_int8(fp32, int8)
        drops = int8_drops(mixed, onnx_logits(int8, list(model.axes), tokenizer, validation.inputs), validation)
        off = _difference(joined_logits(model, tokenizer, reference_inputs), onnx_logits(int8, list(model.axes), tokenizer, reference_inputs))
        numeric_format = "int8" if max(drops.values()) <= MAX_INT8_DROP and off <= MAX_INT8_DIFFERENCE else "fp32"
        if numeric_format == "fp32":
            fp32.replace(int8)
        else:
            fp32.unlink()
        console.print(
            f"parity fp32 against torch {parity:.1e} (gate {MAX_PARITY_DIFFERENCE:.0e}); "
            f"int8 macro-F1 drop on validation at most {max(drops.values()):+.4f}: {numeric_format} ships"
        )
        shipped = onnx_logits(int8, list(model.axes), tokenizer, validation.inputs)
        axes = calibrations(shipped, taxonomy, validation)
        tokenizer.no_truncation()
        tokenizer.save(str(folder / "tokenizer.json"))
        taxonomy_text = default_taxonomy_text() if config.taxonomy is None else config.resolve(config.taxonomy).read_text(encoding="utf-8")
        (folder / "taxonomy.toml").write_text(taxonomy_text, encoding="utf-8")
        tokenizer.enable_truncation(config.encoder.max_tokens)
        _write_reference(folder, reference, model, int8, tokenizer, reference_inputs)
        validation_scores = {
            axis.id: {
                "n": int(validation.rows(i).sum()),
                "accuracy": metrics.accuracy(validation.labels[validation.rows(i), i], shipped[axis.id][validation.rows(i)].argmax(1)),
                "macro_f1": metrics.macro_f1(validation.labels[validation.rows(i), i], shipped[axis.id][validation.rows(i)].argmax(1)),
            }
            for i, axis in enumerate(taxonomy.axes.values())
        }
        summary = {
            "validation": validation_scores,
            "parity_fp32_max_logit_difference": parity,
            "int8_macro_f1_drop": drops,
            "sparse_weight": dict(zip(model.axes, model.mix.tolist(), strict=True)),
        }
        (folder / "metrics.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
        if issues := known_issues(splits["train"], taxonomy):
            write_index(issues, taxonomy, folder / bundles.INDEX)
        runs = [info, *earlier_runs(config.encoder, config.path.parent)]
        if all("trained_on" in run for run in runs):  # not in runs that were made before it was noted
            digests = sorted({digest for run in runs for digest in run["trained_on"]})
            (folder / bundles.TRAINED_ON).write_text("".join(f"{digest}\n" for digest in digests), encoding="ascii")
        manifest = _manifest(config, taxonomy, axes, numeric_format, info)
        (folder / "README.md").write_text(model_card(manifest, summary, None), encoding="utf-8")
        seal(folder, manifest)
        bundles.Bundle(folder)  # what would not load must not replace what does
        _replace_folder(folder, output)
    return output


def seal(folder: Path, manifest: bundles.Manifest) -> None:
    """Write `bundle.json` with the sizes and checksums of the files as they are now."""
    names = [*bundles.REQUIRED_FILES, *(name for name in (bundles.INDEX, bundles.TRAINED_ON) if (folder / name).is_file())]
    files = {name: bundles.FileRecord(bytes=(folder / name).stat().st_size, sha256=bundles.sha256_of(folder / name)) for name in names}
    sealed = manifest.model_copy(update={"files": files})
    (folder / bundles.MANIFEST).write_text(sealed.model_dump_json(indent=1) + "\n", encoding="utf-8")


def int8_drops(fp32: Logits, int8: Logits, validation: ValidationSet) -> dict[str, float]:
    """Axis -> macro-F1 on validation lost by quantization; negative: gained."""
    drops = {}
    for i, axis in enumerate(fp32):
        rows = validation.rows(i)
        truth = validation.labels[rows, i]
        drops[axis] = metrics.macro_f1(truth, fp32[axis][rows].argmax(1)) - metrics.macro_f1(truth, int8[axis][rows].argmax(1))
    return drops


def _validation_set(records: Sequence[Record], taxonomy: Taxonomy) -> ValidationSet:
    return ValidationSet([prepare(record.title, record.body) for record in records], np.array([label_numbers(record, taxonomy) for record in records]))


def _reference_reports(splits: Mapping[str, Sequence[Record]], taxonomy: Taxonomy) -> list[tuple[str, str]]:
    """Golden inputs: one restated training report per label of the first and of the stage axis (raw texts are not ours to ship), and hard cases."""
    chosen: dict[tuple[str, str], Record] = {}
    for record in splits["train"]:
        for axis in (next(iter(taxonomy.axes)), "stage"):
            if record.origin == "restated" and axis in record.labels:
                chosen.setdefault((axis, record.labels[axis]), record)
    hard = [("", "hang"), ("训练卡住 NCCL 超时", "多机训练时 all_reduce 卡住，两个节点，每个 8 张 A100"), ("x" * 500, "RuntimeError: CUDA error\n" * 300)]
    return [*dict.fromkeys((record.title, record.body) for record in chosen.values()), *hard]


def _parity(model: TriageModel, fp32: Path, tokenizer: Tokenizer, inputs: Sequence[ModelInput]) -> float:
    expected = joined_logits(model, tokenizer, inputs)
    got = onnx_logits(fp32, list(model.axes), tokenizer, inputs)
    difference = _difference(expected, got)
    if not difference <= MAX_PARITY_DIFFERENCE:
        raise GateError(f"{fp32.name}: logits differ from torch by {difference:.2e}; at most {MAX_PARITY_DIFFERENCE:.0e} is allowed")
    return difference


def _difference(one: Logits, other: Logits) -> float:
    return float(np.max([np.abs(one[axis] - other[axis]).max() for axis in one]))


def _write_reference(
    folder: Path, reports: Sequence[tuple[str, str]], model: TriageModel, shipped: Path, tokenizer: Tokenizer, inputs: Sequence[ModelInput]
) -> None:
    expected = joined_logits(model, tokenizer, inputs)
    got = onnx_logits(shipped, list(model.axes), tokenizer, inputs)
    rows = [
        {
            "title": title,
            "body": body,
            "torch": {axis: [round(float(v), 5) for v in expected[axis][i]] for axis in model.axes},
            "shipped": {axis: [round(float(v), 5) for v in got[axis][i]] for axis in model.axes},
        }
        for i, (title, body) in enumerate(reports)
    ]
    document = {"tolerance": {"fp32_against_torch": MAX_PARITY_DIFFERENCE, "int8_against_torch": MAX_INT8_DIFFERENCE}, "reports": rows}
    (folder / "reference.json").write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")


def _manifest(
    config: Config, taxonomy: Taxonomy, axes: Mapping[str, bundles.AxisCalibration], numeric_format: str, info: Mapping[str, Any]
) -> bundles.Manifest:
    earlier = earlier_runs(config.encoder, config.path.parent)
    base = EncoderConfig.model_validate(earlier[-1]["config"]["encoder"]) if earlier else config.encoder
    return bundles.Manifest(
        format=bundles.FORMAT,
        name=config.name,
        taxonomy=bundles.TaxonomyRecord(name=taxonomy.name, version=taxonomy.version),
        recipe_version=RECIPE_VERSION,
        hash_buckets=HASH_BUCKETS,
        max_tokens=config.encoder.max_tokens,
        numeric_format="int8" if numeric_format == "int8" else "fp32",
        axes=axes,
        files={},
        provenance=bundles.Provenance(
            created=datetime.now(UTC).strftime("%Y-%m-%d"),
            commit=_commit(),
            config=info["config"],
            data_sha256=info["data_sha256"],
            records=info["records"],
            sparse_data_sha256=info["sparse_data_sha256"],
            sparse_records=info["sparse_records"],
            base_model=PACKAGE_BASE if base.source == PACKAGE else base.source,
            base_model_sha256=weights_sha256(base, config.path.parent),
            base_model_license=base.license,
            seed=config.seed,
            hardware=info["hardware"],
            training_seconds=round(info["training_seconds"] + sum(run["training_seconds"] for run in earlier), 1),
            versions={name: version(name) for name in ("torch", "transformers", "tokenizers", "scikit-learn", "onnxruntime", "onnx")},
        ),
    )


def _commit() -> str:
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()


def _replace_folder(folder: Path, output: Path) -> None:
    target = output.with_name(f".{output.name}.new")
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder, target)
    target.chmod(0o755)  # the scratch folder was private
    old = output.with_name(f".{output.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if output.exists():
        output.replace(old)
    target.replace(output)
    shutil.rmtree(old, ignore_errors=True)
