"""Playbooks: how each symptom, cause and fix looks, how to confirm it, what mends it. Pure, but for the packaged data.

The texts (`symptom.toml`, `cause.toml`, `fix.toml`, `pairs.toml`) belong to the packaged taxonomy; a user's has none.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

from pydantic import BaseModel, ConfigDict

from distriage.taxonomy import Taxonomy, default_taxonomy

AXES: Final = ("symptom", "cause", "fix")  # the axes whose labels have a playbook, in the order of their checks
MAX_CHECKS: Final = 3

_HEADER = re.compile(r"^\[([\w-]+)\]$", re.M)


class Playbook(BaseModel):
    """What an expert knows about one label; Markdown, one paragraph or item a string.

    Attributes:
        looks: What it looks like in a log.
        confirm: Steps that confirm it, most of them commands.
        unlike: What tells it apart from its neighbours.
        fixes: What usually mends it.
        ask: What to ask the reporter.
        check: The one check to do first; one sentence.
        sources: Pages that the commands were checked against; may be empty.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    looks: str
    confirm: tuple[str, ...]
    unlike: str
    fixes: str
    ask: tuple[str, ...]
    check: str
    sources: tuple[str, ...] = ()


def playbook_of(taxonomy: Taxonomy, axis: str, label: str) -> Playbook | None:
    """The playbook of a label; None for the labels of a taxonomy of the user's own, and on axes without playbooks."""
    if taxonomy.name != default_taxonomy().name or axis not in AXES or label not in _tables(axis):
        return None
    return _book(axis, label)


def checks_for(taxonomy: Taxonomy, labels: Mapping[str, str]) -> list[str]:
    """The two or three checks to do first.

    The check written for symptom and cause together comes first, then those of the symptom, the cause and the fix.

    Args:
        taxonomy: The one that the labels belong to.
        labels: Axis id -> label, only of axes where the label is sure enough to act on.

    Returns:
        At most `MAX_CHECKS` sentences; none for a taxonomy of the user's own.
    """
    books = [playbook_of(taxonomy, axis, labels[axis]) for axis in AXES if axis in labels]
    checks = [book.check for book in books if book is not None]
    together = _pair(labels.get("symptom"), labels.get("cause"))
    if together is not None and checks:
        checks.insert(0, together)
    return checks[:MAX_CHECKS]


def check_for(taxonomy: Taxonomy, cause: str, symptom: str | None = None) -> str:
    """The one check that tells a cause apart from others: with the symptom, of the cause alone, else its definition."""
    book = playbook_of(taxonomy, "cause", cause)
    together = _pair(symptom, cause) if book is not None else None
    return together or (book.check if book is not None else taxonomy.axes["cause"].label(cause).definition)


@cache
def _book(axis: str, label: str) -> Playbook:
    return Playbook.model_validate(tomllib.loads(_tables(axis)[label]))


@cache
def _pair(symptom: str | None, cause: str | None) -> str | None:
    """The check written for a symptom and a cause together."""
    checks: Mapping[str, str] = tomllib.loads(_tables("pairs").get(symptom or "", ""))
    return checks.get(cause or "")


@cache
def _tables(name: str) -> Mapping[str, str]:
    """Table -> its TOML. Parsing is slow, and a verdict needs one table of seventy."""
    parts = _HEADER.split(resources.files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    return dict(zip(parts[1::2], parts[2::2], strict=True))
