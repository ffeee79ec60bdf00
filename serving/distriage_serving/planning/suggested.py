"""Changes with a reason, which may be suggested, and the fate of earlier ones. Frozen; pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from distriage_serving.planning.intent import Intent

Action = Literal["add_label", "set_type", "add_field", "close_issue"]  # GitHub's words for suggestions
SuggestionState = Literal["pending", "approved", "dismissed", "applied", "ended"]


@dataclass(frozen=True, slots=True)
class Suggested:
    """An earlier suggestion, or a field set earlier.

    Attributes:
        value: Name of the label, the type or the option; number of the original.
        id: GitHub's, if known.
        target_id: GitHub's id of the label, the field or the original, if known.
        ours: Distriage made it, so it may take it back.
        held: It was to be set, and GitHub asks a person first.
        label: The axis's label behind it, or empty.
    """

    action: Action
    value: str
    state: SuggestionState
    id: int | None = None
    target_id: int | None = None
    ours: bool = True
    held: bool = False
    axis: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class IssueField:
    """A single-select issue field of an organization."""

    id: int
    name: str
    options: tuple[str, ...]

    def option(self, wanted: str) -> str | None:
        """The option of that name, ignoring case and marks between words; None if unknown."""
        return next((name for name in self.options if _words(name) == _words(wanted)), None)


def _words(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


@dataclass(frozen=True, slots=True)
class Reasoned:
    """A change with its reason.

    Attributes:
        value, target_id: As in `Suggested`.
        axis, label: Basis of the change; empty for past issues and own labels.
        sure: It would be made if nothing were suggested.
    """

    action: Action
    value: str
    intent: Intent
    target_id: int | None = None
    axis: str = ""
    label: str = ""
    sure: bool = field(default=True, compare=False)

    @property
    def shown(self) -> str:
        """For people."""
        return f"duplicate of #{self.value}" if self.action == "close_issue" else self.value
