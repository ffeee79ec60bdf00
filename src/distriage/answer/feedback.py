"""A person's decision on one axis of an issue, or on one of the repository's own labels. Pure.

`distriage reviews export` writes one JSON object a line, and training reads it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

OWN_AXIS = "own:"  # followed by a label of the repository's own: the axis in a review of it

_OneLine = Annotated[str, Field(min_length=1, pattern=r"^[^\r\n]+$")]


class ReviewRecord(BaseModel):
    """The latest review by a person of one axis of an issue.

    Attributes:
        id: `owner/repo#12`.
        title, body: As last known.
        created: When the issue was filed, if known.
        axis: One of the model's, or `own:` and a label of the repository's own.
        label: The right label; None: only the model's label is known to be wrong.
        predicted_label, probability: The model's answer, if there was one.
        model: The bundle that gave it, or empty.
        how: In the queue, by a `/triage` command, or on GitHub: by setting or taking off a label, or by approving or
            dismissing a suggestion.
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
    """The axis in a review of one of the repository's own labels."""
    return f"{OWN_AXIS}{label}"


def own_label(axis: str) -> str | None:
    """The own label in a review's axis; None for an axis of the model's."""
    return axis.removeprefix(OWN_AXIS) if axis.startswith(OWN_AXIS) else None
