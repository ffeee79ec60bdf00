"""Published figures beside ours: Ma et al. and Liu et al. Pure except for reading the packaged file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distriage.model.taxonomy import Axis, Taxonomy
from distriage_research.published.folded import folded_figures
from distriage_training.study.correction import Confusions, corrected_shares
from distriage_training.study.counts import Share, distributed_share, frequencies
from distriage_training.study.faults import TRUE, Fault
from distriage_training.study.sections import Figure, Section, Table

_DISTRIBUTED = (
    "What concerns distributed use is not defined alike. Here, several processes, devices or nodes are involved, or "
    "the report is about a package made for distributed training, its installation included. Ma et al. count what is "
    "unique to distributed frameworks, Liu et al. what is specific to distributed training."
)
_SAMPLES = (
    "The studies differ most by what was sampled: solved posts and Stack Overflow questions bring installation and API "
    "usage; whole trackers bring framework defects; a corpus that sought rare labels shows them more often than any "
    "tracker."
)


@cache
def published() -> Mapping[str, Any]:
    """The packaged figures: study -> figure."""
    text = resources.files(__package__).joinpath("published.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def published_section(bugs: Sequence[Fault], taxonomy: Taxonomy, confusions: Confusions) -> Section:
    """The section of a study that compares it with the published ones; empty without their axes."""
    section = Section("published", "Beside the published studies")
    if not {"stage", "fix", "distributed"} <= taxonomy.axes.keys():
        return section
    rows = comparison(bugs, taxonomy, confusions)
    corrected = (
        "Of this study, stages and fixes are corrected for the model's errors; what concerns distributed use is as "
        "counted. "
        if confusions
        else ""
    )
    studies = [f"{one['name']}, {one['title']}: {one['sampling']} {one['notes']}" for one in published().values()]
    figure = Figure(
        "The same figures from three studies",
        f"In brackets the 95 % interval. {corrected}{_DISTRIBUTED} Ma et al. give some figures only, and no intervals. "
        "Shares of fixes of Liu et al. are of the 498 faults whose fix has a counterpart here. "
        f"{' '.join(studies)} {_SAMPLES}",
        Table("published", ("", "this study", "Ma et al. 2025", "Liu et al. 2023"), rows),
    )
    section.figures.extend([figure, *folded_figures(bugs)])
    return section


def comparison(faults: Sequence[Fault], taxonomy: Taxonomy, confusions: Confusions) -> list[tuple[str, ...]]:
    """Rows of measure, ours, Ma et al., Liu et al.; an empty cell where a study does not give a figure.

    Args:
        confusions: Axis -> errors of the model that predicted its labels, by which shares of stages and fixes are
            corrected.
    """
    ma, liu = published()["ma"], published()["liu"]
    judged = [fault for fault in faults if "distributed" in fault.labels]
    ours = Share(sum(fault.labels["distributed"] == TRUE for fault in judged), len(judged))
    rows: list[tuple[str, ...]] = [
        ("Failures counted", f"{len(faults):,}", f"{ma['reports']:,}", f"{liu['reports']:,}"),
        (
            "Concerns distributed use",
            shown(ours),
            f"{100 * ma['distributed']:.1f} % of symptoms",
            shown(Share(liu["distributed"], liu["reports"])),
        ),
    ]
    setup = {share.name: share for share in distributed_share(faults, "stage")}.get("communication-setup")
    theirs = Share(liu["distributed_by_stage"]["communication-setup"], liu["stage"]["communication-setup"])
    rows.append(
        (
            "Communication setup: concerns distributed use",
            shown(setup) if setup else "",
            f"{100 * ma['communication_setup_distributed']:.0f} %",
            shown(theirs),
        )
    )
    for axis in ("stage", "fix"):
        ours_by_label = _ours(faults, taxonomy.axes[axis], confusions.get(axis))
        counted = sum(liu[axis].values())
        rows += [
            (
                f"{axis.capitalize()}: {label.name.lower()}",
                ours_by_label.get(label.id, ""),
                _of_ma(label.id),
                shown(Share(liu[axis][label.id], counted)) if label.id in liu[axis] else "",
            )
            for label in taxonomy.axes[axis].labels
        ]
    return rows


def _ours(faults: Sequence[Fault], axis: Axis, confusion: NDArray[np.integer] | None) -> dict[str, str]:
    shares = frequencies(faults, axis)
    if confusion is None:
        return {share.name: shown(share) for share in shares}
    n = sum(share.hits for share in shares)
    rows = corrected_shares(confusion, {share.name: share.hits for share in shares}, axis.label_ids)
    return {row.name: _shown(row.value, row.interval, n) for row in rows}


def _of_ma(label: str) -> str:
    found = published()["ma"].get(label.replace("-", "_"))
    if found is None:
        return ""
    return f"about {100 * found:.0f} %" if round(found, 2) == found else f"{100 * found:.1f} %"


def shown(share: Share) -> str:
    """`41.2 % (39.9 to 42.5), n = 12,345`."""
    return _shown(share.value, share.interval, share.n)


def _shown(value: float, interval: tuple[float, float], n: int) -> str:
    low, high = interval
    return f"{100 * value:.1f} % ({100 * low:.1f} to {100 * high:.1f}), n = {n:,}"
