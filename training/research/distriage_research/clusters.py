"""How many clusters trackers have, were all their issues open, and how often two issues of one have one cause."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from distriage.base.intervals import Share
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.past.build import fingerprints
from distriage.past.clusters import clusters
from distriage.past.issue import PastIssue, read_issues
from distriage.past.words import unit
from distriage_training.corpus.tables import read_csv
from distriage_training.measure.tables import markdown


@dataclass(frozen=True, slots=True)
class ClustersResult:
    """Clusters and the judged pairs in them.

    Attributes:
        found: Repository -> its issues, its clusters, those of three issues or more, the issues in clusters.
        pairs: Pairs of issues of one cluster.
        right: How many of the judged ones have one cause.
    """

    found: dict[str, tuple[int, int, int, int]]
    pairs: int
    right: Share


def measure_clusters(classifier: Classifier, texts: Sequence[str], judged: Path) -> ClustersResult:
    """Gather the issues of each repository; the first copy of an issue counts.

    Args:
        judged: CSV with `issue`, `past` and `same` (`yes` or `no`): have the two one cause?

    Raises:
        CorpusError: the table lacks a column.
        InputError: a file of issues cannot be read.
    """
    same = {(row["issue"], row["past"]): row["same"] == "yes" for row in read_csv(judged, ("issue", "past", "same"))}
    places: dict[str, dict[str, tuple[PastIssue, IssueReport]]] = defaultdict(dict)
    for file in texts:
        for issue, report in read_issues(file):
            places[issue.place].setdefault(issue.id.lower(), (issue, report))
    found, pairs = {}, []
    for place, of_place in sorted(places.items()):
        known = sorted(of_place.values(), key=lambda item: item[0].number)
        prints = list(fingerprints([report for _, report in known], classifier))
        issues = [
            replace(issue, state="", signature=one.signature) for (issue, _), one in zip(known, prints, strict=True)
        ]
        gathered = [one.open for one in clusters(issues, np.array([unit(one.vector) for one in prints], np.float32))]
        found[place] = len(known), len(gathered), sum(len(one) > 2 for one in gathered), sum(map(len, gathered))
        pairs += [(b.id.lower(), a.id.lower()) for one in gathered for a, b in combinations(one, 2)]
    hits = [same[pair] for pair in pairs if pair in same]
    return ClustersResult(found, len(pairs), Share(sum(hits), len(hits)))


def clusters_table(result: ClustersResult) -> str:
    """The figures as Markdown."""
    rows = [(place, *counts) for place, counts in result.found.items() if counts[1]]
    total = ("all", *map(sum, zip(*result.found.values(), strict=True)))
    table = markdown(["", "issues", "clusters", "of three or more", "issues in clusters"], [*rows, total])
    said = f"\n\n{result.right.n} of {result.pairs} pairs in clusters were judged"
    if not result.right.n:
        return f"{table}{said}."
    low, high = result.right.interval
    share = f"{result.right.hits / result.right.n:.2f}, {low:.2f} to {high:.2f}"
    return f"{table}{said}, and {result.right.hits} have one cause ({share})."
