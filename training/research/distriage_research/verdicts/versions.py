"""Versions that reports mention without their product's name, judged by readers -> the weights of
`distriage.facts.release`. Pure except for files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from distriage.base.references import repository_of
from distriage.base.types import Fit
from distriage.facts.projects import projects
from distriage.facts.release.likeliest import chosen, fits
from distriage.facts.release.mentions import Mention, mentions
from distriage.facts.release.names import names_of
from distriage.facts.release.places import Of
from distriage.facts.scanning import Source, passages
from distriage.segments import Kind, split
from distriage_research.verdicts.worth import regression
from distriage_training.measure.tables import markdown

_ROOT: Final = Path(__file__).parents[4]
JUDGED: Final = _ROOT / "training" / "corpus" / "versions.jsonl"
WEIGHTS: Final = _ROOT / "src" / "distriage" / "facts" / "release" / "weights.toml"
LEAST: Final = 0.6  # probability from which a version is stated: nine of ten are right
PENALTY: Final = 20.0
LEAST_TIMES: Final = 8  # that a measure occurs
MOST: Final = 5  # mentions of a report that are kept, the likeliest
FOLDS: Final = 10
_SCALED: Final = ("place", "others", "times")
_DIGITS: Final = 2
_SHOWN: Final = (0.4, 0.5, 0.6, 0.7, 0.8)

Rows = Sequence[Mapping[str, Any]]


def measured(row: Mapping[str, Any], probability: Callable[[Mention], float]) -> dict[str, Any]:
    """A row of `versions.jsonl` for a judged report with its text: `id`, `title`, `body`, `versions`, `judged_by`.

    Args:
        probability: By which the `MOST` likeliest mentions are kept.
    """
    _, stated, output = passages(split(row["title"], row["body"]))
    found = mentions(stated, output, names_of(projects().tracker_of(row["id"])))
    kept = {id(one) for one in sorted(found, key=probability, reverse=True)[:MOST]}
    right = {_plain(version) for version in row["versions"]}
    return {
        **{name: row[name] for name in ("id", "judged_by", "versions")},
        "mentions": [
            {
                "of": one.of,
                "value": one.value,
                "titled": one.source.line == 0,
                **{name: round(value, 3) for name in _SCALED if (value := one.measures[name])},
                "measures": sorted(name for name in one.measures if name not in _SCALED),
            }
            for one in found
            if id(one) in kept or _plain(one.value) in right
        ],
    }


def likelihood(mention: Mention) -> float:
    """By today's weights."""
    return fits()[mention.of].probability(mention.measures)


def fitted(rows: Rows) -> dict[str, Fit]:
    """The regression of each kind of version."""
    told = [(mention, right) for row in rows for mention, right in _judged(row)]
    found = {}
    for of in Of:
        some = [(mention.measures, right) for mention, right in told if mention.of is of]
        times = Counter(name for measures, _ in some for name in measures)
        names = sorted(name for name, count in times.items() if count >= LEAST_TIMES)
        columns = {name: column for column, name in enumerate(names)}
        x = np.zeros((len(some), len(names)))
        for line, (measures, _) in enumerate(some):  # each has few of the names
            for name in measures.keys() & columns.keys():
                x[line, columns[name]] = measures[name]
        y = np.array([right for _, right in some], float)
        bias, weights = regression(x, y, np.ones(len(y)), PENALTY)
        found[of.value] = Fit(
            least=LEAST,
            bias=round(bias, _DIGITS),
            weights={
                name: value
                for name, weight in zip(names, weights, strict=True)
                if (value := round(float(weight), _DIGITS))
            },
        )
    return found


def held_out(rows: Rows) -> list[list[tuple[float, Mention]]]:
    """The mentions of each row, with their probabilities by regressions that have not seen the report's repository."""
    names = sorted({repository_of(row["id"]) or "" for row in rows})
    fold = dict(zip(names, np.random.default_rng(0).permutation(len(names)) % FOLDS, strict=True))
    folds = [fold[repository_of(row["id"]) or ""] for row in rows]
    by = [fitted([row for row, number in zip(rows, folds, strict=True) if number != out]) for out in range(FOLDS)]
    return [
        [(by[number][one.of].probability(one.measures), one) for one, _ in _judged(row)]
        for row, number in zip(rows, folds, strict=True)
    ]


def outcomes(rows: Rows, told: Iterable[Sequence[tuple[float, Mention]]], least: float) -> tuple[int, int, int]:
    """Reports with a right, a wrong and a missed version; a wrong one in place of a right one is missed too."""
    right = wrong = missed = 0
    for row, found in zip(rows, told, strict=True):
        some = chosen(found, least)
        of = {_plain(version) for version in row["versions"]}
        is_right = len(some) == 1 and _plain(some[0].value) in of
        right += is_right
        wrong += len(some) == 1 and not is_right
        missed += bool(of) and not is_right
    return right, wrong, missed


def shares(rows: Rows) -> str:
    """How many reports get a right, a wrong or no version, by regressions that have not seen their repository."""
    told = held_out(rows)
    table = [[f"{least}", *map(str, outcomes(rows, told, least))] for least in _SHOWN]
    return markdown(["from", "right", "wrong", "missed"], table)


def _judged(row: Mapping[str, Any]) -> list[tuple[Mention, bool]]:
    """The mentions of a row, each with whether it is right."""
    right = {_plain(version) for version in row["versions"]}
    return [(_mention(one), _plain(one["value"]) in right) for one in row["mentions"]]


def _mention(one: Mapping[str, Any]) -> Mention:
    scaled = {name: one[name] for name in _SCALED if name in one}
    source = Source(Kind.TITLE, 0) if one["titled"] else Source(Kind.PROSE, 1)
    return Mention(Of(one["of"]), one["value"], source, {**dict.fromkeys(one["measures"], 1.0), **scaled})


def _plain(version: str) -> str:
    return version.lower().removeprefix("v").removeprefix("commit ")
