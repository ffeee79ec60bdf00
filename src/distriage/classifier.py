"""Reports -> predictions, with the shipped ONNX graph. The only module that runs a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from distriage.bundle import Bundle, find_bundle
from distriage.errors import BundleError, InputError
from distriage.features import all_features
from distriage.text import ModelInput, prepare
from distriage.types import AxisScores, IssueReport, Prediction

MAX_REPORT_BYTES = 1 << 20  # GitHub's own limit is 65,536 characters of body
BATCH_SIZE = 16

Array = NDArray[np.float32]


def softmax(logits: Array, temperature: float, floor: float = 0.0) -> Array:
    """Probabilities of logits [..., labels] at a temperature, mixed with a share `floor` of the uniform distribution; same shape."""
    scaled = logits / temperature
    scaled = scaled - scaled.max(axis=-1, keepdims=True)
    exponent = np.exp(scaled)
    probabilities = exponent / exponent.sum(axis=-1, keepdims=True)
    return np.asarray((1 - floor) * probabilities + floor / logits.shape[-1], dtype=np.float32)


def encode(tokenizer: Tokenizer, inputs: Sequence[ModelInput]) -> dict[str, NDArray[np.int64] | Array]:
    """Turn a batch into the graph's inputs.

    Returns:
        `input_ids` and `attention_mask` [batch, tokens], `feature_ids` and `feature_counts` [batch, features]; padded with zeros to the longest.
    """
    encodings = tokenizer.encode_batch([item.text for item in inputs])
    features = [all_features(item) for item in inputs]
    tokens = max(len(encoding.ids) for encoding in encodings)
    width = max(1, max(len(ids) for ids, _ in features))
    input_ids = np.zeros((len(inputs), tokens), np.int64)
    attention_mask = np.zeros((len(inputs), tokens), np.int64)
    feature_ids = np.zeros((len(inputs), width), np.int64)
    feature_counts = np.zeros((len(inputs), width), np.float32)
    for row, (encoding, (ids, counts)) in enumerate(zip(encodings, features, strict=True)):
        input_ids[row, : len(encoding.ids)] = encoding.ids
        attention_mask[row, : len(encoding.ids)] = 1
        feature_ids[row, : len(ids)] = ids
        feature_counts[row, : len(counts)] = counts
    return {"input_ids": input_ids, "attention_mask": attention_mask, "feature_ids": feature_ids, "feature_counts": feature_counts}


class Classifier:
    """The model of one bundle, ready to predict. Safe to share between threads.

    Attributes:
        bundle: The verified bundle.
    """

    def __init__(self, model: str | Path | None = None, *, threads: int | None = None) -> None:
        """Load and verify a bundle.

        Args:
            model: A bundle's directory, a shipped model's name, or None for the default.
            threads: Threads per prediction; None: one per core.

        Raises:
            BundleError: the bundle is missing or fails verification.
        """
        self.bundle = Bundle(find_bundle(model))
        vocabulary = self.bundle.path / "tokenizer.json"
        try:
            self._tokenizer = Tokenizer.from_file(str(vocabulary))
        except Exception as error:  # tokenizers raises the bare class
            raise BundleError(f"{vocabulary}: tokenizers cannot load it: {error}") from None
        self._tokenizer.enable_truncation(self.bundle.manifest.max_tokens)
        self._tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        if threads is not None:
            options.intra_op_num_threads = threads
        file = self.bundle.path / "model.onnx"
        try:
            self._session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime raises a dozen unrelated types
            raise BundleError(f"{file}: onnxruntime cannot load it: {error}") from None
        self._check_outputs(file)

    def _check_outputs(self, file: Path) -> None:
        widths = {output.name: output.shape[-1] for output in self._session.get_outputs()}
        for axis, calibration in self.bundle.manifest.axes.items():
            if widths.get(axis) != len(calibration.labels):
                raise BundleError(f"{file}: output {axis} has width {widths.get(axis)}; bundle.json lists {len(calibration.labels)} labels")

    def logits(self, inputs: Sequence[ModelInput]) -> dict[str, Array]:
        """Raw logits, axis -> [reports, labels], for prepared inputs given in any order."""
        axes = list(self.bundle.manifest.axes)
        result = {axis: np.zeros((len(inputs), len(self.bundle.manifest.axes[axis].labels)), np.float32) for axis in axes}
        # Reports of like length share a batch, so that little is spent on padding.
        order = sorted(range(len(inputs)), key=lambda i: len(inputs[i].text))
        for start in range(0, len(order), BATCH_SIZE):
            rows = order[start : start + BATCH_SIZE]
            outputs = self._session.run(axes, encode(self._tokenizer, [inputs[i] for i in rows]))
            for axis, output in zip(axes, outputs, strict=True):
                result[axis][rows] = output
        return result

    def predict_inputs(self, inputs: Sequence[ModelInput]) -> list[Prediction]:
        """Predict prepared inputs; see `predict`."""
        if not inputs:
            return []
        axes = self.bundle.manifest.axes
        probabilities = {axis: softmax(logits, axes[axis].temperature, axes[axis].floor) for axis, logits in self.logits(inputs).items()}
        return [self._prediction(probabilities, row) for row in range(len(inputs))]

    def _prediction(self, probabilities: Mapping[str, Array], row: int) -> Prediction:
        manifest = self.bundle.manifest
        scores = {
            axis: AxisScores(axis, dict(zip(calibration.labels, map(float, probabilities[axis][row]), strict=True)))
            for axis, calibration in manifest.axes.items()
        }
        return Prediction(model=manifest.name, scores=scores)

    def predict(self, reports: Sequence[IssueReport]) -> list[Prediction]:
        """Predict reports.

        Returns:
            One prediction a report, in order.

        Raises:
            InputError: a report is empty or larger than `MAX_REPORT_BYTES`; check single ones with `check_report`.
        """
        for report in reports:
            check_report(report)
        return self.predict_inputs([prepare(report.title, report.body) for report in reports])

    def predict_stream(self, reports: Sequence[IssueReport], chunk: int = 256) -> Iterator[tuple[IssueReport, Prediction]]:
        """Predict many reports, a chunk at a time, so that progress shows and memory stays bounded."""
        for start in range(0, len(reports), chunk):
            part = reports[start : start + chunk]
            yield from zip(part, self.predict(part), strict=True)


def check_report(report: IssueReport) -> None:
    """Refuse a report that cannot be classified.

    Raises:
        InputError: nothing to read, or too large.
    """
    name = report.id or "report"
    if not report.title.strip() and not report.body.strip():
        raise InputError(f"{name}: empty; expected a title or a body")
    size = len(report.title.encode("utf-8", "ignore")) + len(report.body.encode("utf-8", "ignore"))
    if size > MAX_REPORT_BYTES:
        raise InputError(f"{name}: {size:,} bytes; at most {MAX_REPORT_BYTES:,} are read (GitHub itself stores 65,536 characters)")
