"""The bundle that an export leaves: whole, with its provenance, or not at all."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn, cast

import numpy as np
import pytest
from rich.console import Console
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from distriage.base.errors import BundleError, ConfigError
from distriage.model.bundle import INDEX, REQUIRED_FILES, TRAINED_ON, Bundle
from distriage.model.shipped import MANIFEST, MAPPED
from distriage.model.taxonomy import Taxonomy, default_taxonomy_text
from distriage_training.config import load_config
from distriage_training.corpus.load import in_domain, load_splits, validation_in_domain
from distriage_training.corpus.records import Record
from distriage_training.fit.run import RUN_INFO
from distriage_training.release import export as exporting
from distriage_training.release.calibrate import TARGETS
from distriage_training.release.export import calibrate_bundle, export
from distriage_training.release.gates import Passed, ValidationSet, int8_drops
from distriage_training.release.golden import golden_reports
from distriage_training.release.graph import GateError, Logits
from distriage_training.release.seal import seal

from support.exports import CONFIG, TAXONOMY
from support.toys import write_config


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_bundle_is_whole(tiny_bundle: Path) -> None:
    bundle = Bundle(tiny_bundle)
    assert {path.name for path in tiny_bundle.iterdir()} == {MANIFEST, *REQUIRED_FILES, MAPPED, INDEX, TRAINED_ON}
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
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?|unknown", provenance.commit)
    assert {"torch", "onnxruntime", "scikit-learn"} <= set(provenance.versions)


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


def test_int8_drops_by_hand() -> None:
    labels = np.array([[0, -100], [0, 1], [1, 1], [1, 0]])
    right = np.array([[2.0, 1.0], [2.0, 1.0], [1.0, 2.0], [1.0, 2.0]], np.float32)
    half = np.array([[2.0, 1.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], np.float32)  # F1 2/3 and 4/5
    drops = int8_drops(
        {"kind": right, "fix": half}, {"kind": half, "fix": half}, ValidationSet([], labels, np.array([]))
    )
    assert drops == {"kind": pytest.approx(1 - (2 / 3 + 4 / 5) / 2), "fix": 0.0}
    assert int8_drops({"kind": half}, {"kind": right}, ValidationSet([], labels, np.array([])))["kind"] < 0


def test_a_bundle_that_would_not_load_leaves_the_old_one(
    tiny_run: Path, tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph is that of `tiny_bundle`, which torch takes long to write; all else is exported and sealed."""

    def write_model(_: object, __: object, file: Path, *___: object) -> Passed:
        shutil.copy(tiny_bundle / "model.onnx", file)
        return Passed("int8", 0.0, dict.fromkeys(TAXONOMY.axes, 0.0))

    monkeypatch.setattr("distriage_training.release.export.write_model", write_model)
    other = re.sub(r"(?m)^version = .*", 'version = "9.9.9"', default_taxonomy_text())
    (tmp_path / "taxonomy.toml").write_text(other, encoding="utf-16")
    config = load_config(write_config(tmp_path / "run.toml", top={"taxonomy": "taxonomy.toml"}))
    output = tmp_path / "models" / "tiny"
    shutil.copytree(tiny_bundle, output)
    before = contents(output)
    with pytest.raises(BundleError, match=r"made for taxonomy version 9\.9\.9"):
        export(tiny_run, config, output, Console(file=io.StringIO()))
    assert contents(output) == before
    assert [path.name for path in output.parent.iterdir()] == ["tiny"]


def test_what_is_no_bundle_is_not_replaced(tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "models" / "other").mkdir(parents=True)
    (tmp_path / "notes.txt").touch()
    for output in (tmp_path / "models", tmp_path / "notes.txt"):
        with pytest.raises(ConfigError, match=f"{output}: holds something other than a bundle; expected a bundle to"):
            export(tiny_run, load_config(CONFIG), output, Console(file=io.StringIO()))
    assert (tmp_path / "models" / "other").is_dir() and (tmp_path / "notes.txt").is_file()


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


@pytest.mark.parametrize("how", ["export", "calibrate"])
def test_a_bundle_is_calibrated_with_reports_of_its_groups_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    config = load_config(CONFIG)
    splits = load_splits(config, TAXONOMY)
    groups = [name for name, _ in Counter(record.group for record in splits.validation).most_common()][:-1]
    bounded = config.model_copy(update={"domain": config.domain.model_copy(update={"groups": groups})})

    def seen(records: Sequence[Record], _: Taxonomy) -> NoReturn:
        raise LookupError([record.id for record in records])

    monkeypatch.setattr(ValidationSet, "of", seen)
    for name in ("load_trained", "load_run_info"):
        monkeypatch.setattr(exporting, name, lambda *_: None)
    with pytest.raises(LookupError) as found:
        if how == "export":
            export(tmp_path / "run", bounded, tmp_path / "bundle")
        else:
            calibrate_bundle(cast(Bundle, SimpleNamespace(taxonomy=TAXONOMY)), bounded, splits)
    expected = [record.id for record in in_domain(splits.validation, bounded)]
    assert found.value.args == (expected,) and len(expected) < len(splits.validation)


def test_questions_of_two_labels_are_fitted_on_the_reports_of_all_groups(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load_config(CONFIG)
    reports = load_splits(config, TAXONOMY).validation
    groups = [name for name, _ in Counter(record.group for record in reports).most_common()][:-1]
    bounded = config.model_copy(update={"domain": config.domain.model_copy(update={"groups": groups})})
    fitted: dict[str, int] = {}

    def fit(_: object, dense: Logits, sparse: Logits, validation: ValidationSet, axes: Iterable[str]) -> None:
        for axis in axes:
            assert len(dense[axis]) == len(sparse[axis]) == len(validation.inputs)
            fitted[axis] = len(validation.inputs)

    def stop(*_: object) -> NoReturn:
        raise LookupError

    for name, double in (("fit_calibration", fit), ("check_not_collapsed", lambda *_: None), ("write_model", stop)):
        monkeypatch.setattr(exporting, name, double)
    with pytest.raises(LookupError):
        export(tiny_run, bounded, tmp_path / "bundle")
    few = len(in_domain(reports, bounded))
    two = {axis.id for axis in TAXONOMY.axes.values() if len(axis.label_ids) == 2}
    assert few < len(reports) and two
    assert fitted == {axis: len(reports) if axis in two else few for axis in TAXONOMY.axes}


def test_groups_without_a_validation_report_are_named() -> None:
    config = load_config(CONFIG)
    bounded = config.model_copy(update={"domain": config.domain.model_copy(update={"groups": ["rya"]})})
    with pytest.raises(ConfigError, match=r"domain\.groups: rya: no validation report of .* axis kind"):
        validation_in_domain(load_splits(config, TAXONOMY), bounded, TAXONOMY)
