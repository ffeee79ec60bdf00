"""Record of work done on an issue. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from distriage_serving.planning.suggested import Reasoned, Suggested
from distriage_serving.planning.types import Change, changes_of


@dataclass(slots=True)
class Execution:
    """Work done on an issue.

    Attributes:
        labels_created: Names of labels new to the repository.
        labels_added: Names of labels that the issue gained.
        labels_taken_off: Names of labels that the issue lost.
        suggested: Changes that a person is asked to approve.
        decided: Earlier suggestions, and whether each was approved or dismissed.
        label_ids: Name -> GitHub's id of created labels.
        no_suggestions: Why nothing can be suggested here, if so.
        comment: `written`, `edited` or None.
        warnings: GitHub's refusals, one sentence each.
    """

    labels_created: list[str] = field(default_factory=list)
    labels_added: list[str] = field(default_factory=list)
    labels_taken_off: list[str] = field(default_factory=list)
    issue_type: str | None = None
    fields: list[Reasoned] = field(default_factory=list)
    suggested: list[Reasoned] = field(default_factory=list)
    decided: list[tuple[Suggested, bool]] = field(default_factory=list)
    label_ids: dict[str, int] = field(default_factory=dict)
    no_suggestions: str | None = None
    comment: str | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def changes(self) -> tuple[Change, ...]:
        """All that was changed on the issue."""
        return tuple(
            changes_of(
                self.labels_added, self.labels_taken_off, self.issue_type, self.comment, self.fields, self.suggested
            )
        )
