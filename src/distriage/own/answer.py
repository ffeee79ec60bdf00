"""A verdict's part on a repository's own labels. Pure; light, since every verdict imports it."""

from __future__ import annotations

from pydantic import Field

from distriage.base.validation import Strict


class OwnLabel(Strict):
    """The answer on one of the repository's own labels. Set it only if `applied` is true."""

    label: str
    probability: float = Field(ge=0, le=1)
    applied: bool = Field(description="The probability reaches the label's threshold.")
