"""The look of our pages."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("jinja2", reason="needs jinja2: pip install 'distriage[serve]'")

from distriage.base.pages import LOOK

from support.checkout import REPOSITORY


def test_colours_come_from_one_style_sheet() -> None:
    """Only the lines of a study's figures have colours of their own."""
    packages = [REPOSITORY / place for place in ("src", "serving", "training/distriage_training")]
    files = [file for package in packages for suffix in ("html", "css") for file in package.rglob(f"*.{suffix}")]
    colour = re.compile(r"(?<!&)#[0-9a-f]{3,8}\b(?!\")", re.I)
    coloured = {file.name for file in files if colour.search(file.read_text(encoding="utf-8"))}
    assert coloured == {"look.css", "study.html"}
    known = set(re.findall(r"(--[\w-]+):", LOOK))
    for file in files:
        text = file.read_text(encoding="utf-8")
        used = {name for name in re.findall(r"var\((--[\w-]+)", text) if not re.fullmatch(r"--c\d?", name)}
        assert used <= known, file
