"""Intervals of differences. Pure."""

from __future__ import annotations

import numpy as np

from distriage_training.measure.scoring import DRAWS, SEED, Floats


def paired_interval(differences: Floats) -> tuple[float, float]:
    """95 % percentile interval of a mean difference [n] over reports drawn with replacement."""
    rng = np.random.default_rng(SEED)
    means = differences[rng.integers(0, len(differences), (DRAWS, len(differences)))].mean(1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)
