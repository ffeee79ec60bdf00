"""Playbooks: how each symptom, cause and fix looks, how to confirm it, what mends it. Pure, but for the packaged data.

The texts (`symptom.toml`, `cause.toml`, `fix.toml`, `pairs.toml`) belong to the packaged taxonomy; a user's has none.
They are written for training on several of NVIDIA's cards under Linux; `wording` and `elsewhere.toml` say what holds
elsewhere.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

from distriage.answer.playbooks.wording import worded
from distriage.base.validation import Strict
from distriage.facts.situation import ORDINARY, Platform, Situation
from distriage.model.taxonomy import Taxonomy, default_taxonomy

AXES: Final = ("symptom", "cause", "fix")  # the axes whose labels have a playbook, in the order of their checks
MAX_CHECKS: Final = 3

_ACTS = re.compile(  # that several checks share and no command names
    r"micro batch|\bworld\b|\bpin\b|fresh environment|\bkeys\b|\bprofile\b|two features|last good release|in fp32"
    r"|the option\b|reproduce(?= (?:on|with) the )"
)
_COMMAND = re.compile(r"`([\w./~-]+(?:\s[a-z]+\b)?)[^`]*`")
_HEADER = re.compile(r"^\[([\w-]+)\]$", re.M)


class Playbook(Strict):
    """What an expert knows about one label; Markdown, one paragraph or item a string.

    Attributes:
        looks: What it looks like in a log.
        confirm: Steps that confirm it, most of them commands.
        unlike: What tells it apart from its neighbours.
        fixes: What usually mends it.
        ask: What to ask the reporter.
        check: The one check to do first; one sentence.
        serving: That check where a model is served; empty: it is the same.
        on: Platform -> the check there, where other commands than those of `elsewhere.toml` do it.
        sources: Pages that the commands were checked against; may be empty.
    """

    looks: str
    confirm: tuple[str, ...]
    unlike: str
    fixes: str
    ask: tuple[str, ...]
    check: str
    serving: str = ""
    on: Mapping[Platform, str] = {}
    sources: tuple[str, ...] = ()


def playbook_of(taxonomy: Taxonomy, axis: str, label: str) -> Playbook | None:
    """The playbook of a label; None for the labels of a taxonomy of the user's own, and on axes without playbooks."""
    if taxonomy.name != default_taxonomy().name or axis not in AXES or label not in _tables(axis):
        return None
    return _book(axis, label)


def checks_for(taxonomy: Taxonomy, labels: Mapping[str, str], situation: Situation = ORDINARY) -> list[str]:
    """The two or three checks to do first.

    The check written for symptom and cause together comes first, then those of the symptom, the cause and the fix. One
    that needs a command which there is not, or that does again what one before it does, is left out.

    Args:
        taxonomy: The one that the labels belong to.
        labels: Axis id -> label, only of axes where the label is sure enough to act on.
        situation: On what the job ran.

    Returns:
        At most `MAX_CHECKS` sentences; none for a taxonomy of the user's own.
    """
    books = [book for axis in AXES if axis in labels and (book := playbook_of(taxonomy, axis, labels[axis]))]
    together = [_together(labels.get("symptom"), labels.get("cause"), situation)] if books else []
    checks: list[str] = []
    done: set[str] = set()
    for check in filter(None, [*together, *(_check_of(book, situation) for book in books)]):
        if done.isdisjoint(commands_of(check)):
            checks.append(check)
            done |= commands_of(check)
    return checks[:MAX_CHECKS]


def check_for(taxonomy: Taxonomy, cause: str, symptom: str | None = None, situation: Situation = ORDINARY) -> str:
    """The one check that tells a cause apart from others: with the symptom, of the cause alone, else its definition."""
    book = playbook_of(taxonomy, "cause", cause)
    check = (_together(symptom, cause, situation) or _check_of(book, situation)) if book is not None else None
    return check or taxonomy.axes["cause"].label(cause).definition


def commands_of(check: str) -> set[str]:
    """What a check has one do: programs with their sub-command, variables and functions, and some acts without one."""
    return {*map(str.strip, _COMMAND.findall(check)), *_ACTS.findall(check.lower())}


def _check_of(book: Playbook, situation: Situation) -> str | None:
    """The check of a playbook as it holds in a situation, else the first step of the confirmation that does."""
    if situation.platform in book.on:
        return book.on[situation.platform]
    steps = (*([book.serving] if situation.serving and book.serving else []), book.check, *book.confirm)
    return next((text for step in steps if (text := worded(step, situation))), None)


def _together(symptom: str | None, cause: str | None, situation: Situation) -> str | None:
    check = _pair(symptom, cause)
    return worded(check, situation) if check is not None else None


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
