"""A model bundle: a directory that a person can read. Verifies it; runs nothing.

models/<name>/bundle.json      what it is: labels, calibration, sizes and checksums of the other files, provenance
              model.onnx       input_ids, attention_mask, feature_ids, feature_counts -> one output of logits per axis
              tokenizer.json   Hugging Face tokenizers
              taxonomy.toml    the axes and labels that the outputs stand for
              reference.json   golden reports with the logits they must give
              metrics.json, README.md
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from distriage.errors import BundleError, TaxonomyError
from distriage.features import HASH_BUCKETS
from distriage.taxonomy import Taxonomy, default_taxonomy, load_taxonomy
from distriage.text import RECIPE_VERSION

FORMAT = 1
DEFAULT_MODEL = "minilm-v1"
MANIFEST = "bundle.json"
PRECISION_TARGETS = ("0.50", "0.80", "0.90")  # that `policy.py` asks for; a bundle may hold more
REQUIRED_FILES = ("model.onnx", "tokenizer.json", "taxonomy.toml", "reference.json", "metrics.json", "README.md")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FileRecord(_Strict):
    """Size in bytes and SHA-256 (hex) of one file."""

    bytes: int
    sha256: str


class AxisCalibration(_Strict):
    """Outputs of one axis and how to read them.

    Attributes:
        labels: Label ids in the order of the outputs.
        temperature: Divides the logits before softmax (Guo et al., 2017).
        thresholds: Precision target (`"0.90"`) -> label -> least probability at which it is met; None: never met.
        family_thresholds: The same for families.
    """

    labels: tuple[str, ...]
    temperature: float = Field(gt=0)
    thresholds: Mapping[str, Mapping[str, float | None]]
    family_thresholds: Mapping[str, Mapping[str, float | None]] = {}


class TaxonomyRecord(_Strict):
    """Name and version of the taxonomy that the bundle was trained for."""

    name: str
    version: str


class Provenance(_Strict):
    """Where the weights come from. The sparse head may have been fitted on more records than the encoder."""

    created: str
    commit: str
    config: Mapping[str, Any]
    data_sha256: str
    records: Mapping[str, int]
    sparse_data_sha256: str
    sparse_records: int
    base_model: str
    base_model_sha256: str
    base_model_license: str
    seed: int
    hardware: str
    training_seconds: float
    versions: Mapping[str, str]


class Manifest(_Strict):
    """The content of `bundle.json`."""

    format: int
    name: str
    taxonomy: TaxonomyRecord
    recipe_version: int
    hash_buckets: int
    max_tokens: int = Field(ge=8)
    numeric_format: Literal["fp32", "int8"]
    axes: Mapping[str, AxisCalibration]
    files: Mapping[str, FileRecord]
    provenance: Provenance


class Bundle:
    """A verified bundle.

    Attributes:
        path: Its directory.
        manifest: The content of `bundle.json`.
        taxonomy: The bundle's own taxonomy.
    """

    def __init__(self, path: Path) -> None:
        """Read and verify a bundle.

        Raises:
            BundleError: a file is missing, truncated, swapped or does not fit; the message names it.
        """
        self.path = path
        self.manifest = _read_manifest(path)
        _check_versions(self.manifest, path)
        for name in REQUIRED_FILES:
            if name not in self.manifest.files:
                raise BundleError(f"{path / MANIFEST}: `files` lacks {name}")
        for name, record in self.manifest.files.items():
            _check_file(path, name, record)
        try:
            self.taxonomy: Taxonomy = load_taxonomy(path / "taxonomy.toml")
        except TaxonomyError as error:
            raise BundleError(str(error)) from None
        self._check_labels()

    def _check_labels(self) -> None:
        place = self.path / MANIFEST
        said = self.manifest.taxonomy
        if (self.taxonomy.name, self.taxonomy.version) != (said.name, said.version):
            raise BundleError(f"{place}: taxonomy {said.name} {said.version}, but taxonomy.toml beside it is {self.taxonomy.name} {self.taxonomy.version}")
        ours = default_taxonomy()
        if self.taxonomy.name == ours.name and self.taxonomy.version != ours.version:
            raise BundleError(f"{place}: made for taxonomy version {self.taxonomy.version}; this Distriage has {ours.version}")
        if set(self.manifest.axes) != set(self.taxonomy.axes):
            raise BundleError(f"{place}: axes {', '.join(self.manifest.axes)}; the taxonomy has {', '.join(self.taxonomy.axes)}")
        for axis_id, calibration in self.manifest.axes.items():
            expected = self.taxonomy.axes[axis_id].label_ids
            if calibration.labels != expected:
                wrong = next(
                    (f"{a!r} where {b!r} was expected" for a, b in zip(calibration.labels, expected, strict=False) if a != b), "another number of labels"
                )
                raise BundleError(f"{place}: labels of axis {axis_id} do not match the taxonomy: {wrong}")
            for target in PRECISION_TARGETS:
                if set(calibration.thresholds.get(target, ())) != set(expected):
                    raise BundleError(f"{place}: axis {axis_id} lacks thresholds for precision {target}; expected one a label, or null")
                if self.taxonomy.axes[axis_id].families.keys() != calibration.family_thresholds.get(target, {}).keys():
                    raise BundleError(f"{place}: axis {axis_id} lacks family thresholds for precision {target}; expected one a family, or null")


def _read_manifest(path: Path) -> Manifest:
    place = path / MANIFEST
    try:
        text = place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise BundleError(f"{place}: not found or not readable; expected a model bundle (a folder with {MANIFEST})") from None
    try:
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        raise BundleError(f"{place}: {'.'.join(map(str, first['loc'])) or 'content'}: {first['msg']}") from None


def _check_versions(manifest: Manifest, path: Path) -> None:
    for what, value, expected in (
        ("format", manifest.format, FORMAT),
        ("recipe_version", manifest.recipe_version, RECIPE_VERSION),
        ("hash_buckets", manifest.hash_buckets, HASH_BUCKETS),
    ):
        if value != expected:
            raise BundleError(f"{path / MANIFEST}: {what} {value}; this Distriage reads {expected}")


def _check_file(path: Path, name: str, record: FileRecord) -> None:
    if name != Path(name).name or name in {"", ".."} or not name.isprintable():
        raise BundleError(f"{path / MANIFEST}: {name!r} is not a plain file name")
    file = path / name
    if not file.is_file():
        raise BundleError(f"{file}: missing")
    try:
        size, sha256 = file.stat().st_size, sha256_of(file)
    except OSError as error:
        raise BundleError(f"{file}: cannot be read: {error.strerror}") from None
    if size != record.bytes:
        raise BundleError(f"{file}: {size} bytes; {MANIFEST} says {record.bytes}: truncated or swapped")
    if sha256 != record.sha256:
        raise BundleError(f"{file}: its SHA-256 is not the one in {MANIFEST}: damaged or swapped")


def sha256_of(file: Path) -> str:
    """SHA-256 of a file's content, hex."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def find_bundle(model: str | Path | None = None) -> Path:
    """The directory of a bundle.

    Args:
        model: A directory, the name of a shipped model, or None for the default one.

    Raises:
        BundleError: there is none.
    """
    if model is not None and Path(model).is_dir():
        return Path(model)
    name = str(model) if model is not None else DEFAULT_MODEL
    package = Path(str(resources.files("distriage")))
    # In a wheel the models lie inside the package; in a checkout beside `src`.
    candidates = (package / "models" / name, package.parent.parent / "models" / name)
    for candidate in candidates:
        if (candidate / MANIFEST).is_file():
            return candidate
    raise BundleError(f"model {name!r}: no such directory and no shipped model of that name (looked in {candidates[0].parent} and {candidates[1].parent})")
