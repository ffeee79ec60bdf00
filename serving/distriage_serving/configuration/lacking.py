"""Labels that a configuration names, that the repository lacks, and that are not created: they are never set. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from distriage_serving.configuration.names import Names


def lacking(names: Names, there: Iterable[str]) -> list[str]:
    """A sentence on each of these labels; none where missing labels are created.

    Args:
        there: The names of the repository's labels.
    """
    if names.config.create_labels:
        return []
    known = {name.casefold() for name in there}
    lost = dict.fromkeys(name for name in _named(names) if name.casefold() not in known)
    return [
        f"the repository has no label {name!r}, and `create-labels` is off, so the label is never set" for name in lost
    ]


def _named(names: Names) -> Iterator[str]:
    for axis in names.labelled():
        families = axis.families.values() if axis.with_families else ()
        yield from (label.name for label in (*axis.labels.values(), *families) if label.listed and label.off is None)
    yield from (label.name for label in names.signs.values())
    if names.needs_triage is not None:
        yield names.needs_triage.name
