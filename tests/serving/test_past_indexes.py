from __future__ import annotations

import os
from pathlib import Path

from distriage.classifier import Classifier
from distriage_serving.past.indexes import PastIndexes

from support.past_index import write_asked_before


def test_an_index_is_read_anew_once_it_changed_and_a_broken_one_is_none(shipped_bundle: Path, tmp_path: Path) -> None:
    classifier = Classifier(shipped_bundle, threads=1)
    model = classifier.bundle.manifest.name
    indexes = PastIndexes(tmp_path)
    assert indexes.index("Owner/Repo", model) is None and not indexes.has("owner/repo")
    file = write_asked_before(tmp_path, classifier)
    first = indexes.index("Owner/Repo", model)
    assert first is not None and indexes.index("owner/repo", model) is first and indexes.has("owner/repo")
    file.write_bytes(b"broken")
    os.utime(file, ns=(1, 1))
    assert indexes.index("owner/repo", model) is None
    assert PastIndexes(None).index("owner/repo", model) is None


def test_an_index_of_another_model_is_none(shipped_bundle: Path, tmp_path: Path) -> None:
    write_asked_before(tmp_path, Classifier(shipped_bundle, threads=1))
    assert PastIndexes(tmp_path).index("owner/repo", "another") is None
