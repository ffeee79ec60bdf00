"""Folders of tests that need an extra say so once, in their conftest."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


class _Skipped(pytest.Module):
    """A file whose tests cannot run here; it is not imported."""

    reason = ""

    def collect(self) -> list[pytest.Item]:
        pytest.skip(self.reason, allow_module_level=True)


def module_or_skip(path: Path, parent: pytest.Collector, extra: str, *modules: str) -> pytest.Module | None:
    """For the hook `pytest_pycollect_makemodule`: skip a file if one of the modules is not installed."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if not missing:
        return None
    skipped: _Skipped = _Skipped.from_parent(parent, path=path)
    skipped.reason = f"needs {', '.join(missing)}: pip install 'distriage[{extra}]'"
    return skipped
