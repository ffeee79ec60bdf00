"""The known state of an issue, and the changes to make. Frozen; pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from distriage.base.references import IssueReference
from distriage_serving.planning.marker import Kind
from distriage_serving.planning.suggested import Action, IssueField, Reasoned, Suggested


@dataclass(frozen=True, slots=True)
class OwnComment:
    """Distriage's earlier comment.

    Attributes:
        digest: That of its text, from the hidden marker.
        edited: Somebody else changed the text.
        body: Marker and text as they are now.
    """

    id: int
    digest: str
    edited: bool = False
    body: str = ""


@dataclass(frozen=True, slots=True)
class IssueState:
    """An issue as it is now. Names of labels are compared without case, as GitHub does.

    Attributes:
        sender_is_bot: A bot or an App caused the present event.
        labels_by_us: Those of them that Distriage's own account set.
        shared_account: Others use that account too, so they may have set them.
        removed: Names that a person or another bot took off the issue at any time.
        touched: Names that anybody but Distriage ever put on the issue or took off.
        rewritten: The report has changed since Distriage labelled it; None: the Action cannot know.
        comment_deleted: Some comment on the issue was deleted.
        converted: It was converted to a discussion; GitHub leaves it closed.
        type_touched: Anybody but Distriage ever set, changed or took off an issue type.
        decided: Axis -> label decided on by command or in the queue; None: none of them. An own label has an axis to
            itself; see `distriage.answer.feedback.own_axis`.
        withdrawn: Axis -> labels of former decisions.
        given: Name, case-folded, that Distriage once set -> (axis, label; empty for a family), as configured then.
        suggested: Suggestions on it.
        fields: Name, case-folded -> value of the issue fields that have one.
        known_fields: Name, case-folded -> field of the organization.
        github_ids: Id of a likely duplicate -> GitHub's own, if known.
    """

    issue: IssueReference
    title: str
    author: str
    author_is_bot: bool = False
    sender_is_bot: bool = False
    is_open: bool = True
    is_pull_request: bool = False
    locked: bool = False
    labels: frozenset[str] = frozenset()
    labels_by_us: frozenset[str] = frozenset()
    shared_account: bool = False
    removed: frozenset[str] = frozenset()
    repository_labels: frozenset[str] = frozenset()
    touched: frozenset[str] = frozenset()
    rewritten: bool | None = None
    own_comment: OwnComment | None = None
    comment_deleted: bool = False
    converted: bool = False
    issue_type: str | None = None
    type_touched: bool = False
    decided: Mapping[str, str | None] = field(default_factory=dict)
    withdrawn: Mapping[str, frozenset[str]] = field(default_factory=dict)
    given: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    suggested: tuple[Suggested, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    known_fields: Mapping[str, IssueField] = field(default_factory=dict)
    github_ids: Mapping[str, int] = field(default_factory=dict)

    def earlier(self, action: Action, value: str, target_id: int | None = None) -> Suggested | None:
        """The latest earlier suggestion of a change, if any.

        Args:
            target_id: The field's; labels and types are known by name.
        """
        same = (
            one
            for one in reversed(self.suggested)
            if one.action == action and one.value.casefold() == value.casefold()
            if action != "add_field" or one.target_id == target_id
        )
        return next(same, None)


@dataclass(frozen=True, slots=True)
class LabelDefinition:
    """A label to create; `color` is six hexadecimal digits."""

    name: str
    color: str
    description: str


@dataclass(frozen=True, slots=True)
class PlannedComment:
    """A comment to write, or to replace our own one.

    Attributes:
        body: Markdown with the hidden marker at its beginning.
        replaces: Id of our own comment, if any.
    """

    body: str
    digest: str
    replaces: int | None
    kind: Kind = "v1"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An omitted change and the reason: `what` is an axis, a label's name, `comment` or `issue type`."""

    what: str
    why: str


ChangeKind = Literal["label", "off", "type", "field", "suggestion", "comment"]


@dataclass(frozen=True, slots=True)
class Change:
    """One change of an issue; `str` gives it for people.

    Attributes:
        name: The label's or the issue type's; empty for a comment.
    """

    kind: ChangeKind
    name: str = ""

    def __str__(self) -> str:
        return _SHOWN[self.kind] + self.name


_SHOWN: Final[Mapping[ChangeKind, str]] = {
    "label": "",
    "off": "taken off: ",
    "type": "issue type: ",
    "field": "issue field: ",
    "suggestion": "suggested: ",
    "comment": "comment",
}


def changes_of(
    labels: Collection[str],
    take_off: Collection[str],
    issue_type: str | None,
    comment: object,
    fields: Collection[Reasoned],
    suggested: Collection[Reasoned],
) -> Iterator[Change]:
    """All that a plan changes, or that was changed by one."""
    yield from (Change("label", name) for name in labels)
    yield from (Change("off", name) for name in take_off)
    if issue_type is not None:
        yield Change("type", issue_type)
    yield from (Change("field", one.value) for one in fields)
    yield from (Change("suggestion", one.shown) for one in suggested)
    if comment is not None:
        yield Change("comment")


@dataclass(frozen=True, slots=True)
class Plan:
    """Changes to one issue.

    Attributes:
        create: Definitions of the labels that the repository does not have yet.
        take_off: Names to take off, all set by Distriage: a person decided otherwise, or they no longer hold.
        instead: Names to take off -> the new label; if GitHub refuses that one, the old one stays.
        intents: Name of a label to add, or of the type -> the same with its reason.
        reasons: Send reasons and suggestions, which GitHub takes as far as is known.
        suggestions: Changes that a person is asked to approve.
        approve, dismiss: Our pending suggestions that a person decided on elsewhere, or that no longer hold.
        comment_after: The comment if only part of the plan was carried out.
        left_out: Omitted changes, with the reason.
        ignored: Why the issue is left alone, if so.
        only_takes_off: Asked for to take a roll-out back: nothing follows for a later look.
    """

    issue: IssueReference
    labels: tuple[str, ...] = ()
    create: tuple[LabelDefinition, ...] = ()
    take_off: tuple[str, ...] = ()
    instead: Mapping[str, str] = field(default_factory=dict)
    issue_type: str | None = None
    fields: tuple[Reasoned, ...] = ()
    intents: Mapping[str, Reasoned] = field(default_factory=dict)
    reasons: bool = False
    suggestions: tuple[Reasoned, ...] = ()
    approve: tuple[Suggested, ...] = ()
    dismiss: tuple[Suggested, ...] = ()
    comment: PlannedComment | None = None
    comment_after: Callable[[Plan], PlannedComment | LeftOut | None] | None = field(
        default=None, compare=False, repr=False
    )
    left_out: tuple[LeftOut, ...] = ()
    ignored: str | None = None
    dry_run: bool = False
    only_takes_off: bool = False

    def without_suggestions(self) -> Plan:
        """The same without questions to people; earlier questions stay."""
        create = tuple(definition for definition in self.create if definition.name in self.labels)
        return replace(self, create=create, suggestions=(), dismiss=())

    @property
    def changes(self) -> tuple[Change, ...]:
        """All that carrying it out changes on GitHub."""
        labels = (*self.labels, *(one.value for one in self.approve if one.action == "add_label"))
        return tuple(changes_of(labels, self.take_off, self.issue_type, self.comment, self.fields, self.suggestions))

    @property
    def writes(self) -> bool:
        """Whether carrying it out changes anything on GitHub."""
        return not self.dry_run and bool(self.changes or self.approve or self.dismiss)
