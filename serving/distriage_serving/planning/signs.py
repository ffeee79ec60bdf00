"""The configured labels of a verdict's signs, as labels of the repository's own. Pure.

So dry run, undo, reviews and suggestions are those of own labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from distriage.answer.verdict import Verdict
from distriage.base.types import IssueReport
from distriage.github.releases import Release
from distriage.own.answer import OwnLabel
from distriage.signs.find import gate_of
from distriage.signs.kinds import Sign, in_order, kinds
from distriage_serving.configuration.names import Names

OF_RELEASES: Final = frozenset({"affects-latest", "old-version"})  # the others need no request


def needs_releases(names: Names) -> bool:
    """Whether a label depends on the repository's releases."""
    return not OF_RELEASES.isdisjoint(names.signs)


def with_signs(
    verdict: Verdict, report: IssueReport, names: Names, releases: Sequence[Release] = (), filed_at: float = 0.0
) -> Verdict:
    """A verdict with the version gate's sign, and with the labels of all signs among the own ones.

    Args:
        releases: Those of the repository, as far as known.
        filed_at: Unix time in seconds.
    """
    signs = [sign for sign in verdict.signs or () if not releases or sign.name not in OF_RELEASES]
    at = (verdict.sources or {}).get("framework_version")
    signs = in_order([*signs, gate_of(report, verdict.environment, at.line if at else None, releases, filed_at)])
    labels = {}
    for sign in signs:
        if (label := names.signs.get(sign.name)) is not None:
            precision = kinds()[sign.name].precision
            labels[label.name.casefold()] = OwnLabel(
                label=label.name, probability=precision, applied=True, precision=precision
            )
    others = [one for one in verdict.own or () if one.label.casefold() not in labels]
    own = [*others, *labels.values()] if labels else verdict.own
    return verdict.model_copy(update={"signs": signs, "own": own})


def sign_behind(label: str, verdict: Verdict, names: Names) -> Sign | None:
    """The sign for which a label is set, if any."""
    return next(
        (
            sign
            for sign in verdict.signs or ()
            if (named := names.signs.get(sign.name)) is not None and named.name.casefold() == label.casefold()
        ),
        None,
    )
