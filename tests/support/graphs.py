"""The graph of a model, loaded once for all that a process asks: 55 MB to verify and a session to build each time.

What is the same to the last byte passes through it once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import pytest

from distriage.model.graph import LoadingGraph


class _Passes:
    """A session of onnxruntime, as far as a classifier uses it."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._known: dict[object, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def run(self, outputs: Sequence[str], given: Mapping[str, Any]) -> Any:
        key = (*outputs, *((name, array.shape, array.tobytes()) for name, array in sorted(given.items())))
        if key not in self._known:
            self._known[key] = self._session.run(outputs, given)
        return self._known[key]


class _KeptGraph(LoadingGraph):
    @cached_property
    def _passes(self) -> Any:
        return _Passes(super().session())

    def session(self) -> Any:
        return self._passes


_kept = cache(_KeptGraph)


@pytest.fixture
def kept_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands and classifiers of this process share graphs; all else is loaded anew."""
    monkeypatch.setattr("distriage.model.graph.LoadingGraph", _kept)
    monkeypatch.setattr("distriage.classifier.LoadingGraph", _kept)
