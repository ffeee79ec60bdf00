"""Many reports: answers in order, in constant memory, from a process a core, or from a Ray cluster."""

from __future__ import annotations

from enum import StrEnum


class Engine(StrEnum):
    """What answers a batch."""

    LOCAL = "local"
    RAY = "ray"
