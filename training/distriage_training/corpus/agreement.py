"""How far annotators agree: Cohen's kappa per axis, and where they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from distriage.taxonomy import Taxonomy


@dataclass(frozen=True, slots=True)
class AxisAgreement:
    """Agreement of two readers on one axis.

    Attributes:
        n: Reports that both labelled on this axis.
        kappa: Cohen's kappa (1960).
        accuracy, macro_f1: Of the second reader against the first.
        differences: The commonest pairs of different labels, with counts.
    """

    n: int
    kappa: float
    accuracy: float
    macro_f1: float
    differences: tuple[tuple[str, str, int], ...]


def compare(
    first: Mapping[str, Mapping[str, object]], second: Mapping[str, Mapping[str, object]], taxonomy: Taxonomy
) -> dict[str, AxisAgreement]:
    """Compare two readers, axis by axis, on the reports that both labelled; axes without any are left out."""
    result = {}
    shared = sorted(first.keys() & second.keys())
    for axis in taxonomy.axes:
        both = [i for i in shared if first[i].get(axis) is not None and second[i].get(axis) is not None]
        pairs = [(str(first[i][axis]).lower(), str(second[i][axis]).lower()) for i in both]
        if pairs:
            result[axis] = _agreement(pairs)
    return result


def _agreement(pairs: Sequence[tuple[str, str]]) -> AxisAgreement:
    n, agreed = len(pairs), Counter(a for a, b in pairs if a == b)
    one, other = (Counter(labels) for labels in zip(*pairs, strict=True))
    chance = sum(one[label] * other[label] for label in one)  # of n * n pairs
    shares = [2 * agreed[label] / (one[label] + other[label]) for label in one | other]  # F1 of each label
    different = Counter((a, b) for a, b in pairs if a != b)
    return AxisAgreement(
        n=n,
        kappa=(n * agreed.total() - chance) / (n * n - chance) if len(shares) > 1 else 1.0,
        accuracy=agreed.total() / n,
        macro_f1=sum(shares) / len(shares),
        differences=tuple((a, b, times) for (a, b), times in different.most_common(12)),
    )
