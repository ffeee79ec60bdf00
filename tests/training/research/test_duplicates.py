from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from distriage.base.errors import CorpusError
from distriage.classifier import Classifier
from distriage_research.clusters import clusters_table, measure_clusters
from distriage_research.experiments.duplicates import duplicates_table, measure_duplicates, rank

TITLES = ("NCCL timeout", "loss is nan", "checkpoint lost", "timeout of NCCL", "other")


@pytest.fixture
def texts(tmp_path: Path) -> str:
    file = tmp_path / "issues.jsonl"
    rows = [
        {"id": f"O/r#{n}", "title": title, "body": f"{title} on rank {n}", "created": "2024-05-01"}
        for n, title in enumerate(TITLES, 1)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(file)


def test_a_tie_counts_as_behind_and_later_issues_only_where_all_are_asked() -> None:
    scores = np.array([0.5, 0.5, 0.1, 9.0, 0.7])
    assert rank(scores, 3, 0, earlier=True) == 2 and rank(scores, 3, 0, earlier=False) == 3
    assert rank(scores, 3, 2, earlier=True) == 3


def test_every_method_finds_the_other_issue_of_a_pair(
    keyword_classifier: Classifier, texts: str, tmp_path: Path
) -> None:
    pairs, judged = tmp_path / "pairs.csv", tmp_path / "judged.csv"
    pairs.write_text("issue,same_as\nO/r#1,o/r#4\no/r#2,gone/repo#1\n", encoding="utf-8")
    judged.write_text("issue,past,same\nO/r#4,o/r#1,yes\n", encoding="utf-8")
    result = measure_duplicates(keyword_classifier, [texts], pairs, judged)
    assert (result.pairs, result.candidates, result.asked) == (1, 5, 5)
    assert len(result.recall) == 4 and {earlier for earlier, _ in result.recall.values()} == {(1.0, 1.0, 1.0)}
    table = duplicates_table(result)
    assert "1.000 / 1.000 / 1.000" in table
    assert result.groups.keys() == {"o/r", "2024"}
    assert "| 2024 | 1 | 1.00, 0.21 to 1.00 |" in table


def test_tables_that_do_not_fit_are_named(keyword_classifier: Classifier, texts: str, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"pairs.csv: no column 'issue'"):
        measure_duplicates(keyword_classifier, [texts], pairs, None)
    pairs.write_text("issue,same_as\no/r#1,o/r#99\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="of no pair both issues have a text"):
        measure_duplicates(keyword_classifier, [texts], pairs, None)


def test_clusters_are_counted_and_their_judged_pairs_shared_out(shipped_classifier: Classifier, tmp_path: Path) -> None:
    issues, judged = tmp_path / "issues.jsonl", tmp_path / "judged.csv"
    body = "```\nShardError: rank {} lost its shard\n```"
    rows = [
        {"id": f"O/r#{number}", "title": "It crashes", "body": body.format(number), "created": f"2024-05-0{number}"}
        for number in (1, 2, 3)
    ]
    rows.append({"id": "o/other#1", "title": "It hangs", "body": ""})
    issues.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    judged.write_text("issue,past,same\no/r#2,o/r#1,yes\no/r#3,o/r#1,no\n", encoding="utf-8")
    result = measure_clusters(shipped_classifier, [str(issues)], judged)
    assert result.found == {"o/r": (3, 1, 1, 3), "o/other": (1, 0, 0, 0)}
    table = clusters_table(result)
    assert "| all | 4 | 1 | 1 | 3 |" in table and "2 of 3 pairs in clusters were judged, and 1 have" in table
    judged.write_text("issue,past,same\n", encoding="utf-8")
    assert clusters_table(measure_clusters(shipped_classifier, [str(issues)], judged)).endswith("were judged.")
