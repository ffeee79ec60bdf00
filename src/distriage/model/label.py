"""A label, its definition and its uses: data of `taxonomy.toml`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

_ABBREVIATION = re.compile(r"\b(?:api|cpu|gpu|io)\b", re.IGNORECASE)  # in names made from ids
# Facts that a label may ask for: fields of `EnvironmentFacts`.
Fact = Literal["torch", "cuda", "nccl", "gpu_model", "gpu_count", "nodes", "os", "launcher"]
Meaning = Literal["hang", "goes-on", "install", "build", "serving", "training"]


class DataModel(BaseModel):
    """Read from a user's file: no unknown keys, no conversions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Label(DataModel):
    """One label of an axis.

    Attributes:
        id: Stable kebab-case identifier; never reused.
        definition: One sentence; the annotators' rule.
        name: For people; made from the id by default.
        family: Parent class, or None on an axis without families.
        source: Where the label comes from; empty in custom taxonomies.
        advice: One sentence for the person who acts on the label; empty on most axes.
        asks_for: Facts that decide its next step, the most decisive first.
        means: Consequences for questions and checks.
        aliases: Names in trackers, found as whole words.
        of_causes: Causes, or families of them, that it presupposes; not given if others are likelier.
        shown_by: Needs of `facts/needs.toml`, one of which a report must show for it to be given; empty: no need.
        study: Its categories in the study that `study tosem` compares with.
        since: The taxonomy version that added it, if not the first.
        retired: The taxonomy version that retired it; None while it is in use.
    """

    id: str = Field(min_length=1)
    definition: str = Field(min_length=1)
    name: str = ""
    family: str | None = None
    source: Literal["", "ours", "paper", "sister"] = ""
    advice: str = ""
    asks_for: tuple[Fact, ...] = Field(default=(), strict=False)
    means: frozenset[Meaning] = Field(default=frozenset(), strict=False)
    aliases: tuple[str, ...] = Field(default=(), strict=False)
    study: tuple[str, ...] = Field(default=(), strict=False)
    of_causes: tuple[str, ...] = Field(default=(), strict=False)
    shown_by: tuple[str, ...] = Field(default=(), strict=False)
    since: str | None = None
    retired: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _name_from_id(cls, data: Any) -> Any:
        if isinstance(data, dict) and not data.get("name") and isinstance(data.get("id"), str):
            words = data["id"].replace("-", " ").capitalize()
            return {**data, "name": _ABBREVIATION.sub(lambda found: found[0].upper(), words)}
        return data


def meanings(labels: Iterable[Label]) -> frozenset[Meaning]:
    """The consequences of several labels of a report together."""
    return frozenset().union(*(label.means for label in labels))
