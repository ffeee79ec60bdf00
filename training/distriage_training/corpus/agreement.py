"""Agreement of annotators: Cohen's kappa per axis, and their differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sklearn.metrics import cohen_kappa_score, f1_score

from distriage.model.taxonomy import Taxonomy


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
    first, second = zip(*pairs, strict=True)
    different = Counter((a, b) for a, b in pairs if a != b)
    return AxisAgreement(
        n=len(pairs),
        kappa=float(cohen_kappa_score(first, second)) if len(set(first) | set(second)) > 1 else 1.0,
        accuracy=sum(a == b for a, b in pairs) / len(pairs),
        macro_f1=float(f1_score(first, second, average="macro", zero_division=0)),
        differences=tuple((a, b, n) for (a, b), n in different.most_common(12)),
    )
