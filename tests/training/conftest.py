"""The tests of `training/` need the extra `train`."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.extras import module_or_skip

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
