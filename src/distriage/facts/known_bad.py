"""Combinations of framework, torch, CUDA, NCCL, driver and GPU that are known not to work. Pure, but for their list.

A combination counts only where the report states every fact that it names, and one release of it; what is not stated is
not guessed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from importlib import resources
from typing import TYPE_CHECKING

from distriage.base.types import IssueReport
from distriage.base.validation import Strict, field
from distriage.facts.environment import EnvironmentFacts
from distriage.facts.scanning import any_of

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_SERIES = re.compile(r"NVIDIA|TESLA|GEFORCE|RTX|\s")


class _Conditions(Strict):
    """Facts and what they must be; None: any, even none."""

    framework: str | None = None
    framework_version: str | None = None
    torch: str | None = None
    python: str | None = None
    cuda: str | None = None
    nccl: str | None = None
    driver: str | None = None
    gpu_model: tuple[str, ...] | None = None


class Combination(Strict):
    """One combination that is known not to work.

    Attributes:
        when: What the report must state; see `known_bad.toml`.
        mentions: Words in lower case; the report must hold one of them, if there are any.
        unless: Words in lower case; the report must hold none of them.
        problem: What goes wrong; one sentence, Markdown.
        remedy: What to do about it; one sentence, Markdown.
        source: The page that says so.
    """

    when: _Conditions
    mentions: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    problem: str
    remedy: str
    source: str = field(pattern="^https://")

    @cached_property
    def conditions(self) -> Mapping[str, str | Sequence[str]]:
        """Fact -> what it must be."""
        return {fact: wanted for fact, wanted in vars(self.when).items() if wanted is not None}

    def holds(self, facts: EnvironmentFacts) -> bool:
        """Whether the versions of a report that states these facts are in this combination.

        Where it names several releases, the one that fails may be the other one.
        """
        of_others = (replace(facts, framework=name, framework_version=found) for name, found in facts.others.items())
        return facts.ambiguous.keys().isdisjoint(self.conditions) and any(
            all(_meets(_of_job(one, fact), fact, wanted) for fact, wanted in self.conditions.items())
            for one in (facts, *(of_others if "framework" in self.conditions else ()))
        )

    def concerns(self, words: str) -> bool:
        """Whether a text in lower case speaks of what goes wrong."""
        return (not self.mentions or any_of(self.mentions, words)) and not any_of(self.unless, words)


def known_bad(facts: EnvironmentFacts, report: IssueReport) -> list[Combination]:
    """The known problems of what a report states, in the order of the list; of two with one remedy the first."""
    if facts == EnvironmentFacts():
        return []
    holding = [combination for combination in combinations() if combination.holds(facts)]
    words = f"{report.title}\n{report.body}".lower() if holding else ""
    found: dict[tuple[str, str], Combination] = {}
    for combination in holding:
        if combination.concerns(words):
            found.setdefault((combination.remedy, combination.source), combination)
    return list(found.values())


@cache
def combinations() -> Sequence[Combination]:
    """The packaged list."""
    data: Mapping[str, list[object]] = tomllib.loads(
        resources.files("distriage.facts").joinpath("known_bad.toml").read_text(encoding="utf-8")
    )
    return [Combination.read(entry) for entry in data["combination"]]


def _of_job(facts: EnvironmentFacts, fact: str) -> str | None:
    """A fact; of CUDA that which torch runs with, whatever toolkit is installed."""
    return facts.torch_cuda or facts.cuda if fact == "cuda" else getattr(facts, fact)


def _meets(stated: str | None, fact: str, wanted: str | Sequence[str]) -> bool:
    if stated is None:
        return False
    if not isinstance(wanted, str):
        return _SERIES.sub("", stated.upper()).startswith(tuple(wanted))
    if fact == "framework":
        return stated == wanted
    from packaging.version import InvalidVersion, Version  # slow to import, and most reports state no such pair

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
