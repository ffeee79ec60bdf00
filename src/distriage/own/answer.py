"""A verdict's part on a repository's own labels. Pure; light, since every verdict imports it."""

from __future__ import annotations

from distriage.base.validation import Strict, field


class OwnLabel(Strict):
    """The answer on one of the repository's own labels. Set it only if `applied` is true."""

    label: str
    probability: float = field(ge=0, le=1)
    applied: bool = field(description="The probability reaches the label's threshold.")
    precision: float | None = field(
        default=None,
        ge=0,
        le=1,
        description="How often the label was right on held-out issues from its threshold on; null if not applied.",
    )
