"""The domain gate end to end: read the reports, fit it, measure it on repositories that it never saw, ship it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from distriage.base.errors import ConfigError
from distriage.base.types import IssueReport, Mode, Outcome
from distriage.classifier import Classifier
from distriage.model.bundle import Bundle
from distriage_research.experiments.domain import domain_table, measure_domain
from distriage_training.config import Config, load_config
from distriage_training.corpus.load import Splits
from distriage_training.corpus.records import Record
from distriage_training.fit.domain import FOLDS, Reports
from distriage_training.release.domain import add_gate

from support.toys import write_config, write_lines

KNOWN = ("nccl exhausted memory on rank", "allreduce hangs hangs after step", "checkpoint exhausted memory of shard")
OTHER = ("page exhausted memory in browser tab", "wallet hangs hangs before block", "editor exhausted memory of theme")


def records(split: str, count: int) -> list[Record]:
    """Bugs of the model's own domain."""
    return [
        Record(f"own/{split}#{n}", f"{KNOWN[n % 3]} {n}", "", {"kind": "bug"}, split, "toys", "restated", "toys")
        for n in range(count)
    ]


@pytest.fixture
def splits() -> Splits:
    return Splits(records("train", 120), records("validation", 60), [], [])


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Ten repositories of other software with thirty reports each, in which the toy model hears its words, too."""
    rows = [
        {"id": f"other/r{place}#{n}", "title": f"{OTHER[n % 3]} {n}", "body": ""}
        for place in range(10)
        for n in range(30)
    ]
    reports = write_lines(tmp_path / "other.jsonl", rows)
    names = [f"other/r{place}" for place in range(10)]
    return load_config(write_config(tmp_path / "run.toml", domain={"reports": [str(reports)], "repositories": names}))


def test_reports_of_repositories_that_it_never_saw_lose_their_labels_and_own_bugs_keep_theirs(
    keyword_classifier: Classifier, config: Config, splits: Splits
) -> None:
    found = measure_domain(keyword_classifier, config, splits)
    assert found["all"].n == 300 and found["other/r3"].n == 30
    assert found["all"].ungated[Mode.BALANCED] == 1
    assert found["all"].gated[Mode.BALANCED] < 0.05 and found["all"].passed < 0.05
    own = found["validation restated"]
    assert own.n == 60 and own.gated[Mode.BALANCED] >= 0.98 * own.ungated[Mode.BALANCED] > 0
    table = domain_table(found).splitlines()
    assert len(table) == 2 + len(found) and "| all | 300 |" in "\n".join(table)


def test_what_the_gate_costs_is_measured_on_bugs_that_it_was_not_fitted_on(
    keyword_classifier: Classifier, config: Config, splits: Splits, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted, measured = [], []

    class Gate:
        threshold = sure_threshold = 0.0

        def probabilities(self, reports: Reports) -> Any:
            measured.append(rows(reports))
            return np.ones(len(reports.shape))

    def rows(reports: Reports) -> set[bytes]:
        return {row.indices.tobytes() + row.data.tobytes() for row in reports.counts}

    def fit(_: object, validation: Reports, labelled: Any, *__: object) -> Gate:
        assert len(labelled) == len(validation.shape)
        fitted.append(rows(validation))
        return Gate()

    monkeypatch.setattr("distriage_training.fit.domain_data.fit_gate", fit)
    measure_domain(keyword_classifier, config, splits)
    own = measured[1::2]  # after the foreign ones of each fold
    assert len(fitted) == len(own) == FOLDS
    assert not any(known & seen for known, seen in zip(fitted, own, strict=True))
    assert set.union(*own) == set.union(*fitted)


def test_groups_without_a_validation_bug_are_named(
    keyword_classifier: Classifier, config: Config, splits: Splits
) -> None:
    bounded = config.model_copy(update={"domain": config.domain.model_copy(update={"groups": ["tyos"]})})
    with pytest.raises(ConfigError, match=r"domain\.groups: tyos: no validation bug of theirs"):
        measure_domain(keyword_classifier, bounded, splits)


def test_the_gate_that_is_added_keeps_a_model_from_labelling_other_software(
    keyword_bundle: Path, config: Config, splits: Splits, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(keyword_bundle, tmp_path / "model"))
    assert add_gate(Bundle(folder), config, splits) == 300
    assert "A domain gate keeps it silent" in (folder / "README.md").read_text(encoding="utf-8")
    classifier = Classifier(folder, threads=1)
    own = classifier.classify(IssueReport(f"{KNOWN[1]} 900", ""))
    other = classifier.classify(IssueReport(f"{OTHER[1]} 900", ""))
    assert own.in_domain and own.axes["symptom"].outcome is Outcome.APPLY
    assert not other.in_domain and other.axes["symptom"].outcome is not Outcome.APPLY
