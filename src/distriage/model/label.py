"""A label, its definition and its uses: data of `taxonomy.toml`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar, Literal

from distriage.base.texts import regex
from distriage.base.validation import Strict, field

_ABBREVIATION = regex(r"\b(?:api|cpu|gpu|io)\b", re.IGNORECASE)  # in names made from ids
Meaning = Literal["hang", "goes-on", "install", "build", "serving", "training"]


class DataModel(Strict):
    """Read from a user's file: no unknown keys, no conversions."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True, "allow_inf_nan": False}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return {**handler(source), "strict": False}  # a table is not an instance yet; its values are not converted


class Label(DataModel):
    """One label of an axis.

    Attributes:
        id: Stable kebab-case identifier; never reused.
        definition: One sentence; the annotators' rule.
        name: For people; made from the id by default.
        family: Parent class, or None on an axis without families.
        source: Where the label comes from; empty in custom taxonomies.
        advice: One sentence for the person who acts on the label; empty on most axes.
        means: Consequences for questions and checks.
        aliases: Names in trackers, found as whole words.
        of_causes: Causes, or families of them, that it presupposes; not given if others are likelier.
        shown_by: Needs of `facts/needs.toml`, one of which a report must show for it to be given; empty: no need.
        excluded_by: Needs, one of which keeps it from being given; empty: none does.
        study: Its categories in the study that `study tosem` compares with.
        since: The taxonomy version that added it, if not the first.
        retired: The taxonomy version that retired it; None while it is in use.
    """

    id: str = field(min_length=1)
    definition: str = field(min_length=1)
    name: str = ""
    family: str | None = None
    source: Literal["", "ours", "paper", "sister"] = ""
    advice: str = ""
    means: frozenset[Meaning] = field(default=frozenset(), strict=False)
    aliases: tuple[str, ...] = field(default=(), strict=False)
    study: tuple[str, ...] = field(default=(), strict=False)
    of_causes: tuple[str, ...] = field(default=(), strict=False)
    shown_by: tuple[str, ...] = field(default=(), strict=False)
    excluded_by: tuple[str, ...] = field(default=(), strict=False)
    since: str | None = None
    retired: str | None = None

    def __post_init__(self) -> None:
        if not self.name:
            words = self.id.replace("-", " ").capitalize()
            object.__setattr__(self, "name", _ABBREVIATION.sub(lambda found: found[0].upper(), words))


def meanings(labels: Iterable[Label]) -> frozenset[Meaning]:
    """The consequences of several labels of a report together."""
    return frozenset().union(*(label.means for label in labels))
