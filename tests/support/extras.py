"""Folders of tests that need an extra say so once, in their conftest."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

import pytest


class _Skipped(pytest.Module):
    """A file whose tests cannot run here; it is not imported."""

    reason = ""

    def collect(self) -> list[pytest.Item]:
        pytest.skip(self.reason, allow_module_level=True)


@cache  # asked for each file; to look through all folders takes 5 ms
def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def module_or_skip(path: Path, parent: pytest.Collector, extra: str, *modules: str) -> pytest.Module | None:
    """For the hook `pytest_pycollect_makemodule`: skip a file if one of the modules is not installed."""
    missing = [name for name in modules if not _is_installed(name)]
    if not missing:
        return None
    skipped: _Skipped = _Skipped.from_parent(parent, path=path)
    skipped.reason = f"needs {', '.join(missing)}: pip install 'distriage[{extra}]'"
    return skipped
