"""Playbooks: signs, confirmation and remedy of each symptom, cause and fix. Pure except for reading the packaged data.

The texts (`symptom.toml`, `cause.toml`, `fix.toml`, `pairs.toml`) belong to the packaged taxonomy; a custom one has
none. Each check names the needs that a report must show before it makes sense; `elsewhere.toml` has the names of
commands on other platforms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from distriage.answer.playbooks.books import AXES, Check, Playbook, elsewhere, pair, playbook_of
from distriage.facts.situation import ORDINARY, Situation
from distriage.model.taxonomy import Taxonomy

__all__ = ["AXES", "MAX_CHECKS", "Check", "Playbook", "check_for", "checks_for", "commands_of", "playbook_of"]

MAX_CHECKS: Final = 2

_COMMAND = re.compile(r"`([\w./~-]+(?:\s[a-z]+\b)?)[^`]*`")


def checks_for(
    taxonomy: Taxonomy, labels: Mapping[str, str], situation: Situation = ORDINARY, *, generic: bool = True
) -> list[str]:
    """The checks to do first, without those that need something missing from the report; none if its reporter knows the
    cause.

    The check written for symptom and cause together comes first, then those of the symptom, the cause and the fix. A
    check that repeats a command is dropped.

    Args:
        labels: Axis id -> label, only of axes where the label is sure enough to act on.
        situation: Where the job ran, and the content of the report.
        generic: Whether a check that fits any report may be used for lack of others.

    Returns:
        At most `MAX_CHECKS` sentences; none for a custom taxonomy.
    """
    books = [book for axis in AXES if axis in labels and (book := playbook_of(taxonomy, axis, labels[axis]))]
    if not books:
        return []
    together = pair(labels.get("symptom"), labels.get("cause"))
    said: list[str] = []
    done: set[str] = set()
    for checks in (together, *(book.checks for book in books)):
        check = _first(checks, situation, generic=False)
        if check is not None and check not in said and done.isdisjoint(commands_of(check)):
            said.append(check)
            done |= commands_of(check)
    if not said and generic:
        last = (_first(book.checks, situation, generic=True) for book in books)
        said = list(filter(None, last))[:1]
    return said[:MAX_CHECKS]


def check_for(
    taxonomy: Taxonomy, cause: str, symptom: str | None = None, situation: Situation = ORDINARY
) -> str | None:
    """The one check that tells a cause apart from others, with or without the symptom; None if none fits."""
    book = playbook_of(taxonomy, "cause", cause)
    if book is None:
        return None
    return _first((*pair(symptom, cause), *book.checks), situation, generic=False)


def commands_of(check: str) -> set[str]:
    """Commands in a check: programs with their sub-command, variables and functions."""
    return set(map(str.strip, _COMMAND.findall(check)))


def _first(checks: Iterable[Check], situation: Situation, *, generic: bool) -> str | None:
    """The first check whose needs are met, with its commands in the platform's terms."""
    if situation.explained:
        return None
    fit = (check.say for check in checks if check.generic is generic and situation.seen.issuperset(check.needs))
    return next((text for say in fit if (text := _worded(say, situation.platform))), None)


def _worded(text: str, platform: str) -> str | None:
    """A sentence in the terms of a platform; None if it names something that the platform lacks."""
    words, pattern = elsewhere(platform)
    if any(not words[found] for found in pattern.findall(text)):
        return None
    return pattern.sub(lambda match: words[match.group()], text)
