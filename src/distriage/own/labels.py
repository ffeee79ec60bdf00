"""Heads for a repository's own labels, as `distriage learn` keeps them in a folder. Reads only; numpy, no scikit-learn.

own.json   `OwnManifest`: the labels, their thresholds, the promise and the data learned from
own.npz    buckets [words], idf [words], centre [width], mean, scale [axes]   as in `features.Scales`
           words [labels, words] float16, dense [labels, width + axes] float32, bias [labels]
report.html, report.json      how often each label was right, for people; not read here
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from distriage.base.arrays import arrays_of
from distriage.base.errors import BundleError
from distriage.base.references import repository_of
from distriage.base.types import Prediction
from distriage.base.validation import Strict, field, read_model
from distriage.model.bundle import Bundle
from distriage.model.bundle import Manifest as BundleManifest
from distriage.own.answer import OwnLabel
from distriage.own.features import OWN_VIEWS, OwnFeatures, Scales, own_features
from distriage.recipe.features import HASH_BUCKETS
from distriage.recipe.text import ModelInput
from distriage.recipe.weights import Floats

if TYPE_CHECKING:
    from distriage.github.client import Client

OWN_FORMAT = 5
MANIFEST, ARRAYS = "own.json", "own.npz"
SHOWN = 10


class LabelHead(Strict):
    """One label.

    Attributes:
        examples: Issues that had it.
        threshold: Lowest probability at which it is given; None: never.
        given, right: Decisions from there on, on held-out issues; 0 without a threshold.
        bound: Lower bound of their precision, at the manifest's confidence.
        slope, shift: Platt scaling of the head's score.
    """

    name: str
    examples: int
    threshold: float | None = field(ge=0, le=1)
    given: int = 0
    right: int = 0
    bound: float = 0.0
    slope: float = field(allow_inf_nan=False)
    shift: float = field(allow_inf_nan=False)


class OwnManifest(Strict):
    """The content of `own.json`.

    Attributes:
        model, model_sha256: Name and `probabilities_sha256` of the bundle that read the issues.
        arrays_sha256: Of `own.npz`, so that labels and weights always match; empty if unknown.
        precision, confidence: A threshold's promise, and how surely it holds.
        until: When the newest of the issues was filed, Unix time in seconds.
        features: The heads' input, in words.
        left_out: Label -> why it was not learned.
    """

    format: int
    repository: str
    model: str
    model_sha256: str
    arrays_sha256: str = ""
    created: str
    until: float = field(allow_inf_nan=False)
    issues: int
    precision: float = field(gt=0, lt=1)
    confidence: float = field(gt=0, lt=1)
    features: str
    labels: tuple[LabelHead, ...]
    left_out: Mapping[str, str]


def probabilities_sha256(model: BundleManifest) -> str:
    """Digest of everything that sets a model's probabilities: graph; labels, temperature and floor of each axis."""
    axes = [[axis, one.labels, one.temperature, one.floor] for axis, one in model.axes.items()]
    return hashlib.sha256(json.dumps([model.files["model.onnx"].sha256, axes]).encode()).hexdigest()


