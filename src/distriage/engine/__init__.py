"""Many reports: answers in order, in constant memory, from a process a core, or from a Ray cluster."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from distriage.base.types import Mode


class Engine(StrEnum):
    """The engine that answers a batch."""

    LOCAL = "local"
    RAY = "ray"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the answers of a run depend on.

    Attributes:
        model: A bundle's folder or name; the default model if None.
        own: A folder with a repository's own labels.
        releases: A file that `distriage releases update` wrote.
    """

    model: str | None
    mode: Mode
    explain: bool = False
    similar: bool = False
    own: str | None = None
    releases: Path | None = None
