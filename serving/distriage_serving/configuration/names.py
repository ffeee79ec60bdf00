"""A configuration resolved against a taxonomy: each label's name in the repository, each name's meaning. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from distriage.model.taxonomy import Axis, Taxonomy
from distriage.signs.kinds import kinds
from distriage_serving.configuration.model import MAX_DESCRIPTION_CHARS, AxisConfig, LabelConfig, RepositoryConfig

NEEDS_TRIAGE: Final = "needs-triage"
OTHER_COLOUR: Final = "ededed"


@dataclass(frozen=True, slots=True)
class RepositoryLabel:
    """A label of a repository, existing or to be created.

    Attributes:
        color, description: For its creation.
        listed: The configuration has a line for it.
        given: The configuration sets its name or prefix.
        off: Why it is never set, if so.
        option: Its option in the axis's issue field.
    """

    name: str
    color: str
    description: str
    listed: bool = False
    given: bool = False
    off: str | None = None
    issue_type: str | None = None
    option: str = ""


@dataclass(frozen=True, slots=True)
class AxisNames:
    """The labels of one axis in a repository.

    Attributes:
        families: Family id -> label; `with_families` says whether they are set.
        family_of: Label id -> family id.
        folded: All names with a meaning on the axis, case-folded, even if never set.
        former: Name, case-folded, that an earlier configuration gave -> its label's id, empty for a family.
        field: Name of the issue field filled in beside the labels, if any.
    """

    id: str
    title: str
    enabled: bool
    labels: Mapping[str, RepositoryLabel]
    families: Mapping[str, RepositoryLabel]
    with_families: bool
    family_of: Mapping[str, str]
    folded: frozenset[str]
    former: Mapping[str, str] = field(default_factory=dict)
    field: str | None = None

    def all_labels(self) -> Iterator[RepositoryLabel]:
        """The axis's labels, then those of its families."""
        yield from self.labels.values()
        yield from self.families.values()

    def former_of(self, labels: Collection[str]) -> set[str]:
        """The former names of some labels."""
        return {name for name, label in self.former.items() if label in labels}


@dataclass(frozen=True, slots=True)
class Names:
    """All names; `resolve` makes them.

    Attributes:
        axes: Every axis of the taxonomy; `labelled` gives those that are labelled here.
        needs_triage: The label, if there is one.
        signs: Sign -> its label, of those that have one.
        there: Name -> description of the repository's labels, if known.
        renamed: Default name, in lower case -> new name given on GitHub.
    """

    config: RepositoryConfig
    taxonomy: Taxonomy
    axes: Mapping[str, AxisNames]
    needs_triage: RepositoryLabel | None
    signs: Mapping[str, RepositoryLabel]
    there: Mapping[str, str]
    renamed: Mapping[str, str]
    _meanings: Mapping[str, frozenset[tuple[str, str | None]]]

    def labelled(self) -> Iterator[AxisNames]:
        """The axes that are labelled here."""
        return (axis for axis in self.axes.values() if axis.enabled)

    def is_ruled_out(self, axis: str, decided: Mapping[str, str | None]) -> bool:
        """Whether people gave this axis's required axis another label than needed."""
        chosen = {other: label for other, label in decided.items() if label is not None}
        return self.taxonomy.unmet(axis, chosen) is not None

    def known(self) -> frozenset[str]:
        """All names of labels that are set here, or would be if they were not switched off, case-folded."""
        own = {label.name.casefold() for label in (self.needs_triage, *self.signs.values()) if label is not None}
        return frozenset(own.union(*(axis.folded for axis in self.axes.values())))

    def remembering(self, given: Mapping[str, tuple[str, str]]) -> Names:
        """The same, where a label that was set under an earlier configuration still counts as one of its axis.

        Args:
            given: As in `IssueState`. A name that means something today means that.
        """
        known = self.known()
        former: dict[str, dict[str, str]] = {axis: {} for axis in self.axes}
        for name, (axis, label) in given.items():
            if axis in former and name not in known:
                former[axis][name] = label
        axes = {
            id_: replace(axis, folded=axis.folded | former[id_].keys(), former=former[id_])
            for id_, axis in self.axes.items()
        }
        return replace(self, axes=axes)

    def describe(self) -> Iterator[str]:
        """A line for each axis: how many labels it may get, which types and field; and lines for all else that may be
        written.
        """
        for axis in self.labelled():
            labels = [*axis.labels.values(), *(axis.families.values() if axis.with_families else ())]
            may = {label.name.casefold(): label for label in labels if label.off is None}
            listed = sum(label.listed for label in may.values())
            line = f"{axis.id}: {len(may)} label{'s' if len(may) != 1 else ''} may be set, {listed} of them named here"
            if self.config.create_labels and listed < len(may):
                rest = len(may) - listed
                line += f"; the other {rest} are created when they are first needed, unless `only-listed` is on"
            types = dict.fromkeys(label.issue_type for label in axis.labels.values() if label.issue_type is not None)
            line += f"; issue types: {', '.join(types)}" if types else ""
            yield f"{line}; issue field: {axis.field}" if axis.field is not None else line
        if self.signs:
            yield f"signs: {', '.join(self.signs)}"
        if (own := self.config.own_labels) is not None:
            yield f"own labels: {', '.join(own) or 'none'}"
        if self.needs_triage is not None:
            yield f"needs-triage: {self.needs_triage.name}, where no axis is sure"
        if self.config.comment is not None or self.config.ask_for_environment or self.config.name_duplicates:
            yield "comment: one on each issue where there is something to say; it mails the people of the issue"
        if self.config.suggestions != "off":
            what = "what the model is not sure of is" if self.config.suggestions == "perhaps" else "all is"
            yield f"suggestions: {what} suggested on GitHub, for a person to approve or dismiss"

    def meanings(self, name: str) -> frozenset[tuple[str, str | None]]:
        """The possible meanings of a label of the repository: (axis, label) pairs; (axis, None) for a family.

        Several if the configuration gives several labels one name; empty for a foreign label.
        """
        return self._meanings.get(name.casefold(), frozenset())


