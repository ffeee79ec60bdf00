"""Playbooks: how each symptom, cause and fix looks, how to confirm it, what mends it. Pure, but for the packaged data.

The texts (`symptom.toml`, `cause.toml`, `fix.toml`, `pairs.toml`) belong to the packaged taxonomy; a user's has none.
Each check names what must be seen in a report before it makes sense; `elsewhere.toml` has the names that commands have
on other platforms.
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
    """The checks to do first; none that needs what the report does not show, or where its reporter knows the cause.

    The check written for symptom and cause together comes first, then those of the symptom, the cause and the fix. One
    whose command another has is left out.

    Args:
        taxonomy: The one that the labels belong to.
        labels: Axis id -> label, only of axes where the label is sure enough to act on.
        situation: On what the job ran, and what is seen of it.
        generic: Whether one that fits any report may stand where there is none else.

    Returns:
        At most `MAX_CHECKS` sentences; none for a taxonomy of the user's own.
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
    """The one check that tells a cause apart from others, with the symptom or of it alone; None: none fits."""
    book = playbook_of(taxonomy, "cause", cause)
    if book is None:
        return None
    return _first((*pair(symptom, cause), *book.checks), situation, generic=False)


def commands_of(check: str) -> set[str]:
    """What a check has one do: programs with their sub-command, variables and functions."""
    return set(map(str.strip, _COMMAND.findall(check)))


def _first(checks: Iterable[Check], situation: Situation, *, generic: bool) -> str | None:
    """The first check of which all is seen, with its commands as the platform calls them."""
    if situation.explained:
        return None
    fit = (check.say for check in checks if check.generic is generic and situation.seen.issuperset(check.needs))
    return next((text for say in fit if (text := _worded(say, situation.platform))), None)


def _worded(text: str, platform: str) -> str | None:
    """A sentence with what there is on a platform; None: it names something that there is not."""
    words, pattern = elsewhere(platform)
    if any(not words[found] for found in pattern.findall(text)):
        return None
    return pattern.sub(lambda match: words[match.group()], text)
