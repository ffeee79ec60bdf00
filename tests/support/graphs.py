"""The graph of a model, loaded once for all that a process asks: 55 MB to verify and a session to build each time."""

from __future__ import annotations

from functools import cache

import pytest

from distriage.model.graph import LoadingGraph

_kept = cache(LoadingGraph)


@pytest.fixture
def kept_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands and classifiers of this process share graphs; all else is loaded anew."""
    monkeypatch.setattr("distriage.model.graph.LoadingGraph", _kept)
    monkeypatch.setattr("distriage.classifier.LoadingGraph", _kept)
