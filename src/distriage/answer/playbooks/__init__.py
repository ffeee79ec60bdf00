"""Playbooks: signs, confirmation and remedy of each symptom, cause and fix. Pure except for reading the packaged data.

The texts (`symptom.toml`, `cause.toml`, `fix.toml`, `pairs.toml`) belong to the packaged taxonomy; a custom one has
none. Each check names the needs that a report must show before it makes sense; `elsewhere.toml` has the names of
commands on other platforms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from distriage.answer.playbooks.books import AXES, Check, Playbook, elsewhere, pair, playbook_of
from distriage.facts.situation import ORDINARY, Situation
from distriage.model.taxonomy import Taxonomy

__all__ = [
    "AXES",
    "Check",
    "Playbook",
    "check_for",
    "checks_for",
    "playbook_of",
]


def checks_for(taxonomy: Taxonomy, labels: Mapping[str, str], situation: Situation = ORDINARY) -> list[str]:
    """The check to do first, of those whose needs the report shows; none if its reporter knows the cause or none is
    likely to be useful.

    The check written for symptom and cause together comes first, then those of the symptom, the cause and the fix.

    Args:
        labels: Axis id -> label, only of axes where the label is sure enough to act on.
        situation: Where the job ran, and the content of the report.

    Returns:
        At most one; none for a custom taxonomy.
    """
    books = [book for axis in AXES if axis in labels and (book := playbook_of(taxonomy, axis, labels[axis]))]
    together = pair(labels.get("symptom"), labels.get("cause")) if books else ()
    found = (_first(checks, situation) for checks in (together, *(book.checks for book in books)))
    return list(islice(filter(None, found), 1))


def check_for(
    taxonomy: Taxonomy, cause: str, symptom: str | None = None, situation: Situation = ORDINARY
) -> str | None:
    """The one check that tells a cause apart from others, with or without the symptom; None if none fits."""
    book = playbook_of(taxonomy, "cause", cause)
    return None if book is None else _first((*pair(symptom, cause), *book.checks), situation)


def _first(checks: Iterable[Check], situation: Situation) -> str | None:
    """The first check whose needs are met, with its commands in the platform's terms."""
    if situation.explained or not situation.checkable:
        return None
    fit = (check.say for check in checks if situation.seen.issuperset(check.needs))
    return next((text for say in fit if (text := _worded(say, situation))), None)


def _worded(text: str, situation: Situation) -> str | None:
    """A sentence in the terms of a platform; None if it names something missing there."""
    words, pattern = elsewhere(situation.platform)
    if any(not words[found] for found in pattern.findall(text)):
        return None
    return pattern.sub(lambda match: words[match.group()], text)
