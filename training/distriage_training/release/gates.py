"""The gates between a trained model and the shipped file: ONNX must agree with torch, int8 with fp32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from distriage.model.taxonomy import Taxonomy
from distriage.recipe.text import ModelInput, prepare
from distriage_training.corpus.records import Record, label_numbers
from distriage_training.fit.model import TriageModel
from distriage_training.measure import scoring
from distriage_training.release.graph import (
    GateError,
    Logits,
    joined_logits,
    onnx_logits,
    sample_inputs,
    write_int8,
    write_onnx,
)

MAX_PARITY_DIFFERENCE = 1e-3  # fp32 ONNX against torch, in logits
MAX_INT8_DROP = 0.01  # macro-F1 on validation, any axis; else fp32 ships
MAX_INT8_DIFFERENCE = 1.5  # int8 against torch on the reference reports, in logits, a coarse guard; else fp32 ships
MAX_COLLAPSE = 0.05  # accuracy on validation that the encoder may lose between training and export, any axis


@dataclass(frozen=True, slots=True)
class ValidationSet:
    """Prepared validation reports, their labels [n, axes] and origins [n] (raw or restated)."""

    inputs: list[ModelInput]
    labels: NDArray[np.int64]
    origins: NDArray[np.str_]

    @staticmethod
    def of(records: Sequence[Record], taxonomy: Taxonomy) -> ValidationSet:
        """Prepare records."""
        return ValidationSet(
            [prepare(record.title, record.body) for record in records],
            np.array([label_numbers(record, taxonomy) for record in records]),
            np.array([record.origin for record in records]),
        )

    def rows(self, axis_number: int) -> NDArray[np.bool_]:
        """Reports that are labelled on an axis."""
        return np.asarray(self.labels[:, axis_number] >= 0)


@dataclass(frozen=True, slots=True)
class Reports:
    """Reports to make a graph from and to judge it by.

    Attributes:
        train: Sample for measuring activations.
    """

    validation: ValidationSet
    golden: Sequence[ModelInput]
    train: Sequence[Record]


@dataclass(frozen=True, slots=True)
class Passed:
    """Figures of the gates.

    Attributes:
        numeric_format: Of the shipped file.
        parity: Largest difference of fp32 ONNX from torch, in logits.
        drops: Axis -> macro-F1 on validation that int8 loses.
    """

    numeric_format: Literal["int8", "fp32"]
    parity: float
    drops: Mapping[str, float]

    def __str__(self) -> str:
        return (
            f"parity fp32 against torch {self.parity:.1e} (gate {MAX_PARITY_DIFFERENCE:.0e}); "
            f"int8 macro-F1 drop on validation at most {max(self.drops.values()):+.4f}: {self.numeric_format} ships"
        )


def check_not_collapsed(dense: Logits, validation: ValidationSet, trained: Mapping[str, float]) -> None:
    """Refuse an encoder whose validation scores fell since training ended, for something has changed in between.

    Args:
        dense: Logits of the encoder, axis -> [n, labels].
        trained: Axis -> accuracy at the end of training (`run.json`).

    Raises:
        GateError: accuracy of an axis fell by more than `MAX_COLLAPSE`.
    """
    for i, (axis, logits) in enumerate(dense.items()):
        rows = validation.rows(i)
        now = scoring.accuracy(validation.labels[rows, i], logits[rows].argmax(1))
        if not now >= trained[axis] - MAX_COLLAPSE:
            raise GateError(
                f"axis {axis}: accuracy on validation is {now:.3f}; when training ended it was {trained[axis]:.3f}. "
                "The data, the taxonomy or the tokenizer has changed since; restore them or train anew"
            )


def write_model(
    model: TriageModel,
    mixed: Logits,
    file: Path,
    tokenizer: Tokenizer,
    reports: Reports,
) -> Passed:
    """Write the shipped ONNX file: int8 if it loses little, else fp32.

    Args:
        mixed: Logits of the torch model on validation.

    Raises:
        GateError: ONNX fp32 differs from torch by more than `MAX_PARITY_DIFFERENCE`.
    """
    fp32 = file.with_name("model.fp32.onnx")
    write_onnx(model, fp32)
    golden = reports.golden
    found = parity(model, fp32, tokenizer, golden)
    write_int8(fp32, file, sample_inputs(tokenizer, reports.train))
    validation = reports.validation
    drops = int8_drops(mixed, onnx_logits(file, list(model.axes), tokenizer, validation.inputs), validation)
    off = difference(joined_logits(model, tokenizer, golden), onnx_logits(file, list(model.axes), tokenizer, golden))
    if max(drops.values()) <= MAX_INT8_DROP and off <= MAX_INT8_DIFFERENCE:
        fp32.unlink()
        return Passed("int8", found, drops)
    fp32.replace(file)
    return Passed("fp32", found, drops)


def parity(model: TriageModel, fp32: Path, tokenizer: Tokenizer, inputs: Sequence[ModelInput]) -> float:
    """Largest difference of an fp32 file from torch, in logits.

    Raises:
        GateError: it is above `MAX_PARITY_DIFFERENCE`.
    """
    expected = joined_logits(model, tokenizer, inputs)
    found = difference(expected, onnx_logits(fp32, list(model.axes), tokenizer, inputs))
    if not found <= MAX_PARITY_DIFFERENCE:
        raise GateError(
            f"{fp32.name}: logits differ from torch by {found:.2e}; at most {MAX_PARITY_DIFFERENCE:.0e} is allowed"
        )
    return found


def difference(one: Logits, other: Logits) -> float:
    """Largest difference of any logit."""
    return float(np.max([np.abs(one[axis] - other[axis]).max() for axis in one]))


def int8_drops(fp32: Logits, int8: Logits, validation: ValidationSet) -> dict[str, float]:
    """Axis -> macro-F1 on validation lost by quantization; negative: gained."""
    drops = {}
    for i, axis in enumerate(fp32):
        rows = validation.rows(i)
        truth = validation.labels[rows, i]
        drops[axis] = scoring.macro_f1(truth, fp32[axis][rows].argmax(1)) - scoring.macro_f1(
            truth, int8[axis][rows].argmax(1)
        )
    return drops
