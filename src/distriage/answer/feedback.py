"""What a person decided about one axis of an issue, or about one of the repository's own labels. Pure.

`distriage reviews export` writes one JSON object a line, and training reads it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

OWN_AXIS = "own:"  # and a label of the repository's own: what stands for the axis in a review of it

_OneLine = Annotated[str, Field(min_length=1, pattern=r"^[^\r\n]+$")]


class ReviewRecord(BaseModel):
    """The latest review by a person of one axis of an issue.

    Attributes:
        id: `owner/repo#12`.
        url: The issue's page.
        title, body: As Distriage knew them last.
        created: When the issue was filed; None where that is not known.
        axis: One of the model's, or `own:` and a label of the repository's own.
        label: What the person says is right; None: only that the model's label is not.
        predicted_label, probability: What the model had said; None where it had said nothing.
        model: The bundle that had said it; empty where none had.
        who: The person's login.
        how: In the queue, by a `/triage` command, or on GitHub: by setting or taking off a label, or by approving or
            dismissing a suggestion.
        at: When.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    schema_version: Literal[1] = 1
    id: str = Field(pattern=r"^[A-Za-z0-9][\w.-]*/[\w.-]+#[1-9]\d{0,9}$")
    url: str = Field(pattern=r"^(https?://\S+)?$")
    title: str
    body: str
    created: AwareDatetime | None
    axis: _OneLine
    label: _OneLine | None
    predicted_label: _OneLine | None
    probability: float | None = Field(ge=0, le=1)
    model: str
    who: _OneLine
    how: Literal["queue", "command", "label", "unlabel", "approve", "dismiss"]
    at: AwareDatetime


def own_axis(label: str) -> str:
    """What stands for the axis in a review of one of the repository's own labels."""
    return f"{OWN_AXIS}{label}"


def own_label(axis: str) -> str | None:
    """The label that a review's axis names; None: it is an axis of the model's."""
    return axis.removeprefix(OWN_AXIS) if axis.startswith(OWN_AXIS) else None
