from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from distriage.model.bundle import Bundle, Manifest
from distriage.model.shipped import default_model
from distriage_training.measure.evaluation import BundleFigures, Evaluation
from distriage_training.release.model_card import model_card, read_figures

from support.checkout import REPOSITORY


@pytest.fixture(scope="module")
def manifest(tiny_bundle: Path) -> Manifest:
    return Bundle(tiny_bundle).manifest


@pytest.fixture(scope="module")
def figures(tiny_bundle: Path) -> BundleFigures:
    return read_figures(Bundle(tiny_bundle))


def front_matter(card: str) -> dict[str, Any]:
    start, head, _ = card.split("---\n", 2)
    assert start == ""
    loaded: dict[str, Any] = yaml.safe_load(head)
    return loaded


def test_the_front_matter_is_yaml_that_the_hub_reads(manifest: Manifest, figures: BundleFigures) -> None:
    head = front_matter(model_card(manifest, figures, gated=False))
    assert head["license"] == "apache-2.0"
    assert head["language"] == ["en", "zh"]
    assert head["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert head["pipeline_tag"] == "text-classification"
    (index,) = head["model-index"]
    assert index["name"] == "tiny"
    assert [result["task"]["name"] for result in index["results"]] == list(figures.validation)
    for result in index["results"]:
        row = figures.validation[result["task"]["name"]]
        assert result["dataset"]["split"] == "validation"
        assert [metric["value"] for metric in result["metrics"]] == [
            round(row.accuracy, 3),
            round(row.macro_f1, 3),
        ]


def test_the_card_says_what_the_model_is(manifest: Manifest, figures: BundleFigures) -> None:
    provenance = manifest.provenance.model_copy(
        update={
            "records": {"train": 1234, "validation": 56, "test": 78},
            "data_sha256": "0123456789abcdef" * 4,
            "sparse_records": 2345,
            "hardware": "NVIDIA H200",
            "training_seconds": 630.0,
            "seed": 11,
            "commit": "fedcba9876543210" + "0" * 24,
            "created": "2026-01-31",
        }
    )
    other = manifest.model_copy(update={"provenance": provenance, "numeric_format": "fp32", "max_tokens": 512})
    card = " ".join(model_card(other, figures, gated=False).split())
    for said in (
        "the axes kind, distributed, stage, symptom, cause, fix of the taxonomy",
        "fp32, 512 tokens.",
        "1,234 train, 56 validation, 78 test reports of the Distriage corpus (data hash `0123456789abcdef`)",
        "the sparse head saw 2,345 training reports",
        "a language model that reads title and body alone agrees with one that reads the whole thread",
        "NVIDIA H200, 10 minutes, seed 11, commit `fedcba987654`, 2026-01-31.",
    ):
        assert said in card
    headings = ("## Intended use", "## Data", "## Evaluation (validation split)", "## Limits", "## Training")
    places = [card.find(heading) for heading in headings]
    assert -1 not in places and places == sorted(places)


def test_figures_of_the_test_split_replace_those_of_validation(manifest: Manifest, figures: BundleFigures) -> None:
    shares = {"accuracy_interval": (0, 1), "macro_f1_interval": (0, 1), "weighted_f1": 0, "ece": 0, "brier": 0}
    majority = {"accuracy": 0, "macro_f1": 0}
    cause = {"n": 1234, "accuracy": 0.98765, "macro_f1": 0.4321, **shares, "coverage": {}, "majority": majority}
    test = Evaluation.model_validate(
        {"model": "tiny", "split": "test", "records": 1, "axes": {"cause": cause}, "groups": {}, "thresholds": {}}
    )
    card = model_card(manifest, figures.model_copy(update={"evaluation_test": test}), gated=False)
    assert "## Evaluation (test split)" in card
    assert "| cause | 1234 | 0.988 | 0.432 |" in card
    (result,) = front_matter(card)["model-index"][0]["results"]
    assert result["dataset"]["split"] == "test"
    assert [metric["value"] for metric in result["metrics"]] == [0.988, 0.432]
    kind = figures.validation["kind"]
    assert f"| kind | {kind.n} |" not in card


def test_the_bundle_carries_its_card(manifest: Manifest, figures: BundleFigures, tiny_bundle: Path) -> None:
    assert (tiny_bundle / "README.md").read_text(encoding="utf-8") == model_card(manifest, figures, gated=False)


def test_the_released_card_is_what_is_written_of_the_released_model() -> None:
    bundle = Bundle(REPOSITORY / "models" / default_model())
    assert (bundle.path / "README.md").read_text(encoding="utf-8") == model_card(
        bundle.manifest, read_figures(bundle), gated=True
    )


def test_the_card_claims_a_gate_only_where_there_is_one(manifest: Manifest, figures: BundleFigures) -> None:
    with_gate, without = (model_card(manifest, figures, gated=gated) for gated in (True, False))
    assert "keeps it silent on reports of other software" in with_gate
    assert "keeps it silent" not in without and "it labels reports of other software, too" in without


def test_the_card_of_a_model_of_a_table_claims_nothing_of_the_corpus(
    manifest: Manifest, figures: BundleFigures
) -> None:
    """What the table's licence and languages are, and who chose its labels, nobody told us."""
    config = {"data": {"format": "csv", "train": "../mine/issues: new.csv"}}
    provenance = manifest.provenance.model_copy(update={"config": config})
    card = model_card(manifest.model_copy(update={"provenance": provenance}), figures, gated=False)
    head = front_matter(card)
    assert head.keys().isdisjoint({"license", "language"})
    assert head["tags"] == ["issue-triage"]
    assert {result["dataset"]["name"] for result in head["model-index"][0]["results"]} == {"issues: new.csv"}
    assert "reports of the table `issues: new.csv`" in card and "The labels are those of the table." in card
    for false in ("orpus", "anguage model", "guide", "deep-learning", "Chinese", "Root cause", "annotators", "mine/"):
        assert false not in card, false
