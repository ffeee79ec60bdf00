"""The graph of a bundle in onnxruntime. Imports nothing else that is heavy, so that a process can begin with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Generic, TypeVar

import onnxruntime

from distriage.base.errors import BundleError
from distriage.model.shipped import MAPPED, sha256_of


def open_session(file: Path, threads: int | None = None) -> onnxruntime.InferenceSession:
    """Load an ONNX file as in production.

    Args:
        threads: Threads per pass; one per core by default.

    Raises:
        BundleError: onnxruntime cannot load it.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if threads is not None:
        options.intra_op_num_threads = threads
    # Spinning threads take the core from other work, and double the time to load.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(
            str(file),
            options,
            providers=["CPUExecutionProvider"],
            # Its kernel is scalar: 6 times slower than Add and LayerNormalization.
            disabled_optimizers=["SkipLayerNormFusion"],
        )
    except Exception as error:  # onnxruntime raises a dozen unrelated types
        raise BundleError(f"{file}: onnxruntime cannot load it: {error}") from None


_Result = TypeVar("_Result")


class _Beside(Thread, Generic[_Result]):
    """A call in a thread of its own. `concurrent.futures` takes longer to import than this file."""

    def __init__(self, call: Callable[[], _Result]) -> None:
        super().__init__()
        self._call = call
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._value = self._call()
        except BaseException as error:
            self._error = error

    def result(self) -> _Result:
        """Wait for the result, or raise the error of the call."""
        self.join()
        if self._error is not None:
            raise self._error
        return self._value


def loaded_for(file: Path) -> Path:
    """The file to load for a bundle's graph: the same with mapped weights, if there.

    It takes a third of the time, and processes share the memory. onnxruntime maps no file that a link leads to.
    """
    mapped = file.with_name(MAPPED)
    return mapped if mapped.is_file() and not file.is_symlink() else file


class LoadingGraph:
    """A graph that loads in the background, as does its digest; neither holds the interpreter's lock.

    Attributes:
        file: The graph of a bundle.
        loaded: The file that is loaded for it: itself, or another that maps its weights.
    """

    def __init__(self, file: Path, threads: int | None = None) -> None:
        """Begin to load, as `open_session` does; its error is raised when the result is used."""
        self.file = file
        self.loaded = loaded_for(file)
        self._session = _Beside(lambda: open_session(self.loaded, threads))
        self._sha256 = _Beside(lambda: sha256_of(file))

    def session(self) -> onnxruntime.InferenceSession:
        """The loaded graph.

        Raises:
            BundleError: onnxruntime cannot load it.
        """
        return self._session.result()

    def sha256(self) -> str:
        """SHA-256 of the file, hex.

        Raises:
            OSError: it cannot be read.
        """
        return self._sha256.result()
