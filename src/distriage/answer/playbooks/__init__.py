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

__all__ = [
    "AXES",
    "MAX_CHECKS",
    "Check",
    "Playbook",
    "check_for",
    "checks_for",
    "commands_of",
    "distinct",
    "playbook_of",
]

MAX_CHECKS: Final = 1

_COMMAND = re.compile(r"`([\w./~-]+(?:\s[a-z]+\b)?)[^`]*`")


def checks_for(taxonomy: Taxonomy, labels: Mapping[str, str], situation: Situation = ORDINARY) -> list[str]:
    """The checks to do first, without those that need something missing from the report; none if its reporter knows the
    cause.

    The check written for symptom and cause together comes first, then those of the symptom, the cause and the fix. A
    check that repeats a command is dropped.

    Args:
        labels: Axis id -> label, only of axes where the label is sure enough to act on.
        situation: Where the job ran, and the content of the report.

    Returns:
        At most `MAX_CHECKS` sentences; none for a custom taxonomy.
    """
    books = [book for axis in AXES if axis in labels and (book := playbook_of(taxonomy, axis, labels[axis]))]
    together = pair(labels.get("symptom"), labels.get("cause")) if books else ()
    found = (_first(checks, situation) for checks in (together, *(book.checks for book in books)))
    return distinct(filter(None, found))[:MAX_CHECKS]


def check_for(
    taxonomy: Taxonomy, cause: str, symptom: str | None = None, situation: Situation = ORDINARY
) -> str | None:
    """The one check that tells a cause apart from others, with or without the symptom; None if none fits."""
    book = playbook_of(taxonomy, "cause", cause)
    return None if book is None else _first((*pair(symptom, cause), *book.checks), situation)


def distinct(checks: Iterable[str], beside: Iterable[str] = ()) -> list[str]:
    """The checks that repeat neither one before them nor one beside them, nor a command of these."""
    said = list(beside)
    kept: list[str] = []
    for check in checks:
        if check not in said and all(commands_of(check).isdisjoint(commands_of(other)) for other in said):
            kept.append(check)
            said.append(check)
    return kept


def commands_of(check: str) -> set[str]:
    """Commands in a check: programs with their sub-command, variables and functions."""
    return set(map(str.strip, _COMMAND.findall(check)))


def _first(checks: Iterable[Check], situation: Situation) -> str | None:
    """The first check whose needs are met, with its commands in the platform's terms."""
    if situation.explained:
        return None
    fit = (check.say for check in checks if situation.seen.issuperset(check.needs))
    return next((text for say in fit if (text := _worded(say, situation))), None)


def _worded(text: str, situation: Situation) -> str | None:
    """A sentence in the terms of a platform; None if it names something missing there."""
    words, pattern = elsewhere(situation.platform)
    if any(not words[found] for found in pattern.findall(text)):
        return None
    return pattern.sub(lambda match: words[match.group()], text)
