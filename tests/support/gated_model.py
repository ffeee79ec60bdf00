"""Models that wait for a test.

The server's process for the model imports this module, so it imports nothing of the web: that takes two seconds.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from distriage.base.types import Prediction
from distriage.classifier import Classifier
from distriage.recipe.text import ModelInput

from support.waiting import until


class GatedModel:
    """Loads a classifier, in the server's process for the model, that classifies only while its gate is open.

    Attributes:
        bundle: What is loaded.
        only: The title of the report that has to wait; empty: all.
    """

    def __init__(self, bundle: Path, folder: Path, only: str = "") -> None:
        self.bundle = bundle
        self.only = only
        self._gate = folder / "gate"
        self._calls = folder / "calls"
        self._calls.touch()

    def __call__(self) -> Classifier:
        return _GatedClassifier(self)

    def open(self) -> None:
        """Let everything through."""
        self._gate.touch()

    @property
    def titles(self) -> list[str]:
        """Of the reports that came as far as the model, in order."""
        return self._calls.read_text(encoding="utf-8").splitlines()

    def wait(self, title: str) -> None:
        """Called by the model's process: note the report, wait for the gate."""
        if title != (self.only or title):
            return
        with self._calls.open("a", encoding="utf-8") as stream:
            stream.write(title + "\n")
        until(self._gate.exists)


@dataclass(frozen=True)
class LateModel:
    """Loads a classifier once a file has arrived."""

    bundle: Path
    arrival: Path

    def __call__(self) -> Classifier:
        until(self.arrival.exists)
        return Classifier(self.bundle, threads=1)


class _GatedClassifier(Classifier):
    """Stumbles over `zebra`, is killed at `dodo`, and is caught in a native call, which keeps the GIL, by `quagga`."""

    def __init__(self, model: GatedModel) -> None:
        super().__init__(model.bundle, threads=1)
        self._model = model

    def predict_inputs(self, inputs: Sequence[ModelInput]) -> list[Prediction]:
        for title in (one.title for one in inputs):
            self._model.wait(title)
            if title == "zebra":
                raise RuntimeError(f"onnxruntime choked on {title}")
            if title == "dodo":
                os.kill(os.getpid(), signal.SIGKILL)
            if title == "quagga":
                re.match(r"(a*)*b", "a" * 100)  # the age of the universe
        return super().predict_inputs(inputs)