def resolve(config: RepositoryConfig, taxonomy: Taxonomy, there: Mapping[str, str] | None = None) -> Names:
    """Work out all names once."""
    axes = {axis.id: _axis(axis, config) for axis in taxonomy.axes.values()}
    own = config.needs_triage
    needs_triage = _single(own, NEEDS_TRIAGE, "Distriage is not sure; a person has to look.")
    renamed = _renamed([needs_triage, *(label for axis in axes.values() for label in axis.all_labels())], there or {})
    if renamed:
        needs_triage = _now(needs_triage, renamed)
        axes = {id_: _axis_now(axis, renamed) for id_, axis in axes.items()}
    meanings: dict[str, set[tuple[str, str | None]]] = {}
    for axis in axes.values():
        if axis.enabled:
            for label in axis.families.values():
                meanings.setdefault(label.name.casefold(), set()).add((axis.id, None))
            for label_id, label in axis.labels.items():
                meanings.setdefault(label.name.casefold(), set()).add((axis.id, label_id))
    return Names(
        config=config,
        taxonomy=taxonomy,
        axes=axes,
        needs_triage=needs_triage if own.enabled else None,
        signs={
            sign: _single(config.signs[sign], sign, kind.says)
            for sign, kind in kinds().items()
            if sign in config.signs and config.signs[sign].enabled
        },
        there=there or {},
        renamed=renamed,
        _meanings={name: frozenset(pairs) for name, pairs in meanings.items()},
    )


def _single(own: LabelConfig, name: str, description: str) -> RepositoryLabel:
    return RepositoryLabel(
        name=own.name or name,
        color=own.color or OTHER_COLOUR,
        description=_shorten(_or(own.description, description)),
        listed=True,
        given=own.name is not None,
    )


def _axis(axis: Axis, config: RepositoryConfig) -> AxisNames:
    settings = config.axes.get(axis.id, AxisConfig(enabled=False))
    prefix = settings.prefix if settings.prefix is not None else f"{axis.id}: "
    family_prefix = settings.families.prefix if settings.families.prefix is not None else prefix
    color = settings.color or axis.colour or OTHER_COLOUR
    only_listed = config.only_listed if settings.only_listed is None else settings.only_listed

    def label(id_: str, own: LabelConfig | None, name: str, description: str, *, given: bool) -> RepositoryLabel:
        off = "not listed in the configuration, which says `only-listed`" if only_listed and own is None else None
        listed, own = own is not None, own or LabelConfig()
        return RepositoryLabel(
            name=own.name or name,
            color=own.color or color,
            description=_shorten(_or(own.description, description)),
            listed=listed,
            given=given or own.name is not None,
            off=off if own.enabled else "switched off in the configuration",
            issue_type=own.type,
            option=own.option or id_,
        )

    labels = {
        item.id: label(
            item.id,
            settings.labels.get(item.id),
            f"{prefix}{item.id}",
            item.definition,
            given=settings.prefix is not None,
        )
        for item in axis.labels
        if item.id in axis.label_ids
    }
    families = {
        family: label(
            family,
            settings.families.labels.get(family),
            f"{family_prefix}{family}",
            f"{axis.name}: {', '.join(members)}",
            given=(settings.prefix, settings.families.prefix) != (None, None),
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
        folded=_folded(labels, families),
        field=settings.field,
    )


def _renamed(ours: Collection[RepositoryLabel], there: Mapping[str, str]) -> dict[str, str]:
    """Labels that were renamed in the repository, recognized by the unique descriptions of those we create.

    Only a caller with a memory knows GitHub's ids, which the Action lacks. A configured name is obeyed: the label under
    another name may come from an earlier configuration.
    """
    known = {name.casefold() for name in there}
    names = {label.name.casefold() for label in ours}
    described = Counter(label.description for label in ours)
    found: dict[str, str] = {}
    for label in ours:
        if label.given or label.name.casefold() in known or not label.description or described[label.description] > 1:
            continue
        likely = [name for name, said in there.items() if said == label.description and name.casefold() not in names]
        if len(likely) == 1:
            found[label.name.casefold()] = likely[0]
    return found


def _now(label: RepositoryLabel, renamed: Mapping[str, str]) -> RepositoryLabel:
    return replace(label, name=renamed.get(label.name.casefold(), label.name))


def _axis_now(axis: AxisNames, renamed: Mapping[str, str]) -> AxisNames:
    labels = {id_: _now(label, renamed) for id_, label in axis.labels.items()}
    families = {id_: _now(label, renamed) for id_, label in axis.families.items()}
    return replace(axis, labels=labels, families=families, folded=_folded(labels, families))


def _folded(labels: Mapping[str, RepositoryLabel], families: Mapping[str, RepositoryLabel]) -> frozenset[str]:
    return frozenset(label.name.casefold() for label in (*labels.values(), *families.values()))


def _shorten(text: str) -> str:
    if len(text) <= MAX_DESCRIPTION_CHARS:
        return text
    whole_words = text[: MAX_DESCRIPTION_CHARS - 1].rpartition(" ")[0]
    return f"{whole_words or text[: MAX_DESCRIPTION_CHARS - 2]} …"


def _or(own: str | None, default: str) -> str:
    return own if own is not None else default
