"""The corpus as a data set: its card, its files by split, its digests, and how to cite it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas
import pytest
import yaml
from datasets import get_dataset_config_names, load_dataset

from distriage_research.corpus.dataset import SPLITS
from distriage_research.corpus.digests import DIGESTS, text_digest
from distriage_training.corpus.jsonl import read_jsonl
from distriage_training.corpus.records import Annotation

from support.checkout import REPOSITORY
from support.command_line import Command, assert_one_line
from support.toys import CORPUS, annotation, write_corpus, write_lines


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr("datasets.config.HF_DATASETS_OFFLINE", True)


@pytest.fixture(scope="module")
def annotations() -> dict[str, dict[str, object]]:
    return {str(row["id"]): row for _, row in read_jsonl(CORPUS / "annotations.jsonl")}


@pytest.mark.parametrize("split", SPLITS)
def test_the_files_of_the_splits_hold_the_annotations(split: str, annotations: dict[str, dict[str, object]]) -> None:
    file = CORPUS / "data" / f"annotations-{split}.jsonl.gz"
    expected = [
        {key: value for key, value in row.items() if key != "split"}
        for row in annotations.values()
        if row["split"] == split
    ]
    assert [row for _, row in read_jsonl(file)] == expected, "make them anew: python training/research corpus publish"
    frame = pandas.read_json(file, lines=True)
    assert len(frame) == len(expected)
    assert frame["created"].dropna().map(type).eq(str).all()


def test_datasets_loads_every_configuration_by_split() -> None:
    card = yaml.safe_load((CORPUS / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    assert get_dataset_config_names(str(CORPUS)) == [config["config_name"] for config in card["configs"]]
    loaded = {split: load_dataset(str(CORPUS), "annotations", split=split) for split in ("validation", "test")}
    assert (len(loaded["validation"]), len(loaded["test"])) == (2385, 300)
    assert loaded["test"].features["distributed"].dtype == "bool"
    for config in card["configs"][1:]:
        for files in config["data_files"]:
            found = load_dataset(str(CORPUS), config["config_name"], split=files["split"])
            with (CORPUS / files["path"]).open(encoding="utf-8") as stream:
                assert len(found) == sum(1 for _ in stream)


def test_the_card_says_whose_the_parts_are_and_under_which_licence() -> None:
    card = (REPOSITORY / "training" / "corpus" / "README.md").read_text(encoding="utf-8")
    assert "license: cc-by-4.0" in card and "https://creativecommons.org/licenses/by/4.0/" in card
    assert "arxiv.org/abs/2512.20345" in card.lower()


def test_the_card_explains_every_column() -> None:
    text = (CORPUS / "README.md").read_text(encoding="utf-8")
    table = text[text.index("| column |") : text.index("## Licence and citation")]
    assert [name for name in Annotation.model_fields if f"`{name}`" not in table] == []


def test_every_raw_record_has_a_digest_and_no_other(annotations: dict[str, dict[str, object]]) -> None:
    found = {row["id"]: row["sha256"] for _, row in read_jsonl(CORPUS / DIGESTS)}
    assert found.keys() == {i for i, row in annotations.items() if row["origin"] == "raw"}
    assert {len(digest) for digest in found.values()} == {64}


def test_line_ends_and_outer_space_do_not_make_another_text() -> None:
    assert text_digest("a", "b\r\nc \r\n") == text_digest("a", "b\nc")
    assert text_digest("a", "b") != text_digest("a", "B")


def test_edited_texts_are_named(tmp_path: Path, research: Command) -> None:
    corpus = write_corpus(tmp_path / "corpus", [annotation(f"a/b#{n}") for n in (1, 2)])
    rows = [{"id": f"a/b#{n}", "title": "t", "body": f"b{n}"} for n in (1, 2, 3)]
    store = write_lines(tmp_path / "texts.jsonl", rows)
    arguments = ("corpus", "digests", "--corpus", corpus, "--texts", store)
    assert_one_line(research(*arguments), "text_sha256.jsonl: cannot be read")
    assert research(*arguments, "--write").out == "2 digests written\n"
    rows[1]["body"] = "edited"
    write_lines(store, rows)
    assert research(*arguments).out == (
        "1 texts are those that were annotated, 1 differ, 1 have no digest\ndiffers: a/b#2\n"
    )


def test_publishing_again_changes_nothing(tmp_path: Path, research: Command) -> None:
    corpus = write_corpus(tmp_path / "corpus", [annotation("a/b#1"), annotation("a/b#2", split="test")])
    made = []
    for _ in range(2):
        assert research("corpus", "publish", "--corpus", corpus).out.startswith("1 train, 0 validation, 1 test: ")
        made.append({path.name: path.read_bytes() for path in (corpus / "data").iterdir()})
    assert made[0] == made[1]
    write_corpus(tmp_path / "corpus", [annotation("a/b#1", symptom="lunch")])
    assert_one_line(research("corpus", "publish", "--corpus", corpus), "unknown label 'lunch'")


def test_the_citation_file_is_one() -> None:
    """The keys that the Citation File Format 1.2.0 asks for, with its types."""
    found = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    assert found["cff-version"] == "1.2.0"
    assert {"authors", "message", "title"} <= found.keys()
    assert all(isinstance(found[key], str) for key in ("message", "title", "license", "abstract"))
    assert all(set(author) <= {"name", "family-names", "given-names"} for author in found["authors"])
    assert found["type"] in {"software", "dataset"}
    assert str(found["version"]) in (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert json.dumps(found["references"])
    records = (REPOSITORY / "training" / "corpus" / "annotations.jsonl").read_text(encoding="utf-8").count("\n")
    assert f"a corpus of {records:,} annotated reports" in found["abstract"]
