"""The tests of `training/` need the extra `train`, and read the repository's own corpus once for all."""

from __future__ import annotations

import gc
import hashlib
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from distriage.model.taxonomy import Taxonomy
from distriage_training.corpus import load

from support.extras import module_or_skip
from support.toys import CORPUS

NEEDED = (
    "torch",
    "transformers",
    "datasets",
    "accelerate",
    "sklearn",
    "onnx",
    "onnxscript",
    "tensorboard",
    "matplotlib",
)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Skip a file whose extra is not installed."""
    return module_or_skip(module_path, parent, "train", *NEEDED)


@pytest.fixture(autouse=True, scope="session")
def _own_corpus_is_read_once(once: Callable[[str, Callable[[Path], object]], Path]) -> Iterator[None]:
    """Its 35,000 annotations take two seconds to read, and thirty trainings, exports and studies start with them.

    Records are frozen, and each caller gets a list of its own.
    """
    read, known = load.load_records, {}

    def load_records(corpus: Path, texts: Path, taxonomy: Taxonomy) -> tuple[list[load.Record], list[load.Annotation]]:
        if corpus.resolve() != CORPUS.resolve() or texts.is_file():
            return read(corpus, texts, taxonomy)
        asked = [(axis.id, sorted(axis.label_ids)) for axis in taxonomy.axes.values()]  # all that is asked of it
        name = f"corpus-{hashlib.sha256(repr(asked).encode()).hexdigest()[:12]}"
        if name not in known:
            file = once(name, lambda file: file.write_bytes(pickle.dumps(read(corpus, texts, taxonomy))))
            known[name] = pickle.loads(file.read_bytes())
        records, missing = known[name]
        return list(records), list(missing)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "load_records", load_records)
        yield


@pytest.fixture(autouse=True, scope="module")
def _what_modules_import_is_no_garbage() -> None:
    """Each training searches all objects for cycles, and those of PyTorch's exporter, SciPy and others take 0.2 s."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _few_hundred_toys_are_read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes take longer to start than to read them; test_learn_reading.py names a number, and starts them."""
    monkeypatch.setattr("distriage.engine.spread.cores", lambda: 1)


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """For evaluations that test_evaluate.py is not about: the eight pictures take longer than all that they show."""
    monkeypatch.setattr("distriage_training.measure.evaluate.draw_figures", lambda *_: None)
