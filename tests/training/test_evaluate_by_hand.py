"""Figures of an evaluation that are computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from distriage_training.measure.evaluate import score
from distriage_training.measure.evaluation import Evaluation
from distriage_training.measure.report import report


def test_score_by_hand() -> None:
    truth = np.array([0, 0, 1, 1])
    probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.3, 0.7]])
    scores = score(truth, probabilities, np.zeros(4, int))
    assert (scores.n, scores.accuracy, scores.majority.accuracy, scores.tfidf_lr) == (4, 0.75, 0.5, None)
    assert scores.macro_f1 == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert scores.coverage == {"0.80": 0.75, "0.90": 0.75, "0.95": 0.75}


def test_the_mean_over_groups_and_published_figures() -> None:
    brief = {"accuracy": 0.5, "macro_f1": 0.25}
    row = {
        "n": 4,
        **brief,
        "accuracy_interval": (0.1, 0.9),
        "macro_f1_interval": (0.1, 0.9),
        "ece": 0.1,
        "brier": 0.5,
        "weighted_f1": 0.5,
        "coverage": {"0.80": 0.5},
        "majority": brief,
    }
    document = {
        "model": "nlbse24",
        "split": "test",
        "records": 4,
        "axes": {"type": row},
        "groups": {"type": {"group a/b": {"n": 4, **brief, "accuracy_interval": (0.15, 0.85)}}},
        "thresholds": {"precise": {"type": {"coverage": 0.0, "precision": None}}},
        "agreement": {},
        "group_macro_f1_mean": {"type": 0.81239},
        "published": {"SetFit": 0.827},
    }
    lines = report(Evaluation.model_validate(document)).splitlines()
    assert lines[-2:] == ["| **this model, type** | **0.8124** |", "| SetFit (published) | 0.827 |"]
    assert "| precise | none (0%) |" in lines
    assert "| group a/b | 0.500 (0.15–0.85) / 0.250, 4 |" in lines
