"""Both readers' answers -> calibrated probabilities, and the thresholds of the second reader's own promise. Pure.

The probability of a label is proportional to first ** a * second ** b, with the exponents a and b fitted per axis on
validation reports (a logarithmic opinion pool: Genest & Zidek, 1986, "Combining Probability Distributions").
`distriage second-reader calibrate` fits them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, Field

from distriage.answer.policy import PRECISION
from distriage.base.errors import ConfigError
from distriage.base.validation import read_model
from distriage.second_reader import AXES
from distriage.second_reader.answer import Shares

LAPSE = 0.1  # share of a reader's answers that may be a slip; there the first reader speaks
FORMAT: Literal[2] = 2  # 1: fitted on other questions

Probability = Annotated[float, Field(ge=0, le=1)]
Exponent = Annotated[float, Field(ge=0, le=10)]  # a greater one leaves no probability between 0 and 1

_Value = TypeVar("_Value")


def _only(known: Collection[str], given: Mapping[str, _Value]) -> Mapping[str, _Value]:
    """Refuse an unknown key: a promise under it would silently be ignored."""
    if wrong := [key for key in given if key not in known]:
        raise ValueError(f"unknown key {wrong[0]}; known: {', '.join(known)}")
    return given


class AxisFusion(BaseModel, extra="forbid", frozen=True):
    """How the two readers of one axis are joined.

    Attributes:
        first, second: The exponents a and b.
        thresholds: Wanted precision ("0.80", "0.90") -> least probability of a label that is given; absent: none is
            given.
        reports: Number of validation reports behind it.
    """

    first: Exponent = 1.0
    second: Exponent = 1.0
    thresholds: Annotated[
        Mapping[str, Probability], AfterValidator(lambda given: _only(PRECISION.values(), given))
    ] = {}
    reports: int = Field(default=0, ge=0)


class ReaderCalibration(BaseModel, extra="forbid", frozen=True):
    """The calibration of one second reader beside one first reader.

    Attributes:
        times: Number of answers to each question, by whose mean it was fitted.
    """

    format: Literal[2] = FORMAT
    reader: str
    model: str
    times: int = Field(default=1, ge=1, le=2)
    axes: Annotated[Mapping[str, AxisFusion], AfterValidator(lambda given: _only(AXES, given))]


def load_calibration(file: Path, reader: str, model: str) -> ReaderCalibration:
    """Read a calibration by `distriage second-reader calibrate`.

    Raises:
        ConfigError: the file cannot be read, or was made for another reader or bundle.
    """
    expected = "what `distriage second-reader calibrate` wrote"
    calibration = read_model(file, ReaderCalibration, ConfigError, expected)
    for what, found, wanted in (("reader", calibration.reader, reader), ("model", calibration.model, model)):
        if found != wanted:
            raise ConfigError(
                f"{file}: made for the {what} {found!r}, not for {wanted!r}; run `distriage second-reader calibrate`"
            )
    return calibration


def says_none(shares: Shares) -> bool:
    """Whether an answer rejects all that was offered; the first reader's verdict stands then."""
    return shares.get(None, 0.0) > 0.5


def reader_scores(first: Mapping[str, float], shares: Shares) -> NDArray[np.float64]:
    """The second reader's probability of each label of `first`, in its order, [labels].

    Slips leave the question to the first reader. "None of these" is spread evenly, which leaves it there, too: spread
    as the first reader's probabilities are, it would be a second vote for its favourite.
    """
    none = shares.get(None, 0.0)
    slip, even = LAPSE * (1 - none), none / len(first)
    return np.array([(1 - LAPSE) * shares.get(label, 0.0) + slip * p + even for label, p in first.items()])


def fuse(first: Mapping[str, float], shares: Shares, fusion: AxisFusion) -> dict[str, float]:
    """Join both readers of one axis: label -> probability, sum 1."""
    floor = 1e-9
    own = np.log(np.maximum(np.array(list(first.values())), floor))
    other = np.log(np.maximum(reader_scores(first, shares), floor))
    joined = fusion.first * own + fusion.second * other
    weights = np.exp(joined - joined.max())
    return dict(zip(first, map(float, weights / weights.sum()), strict=True))
