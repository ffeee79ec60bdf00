from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'distriage[learn]'")

from distriage.base.types import FormLines
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


def test_the_lines_of_the_repositorys_forms_are_not_learned_from(keyword_classifier: Classifier) -> None:
    def read(body: str, forms: FormLines | None = None) -> list[int]:
        issue = ListedIssue(1, "crash", body, "", 0.0, (), False)
        (features,) = features_of(keyword_classifier, [issue], lambda *_: None, forms=forms)
        return [int(one) for one in features.ids]

    asked = "Name the captain of the ship."
    assert read(f"{asked}\nIt ends.") != read("It ends.")
    assert read(f"{asked}\nIt ends.", FormLines(frozenset(), frozenset({asked}))) == read("It ends.")
