"""Many reports: answers in order, in constant memory, from a process a core, or from a Ray cluster."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from distriage.base.types import Mode


class Engine(StrEnum):
    """What answers a batch."""

    LOCAL = "local"
    RAY = "ray"


@dataclass(frozen=True, slots=True)
class Settings:
    """What every answer of a run depends on.

    Attributes:
        model: A bundle's folder or name; None: the default model.
        own: A folder with a repository's own labels.
    """

    model: str | None
    mode: Mode
    explain: bool = False
    similar: bool = False
    own: str | None = None
