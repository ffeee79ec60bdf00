"""The weights of `distriage.past.same`, fitted, and how often it is right about repositories that it was not fitted to.

A pair that nobody judged counts as two issues: of 14,000 few are the same, and judged ones alone are the hard ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from distriage.base.intervals import Share
from distriage.past.same import Alike, signs

Pair = tuple[str, str]

FOLDS = 6
PENALTY = 0.05
CALIBRATED_ON = 110  # likeliest ones, nearly all judged
NAMED = (30, 50, 80)


def fit_same(
    nearest: Mapping[Pair, Alike], same: Mapping[Pair, bool], key: Collection[Pair] | None = None
) -> tuple[list[float], dict[int, Share]]:
    """Fit to issues and the nearest earlier one of each, and cross-fit by repository.

    Args:
        nearest: By ids in lower case, the later one first.
        same: Judged pairs.
        key: Those with one signature, as one more sign; None: without it.

    Returns:
        Offset and weights of `signs`; number of the likeliest that are named -> how many of the judged ones are right.
        Empty with fewer repositories than folds.
    """
    groups = [issue.rpartition("#")[0] for issue, _ in nearest]
    if len({*groups}) < FOLDS or not any(same.get(pair) for pair in nearest):
        return [], {}
    more = [() if key is None else (float(pair in key),) for pair in nearest]
    rows = np.array([(*signs(alike), *one) for alike, one in zip(nearest.values(), more, strict=True)])
    known = np.array([pair in same for pair in nearest])
    right = np.array([same.get(pair, False) for pair in nearest])
    odds = np.zeros(len(rows))
    for rest, held_out in GroupKFold(FOLDS, shuffle=True, random_state=0).split(rows, right, groups):
        odds[held_out] = _fitted(rows[rest], right[rest]).decision_function(rows[held_out])
    order = np.argsort(-odds, kind="stable")
    precision = {n: Share(int(right[order[:n]].sum()), int(known[order[:n]].sum())) for n in NAMED}
    likely = order[:CALIBRATED_ON][known[order[:CALIBRATED_ON]]]
    scale = LogisticRegression(C=1e6).fit(odds[likely, None], right[likely])
    scaler, model = _fitted(rows, right)
    slopes = model.coef_[0] / scaler.scale_
    offset = model.intercept_[0] - scaler.mean_ @ slopes
    slope, shift = scale.coef_[0, 0], scale.intercept_[0]
    return [float(slope * offset + shift), *map(float, slope * slopes)], precision


def same_table(weights: Sequence[float], precision: Mapping[int, Share]) -> str:
    """The figures as a sentence."""
    named = ", ".join(f"{share.hits} of {share.n} judged of the likeliest {n}" for n, share in precision.items())
    return f"Right when fitted to other repositories: {named}. Weights: {', '.join(f'{one:.2f}' for one in weights)}."


def _fitted(rows: NDArray[np.float64], right: NDArray[np.bool_]) -> Pipeline:
    return make_pipeline(StandardScaler(), LogisticRegression(C=PENALTY)).fit(rows, right)
