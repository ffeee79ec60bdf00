"""A configured threshold in place of a mode."""

from __future__ import annotations

import pytest

from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage_serving.configuration.file import parse_config
from distriage_serving.judging.judge import look

WORDS = "Seen on rank 3 of our training job since we upgraded the framework yesterday evening."
REPORT = IssueReport("segfault timeout", WORDS)  # a crash at .81


@pytest.mark.parametrize(
    ("threshold", "outcome", "reason"),
    [
        (0.75, "apply", "at or above the configured 0.75"),
        (0.85, "suggest", "below the configured 0.85"),
    ],
)
def test_a_number_decides_in_place_of_the_mode(
    keyword_classifier: Classifier, threshold: float, outcome: str, reason: str
) -> None:
    text = f"mode: precise\naxes:\n  symptom:\n    threshold: {threshold}\n"
    config = parse_config(text, "distriage.yml", keyword_classifier.bundle.taxonomy)
    said = look(keyword_classifier, REPORT, config).verdict.axes["symptom"]
    assert (said.label, said.outcome, said.reason) == ("crash", outcome, reason)
    precise = parse_config("mode: precise\n", "distriage.yml", keyword_classifier.bundle.taxonomy)
    assert look(keyword_classifier, REPORT, precise).verdict.axes["symptom"].outcome == "suggest"


def test_a_label_has_a_number_of_its_own_and_reaches_it_exactly(keyword_classifier: Classifier) -> None:
    given = keyword_classifier.classify(REPORT).axes["symptom"].probability
    text = f"mode: precise\naxes:\n  symptom:\n    labels: {{crash: {{threshold: {given}}}}}\n"
    config = parse_config(text, "distriage.yml", keyword_classifier.bundle.taxonomy)
    assert look(keyword_classifier, REPORT, config).verdict.axes["symptom"].outcome == "apply"


def test_no_number_gives_a_label_where_the_axis_does_not_apply(keyword_classifier: Classifier) -> None:
    config = parse_config("axes: {symptom: {threshold: 0.5}}", "distriage.yml", keyword_classifier.bundle.taxonomy)
    said = look(keyword_classifier, IssueReport("How, how segfault", WORDS), config).verdict.axes["symptom"]
    assert (said.label, said.outcome) == ("crash", "not-applicable") and said.probability > 0.5
