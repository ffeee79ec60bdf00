"""The playbooks' data: models, and tables parsed on first use. Pure except for the packaged data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from distriage.base.texts import packaged, packaged_table, regex, table_in
from distriage.base.validation import Strict, read_entry
from distriage.model.taxonomy import Taxonomy, default_taxonomy

AXES: Final = ("symptom", "cause", "fix")  # the axes whose labels have a playbook, in the order of their checks
_HEADER = regex(r"^\[([\w-]+)\][ \t]*(?:#.*)?$", re.M)


class Check(Strict):
    """A check that a maintainer may do or ask for.

    Attributes:
        needs: Needs that the report must show; names of `distriage.facts.needs`.
    """

    needs: tuple[str, ...]
    say: str


class Playbook(Strict):
    """An expert's knowledge of one label; Markdown, one paragraph or item per string.

    Attributes:
        looks: Its signs in a log.
        confirm: Steps that confirm it, most of them commands.
        unlike: How it differs from its neighbours.
        fixes: Its usual remedies.
        ask: Questions to the reporter.
        checks: The check to do first, by the report's content: the most particular one first; may be empty.
        sources: Pages that the commands were checked against; may be empty.
    """

    looks: str
    confirm: tuple[str, ...]
    unlike: str
    fixes: str
    ask: tuple[str, ...]
    checks: tuple[Check, ...] = ()
    sources: tuple[str, ...] = ()


def playbook_of(taxonomy: Taxonomy, axis: str, label: str) -> Playbook | None:
    """The playbook of a label; None for the labels of a taxonomy of the user's own, and on axes without playbooks."""
    if taxonomy.name != default_taxonomy().name or axis not in AXES or label not in _tables(axis):
        return None
    return _book(axis, label)


@cache
def elsewhere(platform: str) -> tuple[Mapping[str, str], re.Pattern[str]]:
    """Names of commands on a platform, by their names in the checks; and a pattern of all."""
    words: Mapping[str, str] = packaged_table(__package__, "elsewhere.toml").get(platform, {})
    longest_first = sorted(words, key=len, reverse=True)
    return words, re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")


@cache
def _book(axis: str, label: str) -> Playbook:
    place = f"{axis}.toml: {label}"
    return read_entry(Playbook, table_in(_tables(axis)[label], place), place)


@cache
def pair(symptom: str | None, cause: str | None) -> tuple[Check, ...]:
    """The checks written for a symptom and a cause together."""
    checks = table_in(_tables("pairs").get(symptom or "", ""), f"pairs.toml: {symptom}")
    return tuple(read_entry(Check, check, f"pairs.toml: {symptom} {cause}") for check in checks.get(cause or "", ()))


@cache
def _tables(name: str) -> Mapping[str, str]:
    """Table -> its TOML. Parsing is slow, and a verdict needs one table of seventy."""
    parts = _HEADER.split(packaged(__package__, f"{name}.toml"))
    return dict(zip(parts[1::2], parts[2::2], strict=True))
