"""The graph of a bundle in onnxruntime. Imports nothing else that is heavy, so that a process can begin with it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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


class LoadingGraph:
    """A graph that loads in the background, as does its digest; neither holds the interpreter's lock."""

    def __init__(self, file: Path, threads: int | None = None) -> None:
        """Begin to load, as `open_session` does; its error is raised when the result is used.

        Where a bundle has a graph whose weights are mapped, that one is loaded: a third of the time, and processes
        share the memory. onnxruntime maps no file that a link leads to.
        """
        self.file = file
        mapped = file.with_name(MAPPED)
        loaded = mapped if mapped.is_file() and not file.is_symlink() else file
        beside = ThreadPoolExecutor(2)
        self._session = beside.submit(open_session, loaded, threads)
        self._sha256 = beside.submit(sha256_of, file)
        beside.shutdown(wait=False)

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
