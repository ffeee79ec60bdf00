"""The meaning of a repository's labels, by the configuration and by `--map`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from distriage.base.errors import InputError
from distriage.model.taxonomy import Taxonomy
from distriage_serving.configuration.model import RepositoryConfig
from distriage_serving.configuration.names import resolve

Meaning = Mapping[str, frozenset[tuple[str, str]]]
_TYPE: Final = "issue type\n"  # before the name of one; no label holds a line feed


def make_mapping(config: RepositoryConfig, extra: Sequence[str], taxonomy: Taxonomy) -> Meaning:
    """Case-folded name of a repository's label or issue type -> the (axis, label) pairs that it means.

    Args:
        extra: `name=axis:label`, several may share a name.

    Raises:
        InputError: an entry of `extra` is malformed, or names an unknown axis or label.
    """
    meaning: dict[str, set[tuple[str, str]]] = {}
    for axis in resolve(config, taxonomy).axes.values():
        for label_id, named in axis.labels.items():
            meaning.setdefault(named.name.casefold(), set()).add((axis.id, label_id))
            if named.issue_type is not None:
                meaning.setdefault(_TYPE + named.issue_type.casefold(), set()).add((axis.id, label_id))
    for entry in extra:
        name, equals, target = entry.rpartition("=")
        axis_id, colon, label = target.strip().partition(":")
        if not (name.strip() and equals and colon):
            raise InputError(f"--map {entry!r}: expected NAME=AXIS:LABEL, such as 'deadlock=symptom:runtime-hang'")
        if axis_id not in taxonomy.axes:
            raise InputError(f"--map {entry!r}: unknown axis {axis_id!r}; known: {', '.join(taxonomy.axes)}")
        if label not in taxonomy.axes[axis_id].label_ids:
            raise InputError(
                f"--map {entry!r}: unknown label {label!r}; known: {', '.join(taxonomy.axes[axis_id].label_ids)}"
            )
        meaning.setdefault(name.strip().casefold(), set()).add((axis_id, label))
    return {name: frozenset(pairs) for name, pairs in meaning.items()}


def typed(meaning: Meaning) -> frozenset[str]:
    """The axes for which issue types are set."""
    return frozenset(axis for name, pairs in meaning.items() if name.startswith(_TYPE) for axis, _ in pairs)


def named(extra: Sequence[str]) -> frozenset[tuple[str, str]]:
    """The (axis, label) pairs in `extra`; `make_mapping` reports its mistakes."""
    targets = (entry.rpartition("=")[2].strip().partition(":") for entry in extra)
    return frozenset((axis, label) for axis, _, label in targets)


def never_set(config: RepositoryConfig, extra: Sequence[str], taxonomy: Taxonomy) -> frozenset[tuple[str, str]]:
    """The (axis, label) pairs of the axes labelled here that the configuration sets neither as a label nor as an issue
    type, except those in `extra` (see `make_mapping`), which somebody wants to see.
    """
    return frozenset(
        (axis.id, label_id)
        for axis in resolve(config, taxonomy).labelled()
        for label_id, label in axis.labels.items()
        if label.off is not None and label.issue_type is None
    ) - named(extra)


def unused(extra: Sequence[str], labels: Iterable[str]) -> list[str]:
    """Names in `extra` that no issue carries: most likely misspelt."""
    carried = {label.casefold() for label in labels}
    names = dict.fromkeys(entry.rpartition("=")[0].strip() for entry in extra)
    return [name for name in names if name.casefold() not in carried]


def truth_of(labels: Iterable[str], meaning: Meaning, issue_type: str | None = None) -> dict[str, frozenset[str]]:
    """Axis -> people's labels for an issue, by its labels and its type; more than one if they set several."""
    said: dict[str, set[str]] = {}
    for name in [*labels, *([_TYPE + issue_type] if issue_type is not None else [])]:
        for axis, label in meaning.get(name.casefold(), ()):
            said.setdefault(axis, set()).add(label)
    return {axis: frozenset(values) for axis, values in said.items()}
