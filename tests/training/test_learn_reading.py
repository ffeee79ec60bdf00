from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'distriage[learn]'")

from distriage.classifier import Classifier
from distriage.github.listed import ListedIssue
from distriage_training.learn.features import features_of


def test_processes_read_issues_as_one_does_and_in_order(keyword_classifier: Classifier) -> None:
    issues = [ListedIssue(number, f"crash {number}", "It ends.", "", 0.0, (), False) for number in range(40)]
    told: list[tuple[str, int, int]] = []
    one, two = (
        features_of(keyword_classifier, issues, lambda *step: told.append(step), workers=count) for count in (1, 2)
    )
    assert told == [("reading", number, 40) for number in range(1, 41)] * 2
    for alone, together in zip(one, two, strict=True):
        for name in ("ids", "counts", "vector", "axes"):
            np.testing.assert_array_equal(getattr(alone, name), getattr(together, name))
