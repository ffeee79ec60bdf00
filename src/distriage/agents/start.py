"""The server on standard input and output. Imports nothing heavy: it answers while the model loads."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from distriage.agents.protocol import serve
from distriage.agents.tools import instructions, make_tools

if TYPE_CHECKING:
    from distriage.classifier import Classifier
    from distriage.past.index import PastIndex


def start(past: Path | None = None, model: str | None = None) -> None:
    """Answer until the input ends.

    Args:
        past: An index of the repository's past issues.

    Raises:
        DistriageError: the model or the index cannot be read, said at once where one is named.
    """
    outgoing, sys.stdout = sys.stdout.buffer, sys.stderr  # nothing else may write among the messages
    beside = ThreadPoolExecutor(1)
    loaded = beside.submit(_load, past, model)
    beside.shutdown(wait=False)
    if past is not None or model is not None:
        loaded.result()
    tools = make_tools(lambda: loaded.result()[0], lambda: loaded.result()[1])
    serve(tools, instructions(), sys.stdin.buffer, outgoing)


def _load(past: Path | None, model: str | None) -> tuple[Classifier, PastIndex | None]:
    from distriage.model.graph import LoadingGraph
    from distriage.model.shipped import GRAPH, find_bundle

    folder = find_bundle(model)
    graph = LoadingGraph(folder / GRAPH, 1)  # while it loads, the rest is imported
    from distriage.classifier import Classifier

    classifier = Classifier(folder, graph=graph)
    if past is None:
        return classifier, None
    from distriage.past.file import load_index

    return classifier, load_index(past).made_with(classifier.bundle.manifest.name, past)
