"""Our causes folded to the categories of other studies. Pure except for reading the packaged table."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import resources
from typing import Any

from distriage_training.study.counts import Share
from distriage_training.study.faults import Fault
from distriage_training.study.figures import Bar, bars
from distriage_training.study.groups import cells
from distriage_training.study.sections import Figure, Table

UNMAPPED = "no counterpart"


@cache
def folds() -> Mapping[str, Any]:
    """The packaged table: study -> its categories with our causes, and the causes without one."""
    text = resources.files(__package__).joinpath("folded.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def folded(causes: Sequence[str], study: str) -> list[Share]:
    """How often each category of a study, and `UNMAPPED`, stands for the given causes of ours."""
    categories: Mapping[str, Sequence[str]] = {
        **folds()[study]["categories"],
        UNMAPPED: list(folds()[study]["unmapped"]),
    }
    return [Share(sum(cause in ours for cause in causes), len(causes), name) for name, ours in categories.items()]


def folded_figures(faults: Sequence[Fault]) -> Iterator[Figure]:
    """A figure for each study; none without causes."""
    causes = [fault.labels["cause"] for fault in faults if "cause" in fault.labels]
    for name, study in folds().items() if causes else ():
        shares = folded(causes, name)
        rows = [[share.name, share.hits, share.n, *cells(share.value, share.interval)] for share in shares]
        drawn = [Bar(share.name, share.value, *share.interval, f"({share.hits:,})") for share in shares]
        yield Figure(
            f"Causes folded to those of {study['name']}",
            f"{study['title']}. {study['notes']} As counted; lines: Wilson's 95 % interval. Which cause of ours goes "
            "where, and why some go nowhere, is in folded.toml.",
            Table(f"folded-{name}", ("category", "reports", "of", "share", "low", "high"), rows),
            partial(bars, drawn, f"Causes by the categories of {study['name']}"),
        )
