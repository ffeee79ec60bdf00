from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from distriage_training.model_card import model_card

from distriage.bundle import Bundle, Manifest


@pytest.fixture(scope="module")
def manifest(tiny_bundle: Path) -> Manifest:
    return Bundle(tiny_bundle).manifest


@pytest.fixture(scope="module")
def summary(tiny_bundle: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((tiny_bundle / "metrics.json").read_text(encoding="utf-8"))
    return loaded


def front_matter(card: str) -> dict[str, Any]:
    start, head, _ = card.split("---\n", 2)
    assert start == ""
    loaded: dict[str, Any] = yaml.safe_load(head)
    return loaded


def test_the_front_matter_is_yaml_that_the_hub_reads(manifest: Manifest, summary: dict[str, Any]) -> None:
    head = front_matter(model_card(manifest, summary, None))
    assert head["license"] == "apache-2.0"
    assert head["language"] == ["en", "zh"]
    assert head["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert head["pipeline_tag"] == "text-classification"
    (index,) = head["model-index"]
    assert index["name"] == "tiny"
    assert [result["task"]["name"] for result in index["results"]] == list(summary["validation"])
    for result in index["results"]:
        row = summary["validation"][result["task"]["name"]]
        assert result["dataset"]["split"] == "validation"
        assert [metric["value"] for metric in result["metrics"]] == [round(row["accuracy"], 3), round(row["macro_f1"], 3)]


def test_the_card_says_what_the_model_is(manifest: Manifest, summary: dict[str, Any]) -> None:
    card = " ".join(model_card(manifest, summary, None).split())
    for axis in manifest.axes:
        assert axis in card
    assert f"{manifest.taxonomy.name} {manifest.taxonomy.version}" in card
    assert f"{manifest.numeric_format}, 48 tokens" in card
    provenance = manifest.provenance
    assert ", ".join(f"{provenance.records[split]} {split}" for split in ("train", "validation", "test")) + " reports" in card
    assert provenance.data_sha256[:16] in card
    assert provenance.sparse_data_sha256[:16] in card
    assert f"{provenance.hardware}, {provenance.training_seconds / 60:.0f} minutes, seed 7, commit `{provenance.commit[:12]}`, {provenance.created}." in card
    for heading in ("## Intended use", "## Data", "## Evaluation (validation split)", "## Limits", "## Training"):
        assert heading in card
    assert "{" not in card.split("model-index")[1].split("---", 1)[1]


def test_figures_of_the_test_split_replace_those_of_validation(manifest: Manifest, summary: dict[str, Any]) -> None:
    evaluation = {"axes": {"cause": {"n": 1234, "accuracy": 0.98765, "macro_f1": 0.4321}}}
    card = model_card(manifest, summary, evaluation)
    assert "## Evaluation (test split)" in card
    assert "| cause | 1234 | 0.988 | 0.432 |" in card
    (result,) = front_matter(card)["model-index"][0]["results"]
    assert result["dataset"]["split"] == "test"
    assert [metric["value"] for metric in result["metrics"]] == [0.988, 0.432]
    kind = summary["validation"]["kind"]
    assert f"| kind | {kind['n']} |" not in card


def test_the_bundle_carries_its_card(manifest: Manifest, summary: dict[str, Any], tiny_bundle: Path) -> None:
    assert (tiny_bundle / "README.md").read_text(encoding="utf-8") == model_card(manifest, summary, None)
