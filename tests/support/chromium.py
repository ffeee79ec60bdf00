"""Debian's browser, driven by Playwright. Its shell without windows takes a third of the whole browser's CPU."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PROGRAM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
IS_HERE = PROGRAM is not None and importlib.util.find_spec("playwright") is not None


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a browser; where none is installed, skip the test."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'distriage[dev]'")
    if PROGRAM is None:
        pytest.skip("needs a browser: apt-get install chromium-headless-shell")
    with playwright.sync_playwright() as started:
        yield (launched := started.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"]))
        launched.close()
