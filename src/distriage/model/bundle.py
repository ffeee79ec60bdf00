"""A model bundle: a directory that a person can read. Verifies it; runs nothing.

models/<name>/bundle.json      labels, calibration, sizes and checksums of the other files, provenance
              model.onnx       input_ids [1, tokens], feature_ids, feature_counts [1, features] -> logits, one output
              per
                               axis, and the encoder's mean vectors [1, width]: `vector` of its last layer,
                               `penultimate` of the one before
              mapped.onnx      the same, its int8 weights named by their place in model.onnx; may be missing
              tokenizer.json   Hugging Face tokenizers
              taxonomy.toml    the axes and labels of the outputs
              reference.json   golden reports with the logits they must give
              metrics.json, README.md
              index.npz        known issues, for `similar.py`; may be missing
              domain.npz       tells reports of other software apart, for `domain.py`; may be missing
              trained-on.txt   `thread_digest` of each record that the weights were fitted on; may be missing

`shipped.py` finds it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from distriage.base.errors import BundleError, TaxonomyError
from distriage.base.references import RENAMED, thread_key
from distriage.base.validation import Strict, field, read_model
from distriage.model.shipped import GRAPH, MANIFEST, MAPPED, sha256_of
from distriage.model.taxonomy import Taxonomy, default_taxonomy, load_taxonomy
from distriage.recipe.features import HASH_BUCKETS
from distriage.recipe.text import RECIPE_VERSION

FORMAT = 2
TRAINED_ON = "trained-on.txt"
PRECISION_TARGETS = ("0.50", "0.80", "0.90")  # that `policy.py` asks for; a bundle may hold more
REQUIRED_FILES = (GRAPH, "tokenizer.json", "taxonomy.toml", "reference.json", "metrics.json", "README.md")
DOMAIN = "domain.npz"  # may be missing, like the index
INDEX = "index.npz"  # has a format number of its own; readers that know nothing of it still check its SHA-256


class FileRecord(Strict):
    """Size in bytes and SHA-256 (hex) of one file."""

    bytes: int
    sha256: str


class AxisCalibration(Strict):
    """Outputs of one axis and how to read them.

    Attributes:
        labels: Label ids in the order of the outputs.
        temperature: Divides the logits before softmax (Guo et al., 2017).
        floor: Share of the uniform distribution in the probabilities, for axes on which annotators often doubt.
        thresholds: Precision target (`"0.90"`) -> label -> lowest probability that meets it; None: never met.
        among_three: Share of the unsure held-out reports whose right label is among the three likeliest; raw and
            restated reports weigh the same. None if not measured.
    """

    labels: tuple[str, ...]
    temperature: float = field(gt=0)
    floor: float = field(default=0.0, ge=0, lt=1)
    thresholds: Mapping[str, Mapping[str, float | None]]
    family_thresholds: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    among_three: float | None = field(default=None, ge=0, le=1)


class TaxonomyRecord(Strict):
    """Name and version of the taxonomy that the bundle was trained for."""

    name: str
    version: str


class Provenance(Strict):
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


class Manifest(Strict):
    """The content of `bundle.json`."""

    format: int
    name: str
    taxonomy: TaxonomyRecord
    recipe_version: int
    hash_buckets: int
    max_tokens: int = field(ge=8)
    numeric_format: Literal["fp32", "int8"]
    axes: Mapping[str, AxisCalibration]
    files: Mapping[str, FileRecord]
    provenance: Provenance


class Bundle:
    """A verified bundle."""

    def __init__(self, path: Path, *, whole: bool = True) -> None:
        """Read and verify a bundle. Without `whole`, its large files are left to `verify`, which their readers call.

        Raises:
            BundleError: a file is missing, truncated, swapped or does not fit; the message names it.
        """
        self.path = path
        expected = f"a model bundle (a folder with {MANIFEST})"
        self.manifest = read_model(path / MANIFEST, Manifest, BundleError, expected)
        _check_versions(self.manifest, path)
        for name in REQUIRED_FILES:
            if name not in self.manifest.files:
                raise BundleError(f"{path / MANIFEST}: `files` lacks {name}")
        if MAPPED not in self.manifest.files and (path / MAPPED).exists():
            raise BundleError(f"{path / MAPPED}: {MANIFEST} does not list it: perhaps of another model")
        for name, record in self.manifest.files.items():
            if whole or name not in (GRAPH, INDEX):
                _check_file(path, name, record)
        try:
            sealed = load_taxonomy(path / "taxonomy.toml", sealed=True)
        except TaxonomyError as error:
            raise BundleError(str(error)) from None
        self.taxonomy: Taxonomy = sealed.with_use_of(default_taxonomy())
        self._check_labels()

    def verify(self, name: str, sha256: Callable[[], str] | None = None) -> None:
        """Compare a file's size and digest with the manifest's.

        Args:
            sha256: Gives its digest, hex, if it was begun before; may raise OSError.

        Raises:
            BundleError: it is missing, truncated or swapped.
        """
        _check_file(self.path, name, self.manifest.files[name], sha256)

    @cached_property
    def trained_on(self) -> frozenset[str] | None:
        """`thread_digest` of each record that the weights were fitted on, if the bundle lists them.

        Raises:
            BundleError: the file is damaged, though its SHA-256 is right.
        """
        if TRAINED_ON not in self.manifest.files:
            return None
        file = self.path / TRAINED_ON
        try:
            return frozenset(file.read_text(encoding="ascii").split())
        except UnicodeDecodeError as error:
            raise BundleError(f"{file}: not ASCII at byte {error.start}; expected one digest a line") from None

    def _check_labels(self) -> None:
        place = self.path / MANIFEST
        said = self.manifest.taxonomy
        if (self.taxonomy.name, self.taxonomy.version) != (said.name, said.version):
            raise BundleError(
                f"{place}: taxonomy {said.name} {said.version}, but taxonomy.toml beside it is "
                f"{self.taxonomy.name} {self.taxonomy.version}"
            )
        ours = default_taxonomy()
        if said.name == ours.name and said.version != ours.version and not _is_older(said.version, ours.version):
            raise BundleError(f"{place}: made for taxonomy version {said.version}; this Distriage has {ours.version}")
        if set(self.manifest.axes) != set(self.taxonomy.axes):
            raise BundleError(
                f"{place}: axes {', '.join(self.manifest.axes)}; the taxonomy has {', '.join(self.taxonomy.axes)}"
            )
        for axis_id, calibration in self.manifest.axes.items():
            expected = self.taxonomy.axes[axis_id].label_ids
            if calibration.labels != expected:
                pairs = zip(calibration.labels, expected, strict=False)
                others = (f"{label!r} where {wanted!r} was expected" for label, wanted in pairs if label != wanted)
                wrong = next(others, "another number of labels")
                raise BundleError(f"{place}: labels of axis {axis_id} do not match the taxonomy: {wrong}")
            for target in PRECISION_TARGETS:
                if set(calibration.thresholds.get(target, ())) != set(expected):
                    raise BundleError(
                        f"{place}: axis {axis_id} lacks thresholds for precision {target}; "
                        "expected one a label, or null"
                    )
                if self.taxonomy.axes[axis_id].families.keys() != calibration.family_thresholds.get(target, {}).keys():
                    raise BundleError(
                        f"{place}: axis {axis_id} lacks family thresholds for precision {target}; "
                        "expected one a family, or null"
                    )


def _is_older(version: str, ours: str) -> bool:
    from packaging.version import InvalidVersion, Version  # slow to import, and rarely needed

    try:
        return Version(version) < Version(ours)
    except InvalidVersion:
        return False


def _check_versions(manifest: Manifest, path: Path) -> None:
    for what, value, expected in (
        ("format", manifest.format, FORMAT),
        ("recipe_version", manifest.recipe_version, RECIPE_VERSION),
        ("hash_buckets", manifest.hash_buckets, HASH_BUCKETS),
    ):
        if value != expected:
            raise BundleError(f"{path / MANIFEST}: {what} {value}; this Distriage reads {expected}")


def _check_file(path: Path, name: str, record: FileRecord, sha256: Callable[[], str] | None = None) -> None:
    if name != Path(name).name or name in {"", ".."} or not name.isprintable():
        raise BundleError(f"{path / MANIFEST}: {name!r} is not a plain file name")
    file = path / name
    if not file.is_file():
        raise BundleError(f"{file}: missing")
    try:
        size, digest = file.stat().st_size, sha256() if sha256 is not None else sha256_of(file)
    except OSError as error:
        raise BundleError(f"{file}: cannot be read: {error.strerror}") from None
    if size != record.bytes:
        raise BundleError(f"{file}: {size} bytes; {MANIFEST} says {record.bytes}: truncated or swapped")
    if digest != record.sha256:
        raise BundleError(f"{file}: its SHA-256 is not the one in {MANIFEST}: damaged or swapped")


def thread_digest(identifier: str) -> str:
    """16 hexadecimal digits that stand for `owner/repo#12` in `trained-on.txt`, to hide private issues."""
    return hashlib.sha256(identifier.lower().encode("utf-8", "replace")).hexdigest()[:16]


def thread_digests(identifier: str) -> frozenset[str]:
    """`thread_digest` of a thread under the present and each earlier name of its repository.

    A list may be older than the move of a repository.
    """
    key = thread_key(identifier)
    repository, _, number = key.partition("#")
    earlier = (f"{old}#{number}" for old, new in RENAMED.items() if new == repository)
    return frozenset(map(thread_digest, (key, *earlier)))
