"""Axes and labels as data, read from the packaged `taxonomy.toml` or a user's own; the only source of labels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from distriage.base.errors import TaxonomyError
from distriage.base.texts import decoded, packaged, table_in
from distriage.base.validation import field, known_keys, read_entry, suggestion
from distriage.model.label import DataModel, Label

_Read = TypeVar("_Read", bound=DataModel)
# Axes that code speaks of.
DISTRIBUTED: Final = "distributed"  # tells one process from several
STAGE: Final = "stage"  # tells training from inference
SYMPTOM: Final = "symptom"
CAUSE: Final = "cause"  # of the differential diagnosis
YES_NO = {"true": "yes", "false": "no"}


class Requirement(NamedTuple):
    """The label that another axis must have for an axis to apply."""

    axis: str
    label: str


class Axis(DataModel):
    """One question that the model answers, with its possible answers.

    Attributes:
        requires: The condition under which this axis applies, if any.
        colour: Its labels' on GitHub, six hexadecimal digits, if it has its own.
        filter: Whether the triage queue offers it as a filter.
        weights: Label or family -> weight of an issue that has it, if not 1.
        needs_detail: Whether a report that says too little gets no label.
    """

    id: str
    name: str = ""
    question: str = ""
    labels: tuple[Label, ...] = field(strict=False)
    requires: Requirement | None = None
    colour: str | None = field(default=None, pattern="^[0-9a-f]{6}$")
    filter: bool = False
    weights: Mapping[str, float] = field(default_factory=dict)
    needs_detail: bool = False

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.id.capitalize())

    @cached_property
    def label_ids(self) -> tuple[str, ...]:
        """Ids of the labels in use, in the order of the model's outputs."""
        return tuple(label.id for label in self.labels if label.retired is None)

    def shown(self, label: str) -> str:
        """A label's id as people read it: on an axis of `true` and `false` it is `yes` or `no`."""
        return YES_NO.get(label, label) if set(self.label_ids) == set(YES_NO) else label

    @cached_property
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
            TaxonomyError: unknown label of this axis.
        """
        for label in self.labels:
            if label.id == label_id:
                return label
        raise TaxonomyError(f"axis {self.id}: unknown label {label_id!r}; {suggestion(label_id, self.label_ids)}")

    def weight(self, label_id: str) -> float:
        """How much an issue with a label matters: its weight, else its family's, else 1; an unknown label: 1."""
        family = next((label.family for label in self.labels if label.id == label_id), None)
        return self.weights.get(label_id, self.weights.get(family or "", 1.0))


# Fields that say how axes and labels are used; no output of a model lies in them.
_AXIS_USE = ("colour", "filter", "weights", "needs_detail")
_LABEL_USE = ("means", "aliases", "study", "of_causes", "shown_by", "excluded_by")


class Taxonomy(DataModel):
    """A versioned set of axes."""

    name: str
    version: str
    axes: dict[str, Axis] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.name, self.version))  # a table of axes cannot be hashed

    def __post_init__(self) -> None:
        before: set[str] = set()  # verdicts are made and completed in this order
        for axis in self.axes.values():
            if axis.requires is not None:
                other, label = axis.requires
                if other not in self.axes or label not in self.axes[other].label_ids:
                    raise ValueError(f"axis {axis.id} requires {other}={label}, which does not exist")
                if other not in before:
                    raise ValueError(f"axis {axis.id} requires {other}, which does not come before it")
            before.add(axis.id)

    @cached_property
    def roots(self) -> frozenset[str]:
        """Axes that others depend on, which apply to reports of any software."""
        return frozenset(axis.requires.axis for axis in self.axes.values() if axis.requires is not None)

    def axis(self, axis_id: str) -> Axis:
        """Look an axis up.

        Raises:
            TaxonomyError: unknown axis.
        """
        try:
            return self.axes[axis_id]
        except KeyError:
            holds = [axis.id for axis in self.axes.values() if any(label.id == axis_id for label in axis.labels)]
            meant = f" (a label of axis {' and '.join(holds)})" if holds else ""
            raise TaxonomyError(f"unknown axis {axis_id!r}{meant}; {suggestion(axis_id, self.axes)}") from None

    def unmet(self, axis: str, labels: Mapping[str, str | None], unsure: Collection[str] = ()) -> str | None:
        """The unmet condition, such as `kind is question`, of an axis or of one that it requires; None if it applies.

        Args:
            labels: Axis -> label; absent axes rule nothing out.
            unsure: Axes whose label is only the likeliest.
        """
        if (requires := self.axes[axis].requires) is None:
            return None
        other, wanted = requires
        given = labels.get(other, wanted)
        is_ = "is probably" if other in unsure else "is"
        return self.unmet(other, labels, unsure) or (None if given == wanted else f"{other} {is_} {given}")

    def applicable(self, labels: Mapping[str, str]) -> dict[str, str]:
        """Axis -> label, where the axis applies."""
        return {axis: label for axis, label in labels.items() if self.unmet(axis, labels) is None}

    def labels_of(self, ids: Mapping[str, str]) -> dict[str, Label]:
        """Axis -> its label, where `ids` gives the id."""
        return {axis: self.axes[axis].label(label) for axis, label in ids.items()}

    def with_use_of(self, newer: Taxonomy) -> Taxonomy:
        """This older copy of the same taxonomy, used as `newer` says; names, definitions and advice stay its own."""
        if self is newer or self.name != newer.name:
            return self
        axes = {}
        for axis in self.axes.values():
            theirs = newer.axes.get(axis.id)
            if theirs is not None:
                known = {label.id: label for label in theirs.labels}
                labels = tuple(_updated(label, known.get(label.id), _LABEL_USE) for label in axis.labels)
                axis = _updated(axis, theirs, _AXIS_USE).model_copy(update={"labels": labels})
            axes[axis.id] = axis
        return self.model_copy(update={"axes": axes})


