"""Past issues: how fast they are indexed, and how long a look-up among many takes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.engine.workers import cores
from distriage.past.build import Fingerprint, fingerprints
from distriage.past.file import load_index
from distriage.past.index import PastQuery, make_index
from distriage.past.issue import PastIssue
from distriage_training.bench.inputs import milliseconds, summary
from distriage_training.bench.start import peak_mib

SEED = 7
DAY_S = 86_400


def measure(bundle: Path, reports: Sequence[IssueReport], issues: int, folder: Path) -> dict[str, Any]:
    """Index the reports as issues, then look each up among `issues` synthetic ones.

    A synthetic issue has half of the words of each of two reports, and their vectors' sum with noise: all differ, and
    words are as common as in the reports.
    """
    classifier = Classifier(bundle, threads=1)
    began = time.perf_counter()
    known = list(fingerprints(reports, classifier, cores()))
    rate = len(reports) / (time.perf_counter() - began)
    mixed = list(_mixed(known, issues))
    past = [
        PastIssue(f"owner/repo#{number}", f"Issue {number}", "", "open", "", float(DAY_S * number))
        for number in range(1, issues + 1)
    ]
    index = make_index(
        past,
        [one.features for one in mixed],
        [one.vector for one in mixed],
        classifier.bundle.manifest.name,
    )
    file = folder / "past.npz"
    index.save(file)
    loaded = milliseconds(lambda: load_index(file))
    index.find(PastQuery(*known[0][:2]))  # one-time work is not counted
    times = [milliseconds(lambda: index.find(PastQuery(*one[:2]))) for one in known]  # noqa: B023 - called at once
    return {
        "issues": issues,
        "reports": len(reports),
        "processes": cores(),
        "indexed_per_s": round(rate, 1),
        "file_mb": round(file.stat().st_size / 1e6, 1),
        "load_s": round(loaded / 1000, 2),
        "find_ms": summary(times),
        "peak_mib": round(peak_mib(), 1),
    }


def _mixed(known: Sequence[Fingerprint], count: int) -> Iterator[Fingerprint]:
    draw = np.random.default_rng(SEED)
    for number in range(count):
        one, other = known[number % len(known)], known[int(draw.integers(len(known)))]
        halves = [_half(*each.features, draw) for each in (one, other)]
        buckets, first = np.unique(np.concatenate([half[0] for half in halves]), return_index=True)
        vector = one.vector + other.vector
        noise = draw.normal(0, float(np.abs(vector).mean()) if vector.size else 0.0, vector.shape)
        counts = np.concatenate([half[1] for half in halves])[first]
        yield Fingerprint((buckets, counts), (vector + noise).astype(np.float32))


def _half(buckets: Any, counts: Any, draw: np.random.Generator) -> tuple[Any, Any]:
    kept = draw.random(len(buckets)) < 0.5
    return buckets[kept], counts[kept]
