"""A finished run -> a bundle: calibrate, write ONNX through its gates, describe, seal, replace."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import cast

import torch
from rich.console import Console

from distriage.base.errors import ConfigError
from distriage.base.texts import decoded
from distriage.classifier import Classifier, softmax
from distriage.model import bundle as bundles
from distriage.model.shipped import MANIFEST
from distriage.model.taxonomy import Taxonomy, default_taxonomy_text
from distriage.recipe.features import HASH_BUCKETS
from distriage.recipe.text import RECIPE_VERSION, prepare
from distriage_training.checkout import commit_of
from distriage_training.config import Config
from distriage_training.corpus.foreign import missing_foreign
from distriage_training.corpus.load import Splits, known_issues, load_splits, validation_in_domain
from distriage_training.fit.encoder import load_tokenizer
from distriage_training.fit.model import TriageModel
from distriage_training.fit.run import RunInfo, load_run_info, load_trained
from distriage_training.measure.evaluate import scores_of
from distriage_training.measure.evaluation import BundleFigures
from distriage_training.release import calibrate
from distriage_training.release.domain import write_gate
from distriage_training.release.gates import Passed, Reports, ValidationSet, check_not_collapsed, write_model
from distriage_training.release.golden import golden_reports, write_golden
from distriage_training.release.graph import Logits, joined_logits, onnx_logits, torch_logits, write_mapped
from distriage_training.release.index import write_index
from distriage_training.release.model_card import model_card
from distriage_training.release.seal import put_in_place, seal

MODEL = "model.onnx"
BALANCED = "0.80"  # the target of the default mode; below it a verdict names the three likeliest labels


def export(run: Path, config: Config, output: Path, console: Console | None = None) -> Path:
    """Make a bundle of a finished run.

    Args:
        run: Folder of the run, with `model.safetensors` and `run.json`.
        output: The bundle's folder; replaced as a whole, after everything has passed.

    Raises:
        GateError: ONNX fp32 differs from torch, or the model's validation scores fell since training.
        BundleError: the new bundle does not load.
        ConfigError, CorpusError: the run or the data is missing, the run was trained with other labels, or `output` is
            not a bundle.
    """
    console = console or Console(stderr=True)
    if output.exists() and not (output / MANIFEST).is_file() and not _is_empty_folder(output):
        raise ConfigError(f"{output}: holds something other than a bundle; expected a bundle to replace, or a new name")
    if missing := missing_foreign(config):
        raise missing
    taxonomy = config.load_taxonomy()
    model = load_trained(run, config, taxonomy)
    info = load_run_info(run)
    tokenizer = load_tokenizer(config.encoder)
    tokenizer.enable_truncation(config.encoder.max_tokens)
    splits = load_splits(config, taxonomy, console)
    validation = ValidationSet.of(validation_in_domain(splits, config, taxonomy), taxonomy)
    golden = golden_reports(splits.train, taxonomy)
    inputs = [prepare(title, body) for title, body in golden]
    reports = Reports(validation, inputs, splits.train)
    place = output.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=place.parent, prefix=".export-") as scratch,
        console.status("calibrating") as status,
    ):
        folder = Path(scratch) / place.name
        folder.mkdir()
        dense, sparse = torch_logits(model, tokenizer, validation.inputs)
        check_not_collapsed(dense, validation, info.validation_accuracy)
        two = [axis for axis, labels in model.axes.items() if labels == 2]
        fit_calibration(model, dense, sparse, validation, model.axes.keys() - two)
        if two:  # questions about any software: of the domain's reports too few are as filed to fit a bias to
            whole = validation
            if len(splits.validation) > len(validation.inputs):
                whole = ValidationSet.of(splits.validation, taxonomy)
                dense, sparse = torch_logits(model, tokenizer, whole.inputs)
            fit_calibration(model, dense, sparse, whole, two)
        status.update("writing ONNX")
        passed = write_model(
            model, joined_logits(model, tokenizer, validation.inputs), folder / MODEL, tokenizer, reports
        )
        console.print(str(passed))
        write_mapped(folder / MODEL)
        shipped = onnx_logits(folder / MODEL, list(model.axes), tokenizer, validation.inputs)
        expected = joined_logits(model, tokenizer, inputs)
        write_golden(folder, golden, expected, onnx_logits(folder / MODEL, list(model.axes), tokenizer, inputs))
        tokenizer.no_truncation()
        tokenizer.save(str(folder / "tokenizer.json"))
        if issues := known_issues(splits.train, taxonomy):
            write_index(issues, taxonomy, folder / bundles.INDEX)
            if config.data.format == "csv":  # only its owner knows whether they are public
                console.print(f"note: {bundles.INDEX} holds the addresses of {len(issues):,} issues, in plain text")
        manifest = _manifest(config, taxonomy, calibrations(shipped, taxonomy, validation), passed, info)
        _describe(folder, config, manifest, info, _figures(shipped, model, passed, validation))
        seal(folder, manifest)
        if config.domain.reports:
            status.update("fitting the domain gate")
            write_gate(Classifier(folder), config, splits)
            seal(folder, manifest)
        bundles.Bundle(folder)  # a bundle that does not load must not replace a good one
        put_in_place(folder, place)
    return output


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and next(path.iterdir(), None) is None


def calibrate_bundle(bundle: bundles.Bundle, config: Config, splits: Splits) -> int:
    """Fit a bundle's temperatures and thresholds anew on today's validation reports, and seal it.

    Leaves its weights and the sparse head's share unchanged.

    Returns:
        The number of reports.

    Raises:
        ConfigError: an axis has no validation report.
    """
    validation = ValidationSet.of(validation_in_domain(splits, config, bundle.taxonomy), bundle.taxonomy)
    fitted = calibrations(Classifier(bundle.path, threads=1).logits(validation.inputs), bundle.taxonomy, validation)
    seal(bundle.path, bundle.manifest.model_copy(update={"axes": fitted}))
    return len(validation.inputs)


def fit_calibration(
    model: TriageModel, dense: Logits, sparse: Logits, validation: ValidationSet, axes: Collection[str]
) -> None:
    """Fit the weight of the sparse head on some axes, and of two labels the bias, and put them into the model."""
    for i, axis in enumerate(model.axes):
        if axis in axes:
            rows = validation.rows(i)
            mix, bias = calibrate.fit_mix(
                dense[axis][rows],
                sparse[axis][rows],
                validation.labels[rows, i],
                calibrate.even_weights(validation.origins[rows]),
            )
            model.mix[i] = torch.tensor(mix)
            with torch.no_grad():
                cast(torch.nn.Linear, model.heads[axis]).bias[-1] += bias


def calibrations(logits: Logits, taxonomy: Taxonomy, validation: ValidationSet) -> dict[str, bundles.AxisCalibration]:
    """Temperature, floor and thresholds per axis from the logits of the file that ships."""
    result = {}
    for i, axis in enumerate(taxonomy.axes.values()):
        rows = validation.rows(i)
        scores, truth = logits[axis.id][rows], validation.labels[rows, i]
        weights = calibrate.even_weights(validation.origins[rows])
        temperature, floor = calibrate.fit_confidence(scores, truth, weights)
        probabilities = softmax(scores, temperature, floor)
        labels, families = calibrate.all_thresholds(probabilities, truth, axis, weights)
        among = calibrate.among_three(probabilities, truth, weights, labels[BALANCED])
        result[axis.id] = bundles.AxisCalibration(
            labels=axis.label_ids,
            temperature=temperature,
            floor=floor,
            thresholds=labels,
            family_thresholds=families,
            among_three=None if among is None else round(among, 4),
        )
    return result


def _figures(shipped: Logits, model: TriageModel, passed: Passed, validation: ValidationSet) -> BundleFigures:
    scores = {}
    for i, axis in enumerate(model.axes):
        rows = validation.rows(i)
        truth, predicted = validation.labels[rows, i], shipped[axis][rows].argmax(1)
        scores[axis] = scores_of(truth, predicted)
    return BundleFigures(
        validation=scores,
        parity_fp32_max_logit_difference=passed.parity,
        int8_macro_f1_drop=passed.drops,
        sparse_weight={axis: tuple(weights) for axis, weights in zip(model.axes, model.mix.tolist(), strict=True)},
    )


def _describe(folder: Path, config: Config, manifest: bundles.Manifest, info: RunInfo, figures: BundleFigures) -> None:
    """Write taxonomy, figures, training data and model card; `write_gate` adds its line to the card."""
    taxonomy = default_taxonomy_text() if config.taxonomy is None else decoded(config.taxonomy.read_bytes())
    (folder / "taxonomy.toml").write_text(taxonomy, encoding="utf-8")
    document = figures.model_dump_json(indent=1, exclude_none=True)
    (folder / "metrics.json").write_text(document + "\n", encoding="utf-8")
    digests = "".join(f"{digest}\n" for digest in info.trained_on)
    (folder / bundles.TRAINED_ON).write_text(digests, encoding="ascii")
    (folder / "README.md").write_text(model_card(manifest, figures, gated=False), encoding="utf-8")


def _manifest(
    config: Config, taxonomy: Taxonomy, axes: Mapping[str, bundles.AxisCalibration], passed: Passed, info: RunInfo
) -> bundles.Manifest:
    packages = ("torch", "transformers", "tokenizers", "scikit-learn", "onnxruntime", "onnx")
    return bundles.Manifest(
        format=bundles.FORMAT,
        name=config.name,
        taxonomy=bundles.TaxonomyRecord(name=taxonomy.name, version=taxonomy.version),
        recipe_version=RECIPE_VERSION,
        hash_buckets=HASH_BUCKETS,
        max_tokens=config.encoder.max_tokens,
        numeric_format=passed.numeric_format,
        axes=axes,
        files={},
        provenance=bundles.Provenance(
            **info.model_dump(include={one.name for one in fields(bundles.Provenance)}),
            created=datetime.now(UTC).strftime("%Y-%m-%d"),
            commit=commit_of(Path(__file__).parent),
            seed=config.seed,
            versions={name: version(name) for name in packages},
        ),
    )
