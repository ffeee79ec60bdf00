"""The probability below which no question and no check is shown, set by a test."""

from __future__ import annotations

from dataclasses import replace

import pytest

from distriage.answer.worth import fits


def set_cut(monkeypatch: pytest.MonkeyPatch, least: float) -> None:
    """Show all lines (0) or none (1)."""
    cut = {line: replace(fit, least=least) for line, fit in fits().items()}
    monkeypatch.setattr("distriage.answer.worth.fits", lambda: cut)
