"""The tables, and the objects that go in and come out: frozen in meaning, detached from the database, safe to hand
between threads. Pure.

All times are UTC epoch seconds, names `*_at`. Repositories are `owner/name` in lower case. A change here needs a
migration; a test compares both.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal

from sqlalchemy import Double, ForeignKey, ForeignKeyConstraint, Index, UniqueConstraint, inspect, text
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, mapped_column

from distriage.answer.verdict import Verdict
from distriage.base.references import IssueReference
from distriage.base.times import NEVER_S
from distriage_serving.store.columns import BIG_INTEGER, JsonText, PlainText, RepositoryName, VerdictText

WorkState = Literal["waiting", "leased", "done", "dead", "ignored"]
Lifecycle = Literal["open", "closed", "deleted", "transferred"]
IssueStatus = Literal["open", "accepted", "corrected", "dismissed"]
How = Literal["queue", "command", "label", "unlabel", "approve", "dismiss"]

Name = Annotated[str, mapped_column(RepositoryName)]
JsonValue = Annotated[Any, mapped_column(JsonText)]
Number = Annotated[int, mapped_column(BIG_INTEGER, primary_key=True, autoincrement=True)]

NOBODY_WAITS: Final = NEVER_S
SIGN_AXIS: Final = "sign:"  # followed by a sign's name: its row among those of the axes
_ANSWERED: Final = text("waits_since > created_at")
_REFUSED: Final = text("refused")
_REFUSED_HERE: Final = text("refused = 1")  # as queries say it to SQLite, which compares the text
NEVER_REUSE_IDS: Final = {"sqlite_autoincrement": True}


class Base(MappedAsDataclass, DeclarativeBase, kw_only=True):
    """The base of all tables."""

    type_annotation_map: ClassVar[dict[Any, Any]] = {
        int: BIG_INTEGER,
        float: Double,
        str: PlainText,
        Verdict: VerdictText,
        **dict.fromkeys((WorkState, Lifecycle, IssueStatus, How), PlainText),
    }


class Repository(Base):
    """A repository that the App is, or was, installed on.

    Attributes:
        display_name: The name as GitHub writes it.
        enabled: False once the App was uninstalled.
        config: The merged configuration as JSON; the default one if None.
        config_error: Why `.github/distriage.yml` cannot be read, if so; `config` is then the last readable one.
        reconciled_at, reconcile_refused_at: When GitHub last let us compare its issues, and when it last refused; None:
            never.
        no_suggestions_until: GitHub takes none, as far as is known; 0: it takes some; None: not asked yet.
        polled_at: When GitHub was last asked about an issue whose suggestions are pending, though nothing had changed.
        labels: Its remembered labels, as `distriage_serving.store.repositories.LabelNames` stores them; None at first.
    """

    __tablename__ = "repositories"

    name: Mapped[Name] = mapped_column(primary_key=True)
    display_name: Mapped[str]
    installation_id: Mapped[int | None] = mapped_column(default=None)
    enabled: Mapped[bool] = mapped_column(default=True)
    config: Mapped[JsonValue] = mapped_column(default=None, repr=False)
    config_error: Mapped[str | None] = mapped_column(default=None)
    reconciled_at: Mapped[float | None] = mapped_column(default=None)
    reconcile_refused_at: Mapped[float | None] = mapped_column(default=None)
    no_suggestions_until: Mapped[float | None] = mapped_column(default=None)
    polled_at: Mapped[float | None] = mapped_column(default=None)
    labels: Mapped[JsonValue] = mapped_column(default=None, repr=False)

    @property
    def has_app(self) -> bool:
        """The App is on it, so decisions made here can be written there."""
        return self.enabled and self.installation_id is not None


class Issue(Base):
    """An issue as last seen, and the state of its triage.

    Attributes:
        body: Markdown of the reporter's, hostile; not loaded by `Store.list_issues`.
        state: On GitHub.
        labels, issue_type: Names as last seen.
        comments: How many.
        digest: That of title and body; filled in by the store.
        priority: How much it needs a person, larger is more; see `priority.py`. Filled in by the store.
        status: People's reaction to the verdict; `open`: not looked at. Filled in by the store.
        verdict_id: The latest verdict; None before the first. Filled in by the store.
        assignee: The person who takes it: a login in lower case, or `admin:NAME`; empty: nobody.
        waits_since: When the author began to wait for a maintainer; `NOBODY_WAITS` if nobody is known to; 0: as filed.
        held: Its labels wait until the repository's configuration is repaired.
        refused: GitHub refused a change that follows from the latest verdict. Filled in by the store.
        looked_at: Its `updated_at` when it was last read as a whole; deliveries since then told of a few columns, and
            raised `updated_at` alone. Filled in by the store.
    """

    __tablename__ = "issues"
    __table_args__ = (
        # By `verdict_id` filters find labels and outcomes: they need not read the issues, which are as long as reports.
        Index("issues_priority", "state", "status", "priority", "repository", "number", "verdict_id"),
        Index("issues_created", "state", "status", "created_at", "repository", "number", "verdict_id"),
        Index("issues_assignee", "assignee", "state", "status"),
        Index("issues_verdict", "verdict_id"),
        Index("issues_waits", "state", "waits_since", "repository", "number"),
        Index(
            "issues_answered",
            *("state", "waits_since", "repository", "number", "created_at"),
            sqlite_where=_ANSWERED,
            postgresql_where=_ANSWERED,
        ),
        Index("issues_refused", "repository", "number", sqlite_where=_REFUSED_HERE, postgresql_where=_REFUSED),
        Index("issues_of_repository", "repository", "state", "status", "priority", "number", "verdict_id"),
    )

    repository: Mapped[Name] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    title: Mapped[str]
    body: Mapped[str] = mapped_column(repr=False)
    author: Mapped[str]
    url: Mapped[str]
    created_at: Mapped[float]
    updated_at: Mapped[float]
    state: Mapped[Lifecycle] = mapped_column(default="open")
    labels: Mapped[JsonValue] = mapped_column(default_factory=list)
    issue_type: Mapped[str | None] = mapped_column(default=None)
    assignee: Mapped[str] = mapped_column(default="")
    comments: Mapped[int] = mapped_column(default=0)
    digest: Mapped[str] = mapped_column(init=False, default="")
    priority: Mapped[float] = mapped_column(init=False, default=0.0)
    status: Mapped[IssueStatus] = mapped_column(init=False, default="open")
    verdict_id: Mapped[int | None] = mapped_column(init=False, default=None)
    held: Mapped[bool] = mapped_column(init=False, default=False)
    refused: Mapped[bool] = mapped_column(init=False, default=False)
    waits_since: Mapped[float] = mapped_column(default=0.0)
    looked_at: Mapped[float] = mapped_column(init=False, default=0.0)

    @property
    def reference(self) -> IssueReference:
        """Which issue."""
        return IssueReference(self.repository, self.number)


class StoredVerdict(Base):
    """A model's verdict on an issue, and the plan made from it.

    Attributes:
        digest: `report_digest` of the title and body that the model read.
        verdict: Schema in `schemas/verdict.schema.json`.
        plan: A JSON object: `changes`, fields of `Change`; `refused`, a sentence each; `dry_run`, `configuration`;
            `given`, name, axis, label and time of each label set so far; `backfilled`, fields of `Backfilled`.
        week_at: Monday 00:00 UTC of the week of `made_at`; filled in by the store.
    """

    __tablename__ = "verdicts"
    __table_args__ = (
        ForeignKeyConstraint(["repository", "number"], ["issues.repository", "issues.number"], ondelete="CASCADE"),
        Index("verdicts_issue", "repository", "number"),
        Index("verdicts_made", "made_at"),
        NEVER_REUSE_IDS,
    )

    id: Mapped[Number] = mapped_column(init=False)
    repository: Mapped[Name]
    number: Mapped[int]
    model: Mapped[str]
    taxonomy_version: Mapped[str]
    digest: Mapped[str]
    verdict: Mapped[Verdict] = mapped_column(repr=False)
    made_at: Mapped[float]
    plan: Mapped[JsonValue] = mapped_column(default=None, repr=False)
    week_at: Mapped[int] = mapped_column(init=False, default=0)
    carried_out_at: Mapped[float | None] = mapped_column(default=None)

    @property
    def reference(self) -> IssueReference:
        """Of which issue."""
        return IssueReference(self.repository, self.number)


class VerdictAxis(Base):
    """One axis, own label or sign of a verdict, for filters and charts; written with it.

    Attributes:
        standing: A person's decision, else `label`; empty: none fits, or the axis does not apply.
        decided: A person decided, on this axis or its required one. `update_status` keeps it and `standing`.
        requires_axis, requires_label: `Axis.requires`; empty for an axis that always applies.
    """

    __tablename__ = "verdict_axes"
    __table_args__ = (
        Index("verdict_axes_outcome", "outcome", "decided", "verdict_id", "axis"),
        Index("verdict_axes_standing", "axis", "standing", "verdict_id"),
    )

    verdict_id: Mapped[int] = mapped_column(
        ForeignKey("verdicts.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    axis: Mapped[str] = mapped_column(primary_key=True)
    label: Mapped[str]
    probability: Mapped[float]
    outcome: Mapped[str]
    labelled: Mapped[bool] = mapped_column(default=True)
    standing: Mapped[str] = mapped_column(default="")
    decided: Mapped[bool] = mapped_column(default=False)
    requires_axis: Mapped[str] = mapped_column(default="")
    requires_label: Mapped[str] = mapped_column(default="")


class Review(Base):
    """A person's review of one axis of an issue. Outlives the issue.

    Attributes:
        label: The right label; None: none of them, or dismissed.
        predicted_label, probability, model: The model's answer, if there was one.
        how: `queue`, `command`, `label` or `unlabel` (set or took off a label), `approve` or `dismiss` (a suggestion).
        at: One person has one review of an axis at one time: a second one is the same event, seen twice.
    """

    __tablename__ = "reviews"
    __table_args__ = (
        UniqueConstraint("repository", "number", "axis", "who", "how", "at", name="reviews_event"),
        Index("reviews_at", "at"),
        NEVER_REUSE_IDS,
    )

    id: Mapped[Number] = mapped_column(init=False)
    repository: Mapped[Name]
    number: Mapped[int]
    axis: Mapped[str]
    label: Mapped[str | None]
    who: Mapped[str]
    how: Mapped[How]
    at: Mapped[float]
    predicted_label: Mapped[str | None] = mapped_column(default=None)
    probability: Mapped[float | None] = mapped_column(default=None)
    model: Mapped[str | None] = mapped_column(default=None)
    verdict_id: Mapped[int | None] = mapped_column(default=None)
    undone_at: Mapped[float | None] = mapped_column(init=False, default=None)


class SharedValue(Base):
    """A value that all processes share: the key that signs cookies, the time of the last test whether writing works."""

    __tablename__ = "shared_values"

    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str] = mapped_column(repr=False)


def values_of(row: Base) -> dict[str, Any]:
    """Column -> value, for INSERT; without an id that the database gives."""
    values = {column.key: getattr(row, column.key) for column in inspect(type(row)).columns}
    return {name: value for name, value in values.items() if name != "id" or value is not None}