class OwnLabels:
    """The heads of one folder, ready to use. Safe to share between threads."""

    def __init__(self, folder: Path, bundle: Bundle) -> None:
        """Read and check them.

        Args:
            bundle: The one that will read the reports; must be the one used for learning.

        Raises:
            BundleError: a file is missing, damaged or of another model.
        """
        self.manifest = read_manifest(folder / MANIFEST)
        self._repository = self.manifest.repository.casefold()
        if self.manifest.format != OWN_FORMAT:
            raise BundleError(
                f"{folder / MANIFEST}: format {self.manifest.format}; this Distriage reads {OWN_FORMAT}: "
                "run `distriage learn` again"
            )
        if self.manifest.model_sha256 != probabilities_sha256(bundle.manifest):
            raise BundleError(
                f"{folder / MANIFEST}: learned with {self.manifest.model}; the model is {bundle.manifest.name}, "
                "of another graph or calibration: run `distriage learn` again"
            )
        expected = f"what this Distriage wrote (format {OWN_FORMAT})"
        with arrays_of(folder / ARRAYS, expected, BundleError, self._check) as arrays:
            self._read(arrays)

    def _check(self, stream: BufferedReader) -> None:
        if self.manifest.arrays_sha256 not in {"", hashlib.file_digest(stream, "sha256").hexdigest()}:
            raise ValueError(f"damaged, or of another learning than {MANIFEST}: run `distriage learn` again")

    def _read(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self._scales = Scales(
            np.asarray(arrays["buckets"], np.int64),
            *(np.asarray(arrays[name], np.float64) for name in ("idf", "centre", "mean", "scale")),
        )
        self._words, self._dense = np.asarray(arrays["words"], np.float16), np.asarray(arrays["dense"], np.float32)
        self._bias = np.asarray(arrays["bias"], np.float64)
        self._slope = np.array([head.slope for head in self.manifest.labels])
        self._shift = np.array([head.shift for head in self.manifest.labels])
        scales, labels = self._scales, len(self.manifest.labels)
        words, behind = len(scales.buckets), scales.width - len(scales.buckets)
        for name, values, shape in (
            ("buckets", scales.buckets, (words,)),
            ("idf", scales.idf, (words,)),
            ("centre", scales.centre, (len(scales.centre),)),
            ("mean", scales.mean, (len(scales.mean),)),
            ("scale", scales.scale, (len(scales.mean),)),
            ("words", self._words, (labels, words)),
            ("dense", self._dense, (labels, behind)),
            ("bias", self._bias, (labels,)),
        ):
            if values.shape != shape or not np.isfinite(values).all():
                raise ValueError(f"{name} does not fit")
        ascending = (np.diff(scales.buckets) > 0).all()
        if not (
            ascending
            and scales.buckets.min(initial=0) >= 0
            and scales.buckets.max(initial=0) < OWN_VIEWS * HASH_BUCKETS
        ):
            raise ValueError("buckets are out of range or order")
        if not (scales.scale > 0).all():
            raise ValueError("scale is out of range")

    def use_for(self, repository: str, client: Client) -> None:
        """Use the heads for a repository on GitHub, which may have been renamed since they were learned.

        Raises:
            BundleError: they are of another one.
            GitHubError: GitHub is out of reach or refuses.
        """
        from distriage.github.renamed import was_called  # few need it

        if not was_called(client, self.manifest.repository, repository):
            raise BundleError(f"own labels: learned from {self.manifest.repository}; expected those of {repository}")
        self._repository = repository.casefold()

    def of(self, identifier: str) -> OwnLabels | None:
        """These heads, unless a report's `owner/repo#12` names another repository."""
        return self if repository_of(identifier) in {None, self._repository} else None

    def __call__(self, report: ModelInput, prediction: Prediction) -> list[OwnLabel]:
        """The labels to give and the likeliest others, at least `SHOWN`; the likeliest first."""
        probabilities = self.probabilities(own_features(report, prediction))
        found = [_answer(head, float(p)) for head, p in zip(self.manifest.labels, probabilities, strict=True)]
        ranked = sorted(found, key=lambda item: -item.probability)
        return [item for place, item in enumerate(ranked) if place < SHOWN or item.applied]

    def probabilities(self, features: OwnFeatures) -> Floats:
        """For all labels, in the manifest's order."""
        columns, values = self._scales.words(features)
        scores = self._words[:, columns].astype(np.float64) @ values + self._bias
        dense = self._scales.dense(features)
        if len(dense):
            scores = scores + self._dense @ dense
        return np.asarray(1 / (1 + np.exp(-np.clip(self._slope * scores + self._shift, -50, 50))))


def _answer(head: LabelHead, probability: float) -> OwnLabel:
    applied = head.threshold is not None and probability >= head.threshold
    precision = round(head.right / head.given, 4) if applied and head.given else None
    return OwnLabel(label=head.name, probability=round(probability, 4), applied=applied, precision=precision)


def read_manifest(file: Path) -> OwnManifest:
    """The content of an `own.json`, of any format.

    Raises:
        BundleError: missing or damaged.
    """
    return read_model(file, OwnManifest, BundleError, "a folder that `distriage learn` wrote")
