"""A domain gate that looks at single words: what it lets pass can be foreseen."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from distriage.model.bundle import DOMAIN, INDEX
from distriage.model.domain import DOMAIN_FORMAT, PER_AXIS, PER_REPORT, PER_VIEW
from distriage.recipe.features import HASH_BUCKETS, VIEWS

from support.keyword_model import seal

FOREIGN = {"apple": -100, "recipe": -100, "football": -100}


def arrays(weights: Mapping[str, int], axes: tuple[str, ...] = ("kind",)) -> dict[str, np.ndarray]:
    """What is in domain.npz: a report passes unless a word of negative weight is in it."""
    per_bucket = np.zeros(VIEWS * HASH_BUCKETS, np.int8)
    for word, weight in weights.items():
        for view in range(VIEWS):
            per_bucket[view * HASH_BUCKETS + zlib.crc32(word.encode()) % HASH_BUCKETS] = weight
    features = PER_VIEW * VIEWS + PER_REPORT + PER_AXIS * len(axes)
    return {
        "format": np.asarray(DOMAIN_FORMAT),
        "axes": np.asarray(json.dumps(axes)),
        "idf": np.ones(VIEWS * HASH_BUCKETS, np.uint8),
        "idf_step": np.ones(VIEWS),
        "weights": per_bucket,
        "weight_step": np.ones(VIEWS),
        "bias": np.zeros(VIEWS),
        "mean": np.zeros(features),
        "scale": np.ones(features),
        "coefficients": np.asarray([1.0] * VIEWS + [0.0] * (features - VIEWS)),
        "intercept": np.asarray(1.0),
        "threshold": np.asarray(0.5),
        "sure_threshold": np.asarray(0.5),
    }


def add_gate(folder: Path, weights: Mapping[str, int] = FOREIGN) -> Path:
    """Put the gate into a bundle."""
    np.savez_compressed(folder / DOMAIN, **arrays(weights))
    return seal(folder, extra=[DOMAIN, *([INDEX] if (folder / INDEX).is_file() else [])])
