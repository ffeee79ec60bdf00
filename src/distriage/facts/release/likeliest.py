"""The likeliest version in use of a product, of those that a report mentions. Pure except for reading the weights.

Rules for sentences without the product's name held on the reports that they were taken from, and on few fresh ones. So
the version is chosen by a fitted probability: `python training/research versions` fits `weights.toml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from distriage.base.texts import packaged_table
from distriage.base.types import Fit
from distriage.facts.projects import Tracker
from distriage.facts.release.mentions import A_CLAUSE, COMPARED, FAILS, IN_A_TABLE, WORKS, Mention, mentions
from distriage.facts.release.names import names_of
from distriage.facts.release.places import Of
from distriage.facts.scanning import Passage
from distriage.facts.versions import Versions

_BESIDE: Final = 0.5  # of another release from this probability on, it is unknown which is in use
_MOVED_TO: Final = "sign to"  # 0.6.2->0.6.3
_BELOW_HEADING: Final = frozenset({"alone, heading version", "begins line, heading version"})  # in use, beyond doubt


def likeliest_version(stated: Passage, output: Passage, tracker: Tracker) -> Versions:
    """The version of a product that a report mentions; several if it is unknown which is in use.

    Args:
        output: Of tools.
        tracker: The product's. Without a repository it is of a report that was filed elsewhere, where only a commit
            needs no name.
    """
    found = [
        (_probability(one, at_home=bool(tracker.repository)), one)
        for one in mentions(stated, output, names_of(tracker))
        if tracker.repository or one.of is Of.COMMIT
    ]
    return Versions({one.value: one.source for one in chosen(found)})


def _probability(one: Mention, *, at_home: bool) -> float:
    """By the weights of its kind. A commit is at least as likely as the branch that it is told with; and in the
    product's tracker it is likely enough if a clause tells nothing else.
    """
    kinds = {one.of, Of.BRANCH} if "is main" in one.measures else {one.of}
    least = fits()[one.of].least if at_home and A_CLAUSE in one.measures else 0.0
    return max(least, *(fits()[of].probability(one.measures) for of in kinds))


def chosen(found: Iterable[tuple[float, Mention]], least: float | None = None) -> Sequence[Mention]:
    """The likeliest version of several with their probabilities, if it is likely enough; of numbers the longest that
    begins with it. With another likely number, both, unless the title names the likeliest alone; with one in the same
    column of a table, both. A number that is said to work is left out where another one is said to fail, and one that
    another is compared with.

    Args:
        least: In place of the probabilities that `weights.toml` asks for.
    """
    told = sorted(found, key=lambda one: -one[0])
    if any(FAILS in one.measures for _, one in told if WORKS not in one.measures):
        told = [(probability, one) for probability, one in told if WORKS not in one.measures]
    told = [one for one in told if COMPARED not in one[1].measures] or told
    if not told or told[0][0] < (fits()[told[0][1].of].least if least is None else least):
        return ()
    best = told[0][1]
    rows = [one for _, one in told if IN_A_TABLE in one.measures and _is_short(one) is _is_short(best)]
    if best.source.line and best in rows[:1] and rows[1:]:
        return rows[:2]
    for probability, other in told[1:]:
        if probability < _BESIDE:
            break
        if other.value.startswith(best.value) or (best.of is Of.COMMIT and other.of is Of.NUMBER):
            best = other  # a number says more to a person
        elif not _BELOW_HEADING.isdisjoint(best.measures):
            break
        elif {best.of, other.of} == {Of.NUMBER} and not best.value.startswith(other.value):
            is_titled = not best.source.line and (other.source.line or _MOVED_TO in best.measures)
            return (best,) if is_titled else (best, other)
    return (best,)


def _is_short(one: Mention) -> bool:
    return "2 parts" in one.measures


@cache
def fits() -> Mapping[str, Fit]:
    """The regressions of `weights.toml`, by kind of version."""
    return {of: Fit.read(entry) for of, entry in packaged_table(__package__, "weights.toml").items()}
