"""Axes and labels as data. Reads the packaged `taxonomy.toml` or one of the user's own; every other module takes labels from here."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from distriage.errors import TaxonomyError

_SOURCES = frozenset({"paper", "sister", "ours"})
_LABEL_KEYS = frozenset({"id", "name", "family", "definition", "source", "advice", "since", "retired"})
_AXIS_KEYS = frozenset({"name", "question", "requires"})


@dataclass(frozen=True, slots=True)
class Label:
    """One label of an axis.

    Attributes:
        id: Stable kebab-case identifier; never reused.
        definition: One sentence; the annotators' rule.
        name: For people; made from the id where the data gives none.
        family: Parent class, or None on an axis without families.
        source: Where the label comes from (`paper`, `sister`, `ours`); empty in taxonomies of a user's own.
        advice: One sentence for whoever has to act on the label; empty on most axes.
        retired: The taxonomy version that retired it; None while it is in use.
    """

    id: str
    definition: str
    name: str
    family: str | None = None
    source: str = ""
    advice: str = ""
    retired: str | None = None


@dataclass(frozen=True, slots=True)
class Axis:
    """One question that the model answers, with its possible answers.

    Attributes:
        requires: `(axis, label)` that another axis must have for this one to apply, or None.
    """

    id: str
    name: str
    question: str
    labels: tuple[Label, ...]
    requires: tuple[str, str] | None = None

    @property
    def label_ids(self) -> tuple[str, ...]:
        """Ids of the labels in use, in the order of the model's outputs."""
        return tuple(label.id for label in self.labels if label.retired is None)

    @property
    def families(self) -> dict[str, tuple[str, ...]]:
        """Family -> its label ids; empty on an axis without families."""
        families: dict[str, list[str]] = {}
        for label in self.labels:
            if label.family and label.retired is None:
                families.setdefault(label.family, []).append(label.id)
        return {family: tuple(ids) for family, ids in families.items()}

    def label(self, label_id: str) -> Label:
        """Look a label up.

        Raises:
            TaxonomyError: no such label on this axis.
        """
        for label in self.labels:
            if label.id == label_id:
                return label
        raise TaxonomyError(f"axis {self.id}: unknown label {label_id!r}; known: {', '.join(self.label_ids)}")


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """A versioned set of axes."""

    name: str
    version: str
    axes: dict[str, Axis] = field(default_factory=dict)

    def axis(self, axis_id: str) -> Axis:
        """Look an axis up.

        Raises:
            TaxonomyError: no such axis.
        """
        try:
            return self.axes[axis_id]
        except KeyError:
            raise TaxonomyError(f"unknown axis {axis_id!r}; known: {', '.join(self.axes)}") from None


def parse_taxonomy(text: str, place: str) -> Taxonomy:
    """Read a taxonomy from TOML.

    Args:
        text: The TOML document; see the packaged `taxonomy.toml` for the form.
        place: File name for messages.

    Raises:
        TaxonomyError: not TOML, an unknown key, a label used twice, a reference to nothing.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TaxonomyError(f"{place}: not valid TOML: {error}") from None
    for key in ("name", "version", "axis"):
        if key not in data:
            raise TaxonomyError(f"{place}: key {key!r} is missing")
    heads = _table(data["axis"], f"{place}: axis")
    unknown = set(data) - {"name", "version", "axis"} - set(heads)
    if unknown:
        raise TaxonomyError(f"{place}: labels of an axis that is not declared: {', '.join(sorted(unknown))}; declared: {', '.join(heads)}")
    axes = {axis_id: _axis(axis_id, _table(head, f"{place}: axis {axis_id}"), data.get(axis_id, []), place) for axis_id, head in heads.items()}
    for axis in axes.values():
        if axis.requires is not None:
            other, label = axis.requires
            if other not in axes or label not in axes[other].label_ids:
                raise TaxonomyError(f"{place}: axis {axis.id} requires {other}={label}, which does not exist")
    return Taxonomy(name=str(data["name"]), version=str(data["version"]), axes=axes)


def _axis(axis_id: str, head: dict[str, Any], entries: object, place: str) -> Axis:
    _refuse_unknown(head, _AXIS_KEYS, f"{place}: axis {axis_id}")
    requires = head.get("requires")
    if requires is not None and not (isinstance(requires, dict) and set(requires) == {"axis", "label"}):
        raise TaxonomyError(f"{place}: axis {axis_id}: requires {requires!r}; expected a table with `axis` and `label`")
    _refuse_other_than_strings(requires or {}, f"{place}: axis {axis_id}: requires")
    _refuse_other_than_strings({key: value for key, value in head.items() if key != "requires"}, f"{place}: axis {axis_id}")
    if not isinstance(entries, list):
        raise TaxonomyError(f"{place}: {axis_id}: expected tables [[{axis_id}]], one a label, found {type(entries).__name__}")
    labels: list[Label] = []
    for entry in entries:
        where = f"{place}: {axis_id} {_table(entry, f'{place}: {axis_id}').get('id', '(without id)')}"
        _refuse_unknown(entry, _LABEL_KEYS, where)
        _refuse_other_than_strings(entry, where)
        if not entry.get("id") or not entry.get("definition"):
            raise TaxonomyError(f"{where}: a label needs `id` and `definition`")
        if entry.get("source", "ours") not in _SOURCES:
            raise TaxonomyError(f"{where}: source {entry['source']!r}; expected one of {', '.join(sorted(_SOURCES))}")
        if entry["id"] in {label.id for label in labels}:
            raise TaxonomyError(f"{where}: this id stands twice")
        labels.append(
            Label(
                id=entry["id"],
                definition=entry["definition"],
                name=entry.get("name") or entry["id"].replace("-", " ").capitalize(),
                family=entry.get("family"),
                source=entry.get("source", ""),
                advice=entry.get("advice", ""),
                retired=entry.get("retired"),
            )
        )
    if sum(label.retired is None for label in labels) < 2:
        raise TaxonomyError(f"{place}: axis {axis_id} has fewer than two labels in use")
    return Axis(
        id=axis_id,
        name=head.get("name", axis_id.capitalize()),
        question=head.get("question", ""),
        labels=tuple(labels),
        requires=(requires["axis"], requires["label"]) if requires else None,
    )


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TaxonomyError(f"{where}: expected a table, found {type(value).__name__}")
    return value


def _refuse_other_than_strings(table: dict[str, Any], where: str) -> None:
    for key, value in table.items():
        if not isinstance(value, str):
            raise TaxonomyError(f"{where}: {key} is {type(value).__name__}; expected a string")


def _refuse_unknown(table: dict[str, Any], known: frozenset[str], where: str) -> None:
    unknown = set(table) - known
    if unknown:
        raise TaxonomyError(f"{where}: unknown key {', '.join(sorted(unknown))}; known: {', '.join(sorted(known))}")


def load_taxonomy(path: Path) -> Taxonomy:
    """Read a taxonomy file.

    Raises:
        TaxonomyError: the file is missing or not valid.
    """
    try:
        return parse_taxonomy(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise TaxonomyError(f"{path}: cannot be read: {error}") from None


def default_taxonomy_text() -> str:
    """The packaged taxonomy as TOML."""
    return resources.files("distriage").joinpath("taxonomy.toml").read_text(encoding="utf-8")


@cache
def default_taxonomy() -> Taxonomy:
    """The packaged taxonomy of distributed deep-learning bugs."""
    return parse_taxonomy(default_taxonomy_text(), "taxonomy.toml")