def _updated(older: _Read, newer: _Read | None, names: Sequence[str]) -> _Read:
    return older if newer is None else older.model_copy(update={name: getattr(newer, name) for name in names})


def parse_taxonomy(text: str, place: str, *, sealed: bool = False) -> Taxonomy:
    """Read a taxonomy from TOML.

    Args:
        text: The TOML document; see the packaged `taxonomy.toml` for the form.
        place: File name for messages.
        sealed: It is a bundle's, which nobody can mend: a cause or weight that names nothing is let through.

    Raises:
        TaxonomyError: not TOML, an unknown key, a label used twice, a reference to nothing.
    """
    data = table_in(text, place, TaxonomyError)
    if missing := [key for key in ("name", "version", "axis") if key not in data]:
        raise TaxonomyError(f"{place}: key {missing[0]!r} is missing")
    heads = _table(data.pop("axis"), f"{place}: axis")
    if unknown := sorted(set(data) - {"name", "version", *heads}):
        raise TaxonomyError(
            f"{place}: labels of an axis that is not declared: {', '.join(unknown)}; declared: {', '.join(heads)}"
        )
    axes = {axis_id: _axis(axis_id, head, data.get(axis_id, []), place) for axis_id, head in heads.items()}
    if not sealed:
        _check_names(axes, place)
    return read_entry(Taxonomy, {"name": data["name"], "version": data["version"], "axes": axes}, place, TaxonomyError)


def _check_names(axes: Mapping[str, Axis], place: str) -> None:
    names = {axis.id: {name for label in axis.labels for name in (label.id, label.family)} for axis in axes.values()}
    for axis in axes.values():
        _known(axis.weights, names[axis.id], f"{place}: axis {axis.id}: weights")
        for label in axis.labels:
            where = f"{place}: {axis.id} {label.id}: of_causes"
            if label.of_causes and CAUSE not in names:
                raise TaxonomyError(f"{where}: there is no axis {CAUSE}")
            _known(label.of_causes, names.get(CAUSE, ()), where)


def _known(given: Iterable[str], names: Collection[str | None], where: str) -> None:
    for name in given:
        if name not in names:
            known = sorted(filter(None, names))
            raise TaxonomyError(f"{where}: unknown label or family {name!r}; {suggestion(name, known)}")


def _axis(axis_id: str, head: object, entries: object, place: str) -> Axis:
    where = f"{place}: axis {axis_id}"
    head = _table(head, where)
    if own := {"id", "labels"} & head.keys():
        known = ", ".join(key for key in known_keys(Axis) if key not in {"id", "labels"})
        raise TaxonomyError(f"{where}: unknown key {min(own)}; known: {known}")
    if not isinstance(entries, list):
        raise TaxonomyError(
            f"{place}: {axis_id}: expected tables [[{axis_id}]], one a label, found {type(entries).__name__}"
        )
    labels: dict[str, Label] = {}
    for entry in entries:
        name = _table(entry, f"{place}: {axis_id}").get("id", "(without id)")
        label = read_entry(Label, entry, f"{place}: {axis_id} {name}", TaxonomyError)
        if label.id in labels:
            raise TaxonomyError(f"{where}: labels: {label.id} is there twice")
        labels[label.id] = label
    if sum(label.retired is None for label in labels.values()) < 2:
        raise TaxonomyError(f"{where}: labels: fewer than two labels in use")
    return read_entry(Axis, {**head, "id": axis_id, "labels": [*labels.values()]}, where, TaxonomyError)


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TaxonomyError(f"{where}: expected a table, found {type(value).__name__}")
    return value


def load_taxonomy(path: Path, *, sealed: bool = False) -> Taxonomy:
    """Read a taxonomy file; `sealed` as for `parse_taxonomy`.

    Raises:
        TaxonomyError: the file is missing or not valid.
    """
    try:
        text = decoded(path.read_bytes())
    except (OSError, UnicodeDecodeError) as error:
        raise TaxonomyError(f"{path}: cannot be read: {error}") from None
    # Parsing is slow, and most bundles carry the packaged text.
    return default_taxonomy() if text == default_taxonomy_text() else parse_taxonomy(text, str(path), sealed=sealed)


def default_taxonomy_text() -> str:
    """The packaged taxonomy as TOML."""
    return packaged(__package__, "taxonomy.toml")


@cache
def default_taxonomy() -> Taxonomy:
    """The packaged taxonomy of distributed deep-learning bugs."""
    return parse_taxonomy(default_taxonomy_text(), "taxonomy.toml")
