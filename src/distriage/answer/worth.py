"""Whether readers are likely to find a question sensible, or a check useful. Pure except for reading the weights.

Rules taken from lines that readers disliked held on the reports that they were taken from, and on no fresh ones. So a
line is cut, as a label is, by a fitted probability. `python training/research worth` fits `playbooks/worth.toml`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Final

from distriage.base.texts import packaged_table
from distriage.base.types import Fit, Prediction
from distriage.facts.projects import projects
from distriage.model.taxonomy import Taxonomy, default_taxonomy
from distriage.reading.purpose import mechanisms
from distriage.reading.report import ReadReport

QUESTION: Final = "question"
CHECK: Final = "check"
_LEAST_DOUBT = 0.02  # probabilities nearer to 0 and 1 count as this near


def measures(read: ReadReport, prediction: Prediction, taxonomy: Taxonomy) -> dict[str, float]:
    """The measures of a report.

    Returns:
        `AXIS`: log odds of its likeliest label; `AXIS/LABEL` and `AXIS:FAMILY`: probability. Counts are logarithms of
        one more.
    """
    found = {
        "length": math.log1p(len(read.report.body)),
        "mechanisms": math.log1p(mechanisms(read.segments)),
        "explained": float(read.situation.explained),
        "errors": math.log1p(len(read.input.errors)),
        "known": float(read.facts.framework in projects().all),
        **{need: float(need in read.situation.seen) for need in ("remedy", "traceback", "config")},
        "version": float("framework_version" in {*read.facts.stated(), *read.facts.ambiguous}),
    }
    for axis, scores in prediction.scores.items():
        likeliest = min(max(scores.ranked()[0][1], _LEAST_DOUBT), 1 - _LEAST_DOUBT)
        found[axis] = math.log(likeliest / (1 - likeliest))
        for label, probability in scores.probabilities.items():
            family = f"{axis}:{taxonomy.axes[axis].label(label).family}"
            found[f"{axis}/{label}"] = probability
            found[family] = found.get(family, 0.0) + probability
    return found


def deserves(line: str, measured: Mapping[str, float], taxonomy: Taxonomy, fact: str = "") -> bool:
    """Whether a line is shown: `QUESTION` for a fact, or `CHECK`. The weights are of the packaged taxonomy alone."""
    if taxonomy.name != default_taxonomy().name:
        return True
    fit = fits()[line]
    return fit.probability({**measured, f"asks/{fact}": 1.0}) >= fit.least


@cache
def fits() -> Mapping[str, Fit]:
    """The regressions of `worth.toml`, by kind of line."""
    table = packaged_table("distriage.answer.playbooks", "worth.toml")
    return {line: Fit.read(entry) for line, entry in table.items()}
