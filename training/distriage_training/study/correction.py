"""Frequencies corrected for a classifier's errors. Pure.

A classifier that takes one symptom for another moves reports between the two, so its counts are biased.
Adjusted classify-and-count (G. Forman, 2008, "Quantifying counts and costs via classification") solves
`counted = errors @ true` for the true shares; several labels at once, with shares that are not negative and add up to
one, as D. Hopkins and G. King (2010) do. It assumes that each label is confused as on validation. The interval is that
of a bootstrap over both the validation reports and the counted ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

Floats = NDArray[np.float64]
Confusions = Mapping[str, NDArray[np.integer]]  # axis -> validation reports by true and predicted label
_SEED = 7
# Where the estimate lies at its bound, a bootstrap's interval may have no width (D. Andrews, 2000).
BOUNDARY = "A share of 0 or 1 lies at the boundary, where such an interval is not reliable."
_SUM_WEIGHT = 100.0  # of the condition that shares add up to one


@dataclass(frozen=True, slots=True)
class Corrected:
    """A share of a label: as counted, and corrected, with its 95 % interval."""

    name: str
    counted: float
    value: float
    interval: tuple[float, float]

    @property
    def at_boundary(self) -> bool:
        """Whether the interval is not reliable."""
        return not 1e-6 < self.value < 1 - 1e-6


def true_shares(confusion: Floats, counted: Floats) -> Floats:
    """Shares of the labels that explain the counts best.

    Args:
        confusion: Validation reports by true and predicted label [labels, labels].
        counted: Predicted labels of the reports to measure [labels].

    Returns:
        [labels], sum 1. A label without a validation report keeps its count.
    """
    seen = confusion.sum(1)
    errors = np.eye(len(counted))
    errors[seen > 0] = confusion[seen > 0] / seen[seen > 0, None]
    system = np.vstack([errors.T, np.full(len(counted), _SUM_WEIGHT)])
    shares, _ = nnls(system, np.append(counted / counted.sum(), _SUM_WEIGHT))
    return np.asarray(shares / shares.sum())


def corrected_shares(
    confusion: NDArray[np.integer],
    counted: Mapping[str, int],
    labels: Sequence[str],
    *,
    draws: int = 300,
) -> list[Corrected]:
    """Corrected shares of all labels, the most frequent first; empty without counts.

    Args:
        confusion: Validation reports by true and predicted label, in the order of `labels`.
    """
    numbers = np.array([counted.get(label, 0) for label in labels], np.float64)
    if not numbers.sum():
        return []
    matrix = confusion.astype(np.float64)
    best = true_shares(matrix, numbers)
    generator = np.random.default_rng(_SEED)
    total, size = int(matrix.sum()), int(numbers.sum())
    cells, weights = matrix.ravel() / max(1, total), numbers / size
    found = np.array(
        [
            true_shares(
                generator.multinomial(total, cells).reshape(matrix.shape).astype(np.float64) if total else matrix,
                generator.multinomial(size, weights).astype(np.float64),
            )
            for _ in range(draws)
        ]
    )
    low, high = np.percentile(found, [2.5, 97.5], axis=0)
    rows = [
        Corrected(label, float(weights[i]), float(best[i]), (float(low[i]), float(high[i])))
        for i, label in enumerate(labels)
    ]
    return sorted(rows, key=lambda row: -row.value)
