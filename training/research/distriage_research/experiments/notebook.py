"""Measurements on disk, so that an experiment can be interrupted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


class Notebook:
    """Measurements under a key, on disk after each; those of other data or settings are not taken up again."""

    def __init__(self, file: Path, made_of: Mapping[str, Any]) -> None:
        """Open a file of measurements.

        Args:
            made_of: Everything that the measurements depend on, as JSON values.
        """
        self.file = file
        self.made_of = json.loads(json.dumps(made_of))
        self.entries: dict[str, Any] = {}
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return
        if isinstance(found, dict) and found.get("made_of") == self.made_of:
            self.entries = found["entries"]

    def measure(self, key: str, make: Callable[[], Any]) -> Any:
        """The measurement of a key: the one on disk, else a new one."""
        if key not in self.entries:
            self.entries[key] = make()
            self.file.parent.mkdir(parents=True, exist_ok=True)
            part = self.file.with_suffix(".part")
            document = {"made_of": self.made_of, "entries": self.entries}
            part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
            part.replace(self.file)
        return self.entries[key]
