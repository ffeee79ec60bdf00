"""A configuration resolved against a taxonomy: what each label is called in the repository, and what a name there
means. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from distriage.taxonomy import Axis, Taxonomy
from distriage_serving.planning.configuration import AxisConfig, LabelConfig, RepositoryConfig

NEEDS_TRIAGE: Final = "needs-triage"
OTHER_COLOUR: Final = "ededed"


@dataclass(frozen=True, slots=True)
class RepositoryLabel:
    """A label as a repository has it, or would have it.

    Attributes:
        color, description: For when it is created.
        listed: The configuration names it.
        off: Why it is never set; None: it may be.
        issue_type: The issue type that goes with it; None: none.
    """

    name: str
    color: str
    description: str
    listed: bool = False
    off: str | None = None
    issue_type: str | None = None


@dataclass(frozen=True, slots=True)
class AxisNames:
    """The labels of one axis in a repository.

    Attributes:
        title: The axis's name for people.
        enabled: The axis is labelled here.
        labels: Label id -> label.
        families: Family id -> label; `with_families` says whether they are set.
        family_of: Label id -> family id.
        folded: All names that say something about the axis, case-folded, whether or not they may be set.
    """

    id: str
    title: str
    enabled: bool
    labels: Mapping[str, RepositoryLabel]
    families: Mapping[str, RepositoryLabel]
    with_families: bool
    family_of: Mapping[str, str]
    folded: frozenset[str]


@dataclass(frozen=True, slots=True)
class Names:
    """See above; `resolve` makes one.

    Attributes:
        axes: Every axis of the taxonomy; `labelled` gives those that are labelled here.
        needs_triage: None: there is no such label.
    """

    config: RepositoryConfig
    taxonomy: Taxonomy
    axes: Mapping[str, AxisNames]
    needs_triage: RepositoryLabel | None
    _meanings: Mapping[str, frozenset[tuple[str, str | None]]]

    def labelled(self) -> Iterator[AxisNames]:
        """The axes that are labelled here."""
        return (axis for axis in self.axes.values() if axis.enabled)

    def describe(self) -> Iterator[str]:
        """A line for each axis: how many labels the repository may get."""
        for axis in self.labelled():
            labels = [*axis.labels.values(), *(axis.families.values() if axis.with_families else ())]
            may = {label.name.casefold(): label for label in labels if label.off is None}
            listed = sum(label.listed for label in may.values())
            line = f"{axis.id}: {len(may)} label{'s' if len(may) != 1 else ''} may be set, {listed} of them named here"
            if self.config.create_labels and listed < len(may):
                rest = len(may) - listed
                line += f"; the other {rest} are created when they are first needed, unless `only-listed` is on"
            yield line

    def meanings(self, name: str) -> frozenset[tuple[str, str | None]]:
        """What a label of the repository may say: (axis, label) pairs; (axis, None) for a family.

        Several if the configuration gives several labels one name; empty if it is none of ours.
        """
        return self._meanings.get(name.casefold(), frozenset())


def resolve(config: RepositoryConfig, taxonomy: Taxonomy) -> Names:
    """Work out all names once."""
    axes = {axis.id: _axis(axis, config) for axis in taxonomy.axes.values()}
    meanings: dict[str, set[tuple[str, str | None]]] = {}
    for axis in axes.values():
        if axis.enabled:
            for label in axis.families.values():
                meanings.setdefault(label.name.casefold(), set()).add((axis.id, None))
            for label_id, label in axis.labels.items():
                meanings.setdefault(label.name.casefold(), set()).add((axis.id, label_id))
    own = config.needs_triage
    needs_triage = RepositoryLabel(
        name=own.name or NEEDS_TRIAGE,
        color=own.color or OTHER_COLOUR,
        description=_or(own.description, "Distriage is not sure; a person has to look."),
        listed=True,
    )
    return Names(
        config=config,
        taxonomy=taxonomy,
        axes=axes,
        needs_triage=needs_triage if own.enabled else None,
        _meanings={name: frozenset(pairs) for name, pairs in meanings.items()},
    )


def _axis(axis: Axis, config: RepositoryConfig) -> AxisNames:
    settings = config.axes.get(axis.id, AxisConfig(enabled=False))
    prefix = settings.prefix if settings.prefix is not None else f"{axis.id}: "
    family_prefix = settings.families.prefix if settings.families.prefix is not None else prefix
    color = settings.color or axis.colour or OTHER_COLOUR
    only_listed = config.only_listed if settings.only_listed is None else settings.only_listed

    def label(own: LabelConfig | None, name: str, description: str) -> RepositoryLabel:
        off = "not listed in the configuration, which says `only-listed`" if only_listed and own is None else None
        listed, own = own is not None, own or LabelConfig()
        return RepositoryLabel(
            name=own.name or name,
            color=own.color or color,
            description=_or(own.description, description),
            listed=listed,
            off=off if own.enabled else "switched off in the configuration",
            issue_type=own.type,
        )

    labels = {
        item.id: label(settings.labels.get(item.id), f"{prefix}{item.id}", item.definition)
        for item in axis.labels
        if item.id in axis.label_ids
    }
    families = {
        family: label(
            settings.families.labels.get(family), f"{family_prefix}{family}", f"{axis.name}: {', '.join(members)}"
        )
        for family, members in axis.families.items()
    }
    return AxisNames(
        id=axis.id,
        title=axis.name,
        enabled=settings.enabled,
        labels=labels,
        families=families,
        with_families=settings.families.enabled,
        family_of={label: family for family, members in axis.families.items() for label in members},
        folded=frozenset(item.name.casefold() for item in (*labels.values(), *families.values())),
    )


def _or(own: str | None, default: str) -> str:
    return own if own is not None else default
