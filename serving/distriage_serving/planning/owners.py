"""Whom the configuration names for an issue like this, as a suggestion; nobody is assigned unasked. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from distriage.answer.verdict import Verdict

_DAY_S = 86400.0
_THURSDAY = 3  # days from a week's begin to that of Unix time


def owners_of(
    verdict: Verdict, labels: Collection[str], table: Mapping[str, Sequence[str]], filed_at: float
) -> Iterator[tuple[str, str]]:
    """(login or team, the table's key) for each key that fits: a label that the model is sure of or its family, a sign,
    a label on the issue, the framework, or a word of the GPU's name. The week of filing chooses one of several.

    Args:
        labels: The issue's and planned ones.
        filed_at: Unix time in seconds.
    """
    sure = [said for said in verdict.axes.values() if said.outcome == "apply"]
    facts = verdict.environment
    fits = {
        *(said.label for said in sure),
        *(said.family for said in sure if said.family),
        *(sign.name for sign in verdict.signs or ()),
        *labels,
        str(facts.get("framework", "")),
        *str(facts.get("gpu_model", "")).split(),
        *(name for name in ("rocm", "cann") if name in facts),
    }
    known = {name.casefold() for name in fits}
    week = (int(filed_at // _DAY_S) + _THURSDAY) // 7
    for key, people in table.items():
        if key.casefold() in known:
            yield people[week % len(people)], key
