"""Combinations of framework, torch, CUDA, NCCL, driver and GPU known to fail. Pure except for reading their list.

A combination counts only if the report states every fact that it names, and one release of it; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from distriage.base.texts import packaged_table, regex
from distriage.base.types import IssueReport
from distriage.base.validation import Strict, field, read_entry
from distriage.facts.environment import EnvironmentFacts
from distriage.facts.projects import projects
from distriage.facts.scanning import any_of

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_SERIES = regex(r"NVIDIA|TESLA|GEFORCE|RTX|\s")


class _Conditions(Strict):
    """Facts and their required values; None: any, even unstated."""

    framework: str | None = None
    framework_version: str | None = None
    torch: str | None = None
    python: str | None = None
    cuda: str | None = None
    nccl: str | None = None
    driver: str | None = None
    gpu_model: tuple[str, ...] | None = None


class Combination(Strict):
    """One combination known to fail.

    Attributes:
        when: Facts that the report must state; see `known_bad.toml`.
        mentions, also: Words in lower case; the report must hold one of each, if there are any.
        unless: Words in lower case; the report must hold none of them.
        problem: The failure; one sentence, Markdown.
        remedy: The way out; one sentence, Markdown.
    """

    when: _Conditions
    mentions: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    problem: str
    remedy: str
    source: str = field(pattern="^https://")

    @cached_property
    def conditions(self) -> Mapping[str, str | Sequence[str]]:
        """Fact -> its required value."""
        return {fact: wanted for fact, wanted in vars(self.when).items() if wanted is not None}

    def holds(self, facts: EnvironmentFacts, listed: Mapping[str, str]) -> bool:
        """Whether the versions in these facts are in this combination.

        If it names several releases, the failing one may be the other one.

        Args:
            listed: Further frameworks -> versions.
        """
        others = {**listed, **facts.others}
        of_others = (replace(facts, framework=name, framework_version=found) for name, found in others.items())
        return facts.ambiguous.keys().isdisjoint(self.conditions) and any(
            all(_meets(_of_job(one, fact), fact, wanted) for fact, wanted in self.conditions.items())
            for one in (facts, *(of_others if "framework" in self.conditions else ()))
        )

    def concerns(self, words: str) -> bool:
        """Whether a text in lower case mentions the failure."""
        is_seen = all(not wanted or any_of(wanted, words) for wanted in (self.mentions, self.also))
        return is_seen and not any_of(self.unless, words)


def known_bad(
    facts: EnvironmentFacts, report: IssueReport, packages: Mapping[str, str] = MappingProxyType({})
) -> list[Combination]:
    """The known problems of a report's facts, in the order of the list; the first of two with one remedy.

    Args:
        packages: Name on PyPI -> version, as a tool lists them.
    """
    if facts == EnvironmentFacts() and not packages:
        return []
    listed = frameworks(packages)
    words = f"{report.title}\n{report.body}".lower()
    found: dict[tuple[str, str], Combination] = {}
    for combination in combinations():
        if combination.concerns(words) and combination.holds(facts, listed):  # words first: versions take longer
            found.setdefault((combination.remedy, combination.source), combination)
    return list(found.values())


@cache
def combinations() -> Sequence[Combination]:
    """The packaged list."""
    return [
        read_entry(Combination, entry, f"known_bad.toml: entry {number}")
        for number, entry in enumerate(packaged_table(__package__, "known_bad.toml")["combination"], 1)
    ]


def frameworks(packages: Mapping[str, str]) -> Mapping[str, str]:
    """Framework -> version, of packages by their names on PyPI."""
    by_package = {**{name.lower(): name for name in projects().all}, **projects().names}
    return {by_package[name]: version for name, version in packages.items() if name in by_package}


def _of_job(facts: EnvironmentFacts, fact: str) -> str | None:
    """A fact; for CUDA the version that torch runs with, not the installed toolkit."""
    return facts.torch_cuda or facts.cuda if fact == "cuda" else getattr(facts, fact)


def _meets(stated: str | None, fact: str, wanted: str | Sequence[str]) -> bool:
    if stated is None:
        return False
    if not isinstance(wanted, str):
        return _SERIES.sub("", stated.upper()).startswith(tuple(wanted))
    if fact == "framework":
        return stated == wanted
    from packaging.version import InvalidVersion, Version  # slow to import, and rarely needed

    try:
        version = Version(stated)
    except InvalidVersion:  # a version that no release has, such as `2.x-nightly`
        return False
    specifiers, bounds = _specifiers(wanted)
    known = len(version.release)
    if any(len(bound) > known and bound[:known] == version.release for bound in bounds):
        return False  # "2.7" says nothing about the third number, which decides
    return specifiers.contains(version, prereleases=True)


@cache
def _specifiers(wanted: str) -> tuple[SpecifierSet, Sequence[tuple[int, ...]]]:
    """A condition on a version, and the numbers that it compares with."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    specifiers = SpecifierSet(wanted)
    return specifiers, [Version(one.version.removesuffix(".*")).release for one in specifiers]
