"""A corpus in files, to join with texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from distriage.model.taxonomy import default_taxonomy

from support.toys import annotation, write_corpus

TAXONOMY = default_taxonomy()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder with annotations, and the text of the one that is ours."""
    rows = [annotation(f"a/b#{n}") for n in range(1, 5)] + [annotation("a/b#9", origin="restated")]
    return write_corpus(tmp_path / "corpus", rows, {"a/b#9": ("t", "b")})
