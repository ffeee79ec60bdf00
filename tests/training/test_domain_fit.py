from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from distriage.base.errors import BundleError, ConfigError, CorpusError
from distriage.classifier import Classifier
from distriage.model.bundle import DOMAIN, Bundle
from distriage.model.domain import DomainGate, shape_features
from distriage.recipe.features import all_features
from distriage.recipe.text import prepare
from distriage_training.config import load_config
from distriage_training.corpus.foreign import read_foreign
from distriage_training.corpus.load import Splits
from distriage_training.corpus.records import Record
from distriage_training.fit.domain import FOLDS, Reports, fit_gate, repository_folds
from distriage_training.fit.sparse import feature_matrix
from distriage_training.release import domain
from distriage_training.release.export import export
from distriage_training.release.seal import put_in_place

from support import keyword_model, toy_gate
from support.command_line import Command
from support.toys import write_config

KNOWN = ("nccl timeout on rank", "the optimizer state does not fit on the gpu", "allreduce hangs after step")
OTHER = ("the button flickers when the page is loaded", "the wallet does not show a block", "query uses a scan")
LOGITS = {"kind": np.asarray([2.0, -1.0], np.float32)}


def records(texts: tuple[str, ...], count: int, group: str) -> list[Record]:
    return [
        Record(f"{group}#{n}", f"{texts[n % len(texts)]} {n}", "", {}, "train", "toys", "raw", f"{group}{n % 7}")
        for n in range(count)
    ]


def reports(items: list[Record]) -> Reports:
    counts = feature_matrix(items)
    shape = [
        shape_features(counts[row].indices, prepare(item.title, item.body), LOGITS) for row, item in enumerate(items)
    ]
    return Reports(counts, np.array(shape))


def test_the_gate_that_is_written_says_what_the_fitted_one_says(tmp_path: Path) -> None:
    known, others = records(KNOWN, 120, "a/known"), records(OTHER, 140, "b/other")
    folds = repository_folds([record.group for record in others])
    validation = reports(known[:60])
    labelled = np.ones((60, 2), bool)
    labelled[:, 1] = np.arange(60) < 20
    gate = fit_gate(
        feature_matrix(known[60:]), validation, labelled, feature_matrix(others), folds, reports(others[:90])
    )
    assert (gate.probabilities(validation) >= gate.threshold).mean() >= 0.95
    assert (gate.probabilities(reports(others)) >= gate.threshold).mean() < 0.05
    gate.write(tmp_path / "domain.npz", ["kind"])
    assert (tmp_path / "domain.npz").stat().st_size <= 1 << 20
    runtime = DomainGate(tmp_path / "domain.npz", ["kind"])
    assert (runtime.threshold, runtime.sure_threshold) == (gate.threshold, gate.sure_threshold)
    assert gate.threshold <= gate.sure_threshold
    mixed = [*known[:9], *others[:9]]
    for record, expected in zip(mixed, gate.probabilities(reports(mixed)), strict=True):
        report = prepare(record.title, record.body)
        ids, counts = all_features(report)
        found = runtime.probability(np.asarray(ids, np.int64), np.asarray(counts), report, LOGITS)
        assert found == pytest.approx(expected, abs=1e-4)


def test_a_gate_of_an_older_format_is_no_obstacle_to_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = toy_gate.add_gate(keyword_model.build(tmp_path / "toy"))
    older = toy_gate.arrays(toy_gate.FOREIGN) | {"format": np.asarray(1)}
    np.savez_compressed(folder / DOMAIN, **older)
    keyword_model.seal(folder, extra=[DOMAIN])
    with pytest.raises(BundleError, match="it is of format 1"):
        Classifier(folder)

    class Data:
        others = ("a report",)

        def gate(self) -> Data:
            return self

        def write(self, file: Path, axes: list[str]) -> None:
            np.savez_compressed(file, **toy_gate.arrays(toy_gate.FOREIGN, tuple(axes[:1])))

    def read_domain_data(classifier: Classifier, *_: object) -> Data:
        assert classifier.gate is None
        return Data()

    monkeypatch.setattr(domain, "read_domain_data", read_domain_data)
    assert domain.add_gate(Bundle(folder), load_config(write_config(tmp_path / "c.toml")), Splits([], [], [], [])) == 1
    assert Classifier(folder).gate is not None


def test_an_interruption_leaves_the_gate_and_the_seal_that_were_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = toy_gate.add_gate(keyword_model.build(tmp_path / "toy"))

    class Data:
        others = ()

        def __init__(self, whole: bool) -> None:
            self.whole = whole

        def gate(self) -> Data:
            return self

        def write(self, file: Path, _: list[str]) -> None:
            file.write_bytes(b"half")
            if not self.whole:
                raise KeyboardInterrupt

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("distriage_training.release.seal.seal", interrupted)
    for data in (Data(False), Data(True)):  # in the middle of the file, and between it and bundle.json
        monkeypatch.setattr(domain, "read_domain_data", lambda *_, data=data: data)
        with pytest.raises(KeyboardInterrupt):
            domain.add_gate(Bundle(folder), load_config(write_config(tmp_path / "c.toml")), Splits([], [], [], []))
        assert Classifier(folder).gate is not None
    assert {path.name for path in tmp_path.iterdir()} == {"toy", "c.toml"}


@pytest.mark.parametrize("exchange", [True, False])
def test_a_folder_takes_anothers_place_or_leaves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    (tmp_path / "scratch" / "new").mkdir(parents=True)
    (tmp_path / "scratch" / "new" / "number").write_text("2")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "number").write_text("1")
    if not exchange:  # as on other systems
        monkeypatch.setattr("distriage_training.release.seal._exchange", lambda *_: False)
        with pytest.raises(FileNotFoundError):
            put_in_place(tmp_path / "scratch" / "none", tmp_path / "model")
        assert (tmp_path / "model" / "number").read_text() == "1"
    put_in_place(tmp_path / "scratch" / "new", tmp_path / "model")
    assert (tmp_path / "model" / "number").read_text() == "2"
    assert [path.name for path in (tmp_path / "scratch").iterdir()] == ["new" if exchange else "new.old"]


def test_no_repository_is_in_two_folds_and_they_are_of_like_size() -> None:
    repositories = [f"owner/r{n % 23}" for n in range(460)]
    folds = repository_folds(repositories)
    assert len({(name, fold) for name, fold in zip(repositories, folds.tolist(), strict=True)}) == 23
    sizes = np.bincount(folds, minlength=FOLDS)
    assert sizes.max() - sizes.min() <= 20


def foreign_config(folder: Path, **domain: Any) -> Path:
    (folder / "table.csv").write_text("repo,title,body\nA/One,t,b\nA/Two,u,\n", encoding="utf-8")
    with gzip.open(folder / "lines.jsonl.gz", "wt", encoding="utf-8") as stream:
        stream.write(json.dumps({"id": "B/Three#7", "title": "v", "body": None}) + "\n")
    return write_config(folder / "config.toml", domain={"reports": ["table.csv", "lines.jsonl.gz"], **domain})


def test_foreign_reports_are_read_from_tables_and_lines(tmp_path: Path) -> None:
    config = load_config(foreign_config(tmp_path, repositories=["a/one", "B/three"]))
    found = read_foreign(config)
    assert [(record.group, record.title, record.body) for record in found] == [
        ("a/one", "t", "b"),
        ("b/three", "v", ""),
    ]
    assert found[1].id == "b/three#7"


def test_of_restated_reports_all_are_foreign(tmp_path: Path) -> None:
    (tmp_path / "ours.jsonl").write_text('{"id": "C/Four#2", "title": "w", "body": "x"}\n', encoding="utf-8")
    config = load_config(foreign_config(tmp_path, repositories=["a/one"], restated=["ours.jsonl"]))
    assert [(record.id, record.group, record.origin) for record in read_foreign(config)] == [
        ("a/one#table.csv:1", "a/one", "raw"),
        ("c/four#2", "c/four", "restated"),
    ]


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ({"reports": []}, "domain.reports: expected files"),
        ({"repositories": ["a/one", "no/such"]}, "domain.repositories: no report of no/such"),
        ({"repositories": ["a/one"]}, "domain.repositories: a/one; expected two or more"),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, domain: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_foreign(load_config(foreign_config(tmp_path, **domain)))


def test_reports_that_are_not_here_are_named_before_hours_of_work(tmp_path: Path, command: Command) -> None:
    path = write_config(tmp_path / "config.toml", domain={"reports": ["none.csv.gz"]})
    missing = f"domain.reports: {tmp_path / 'none.csv.gz'}: no such file; expected reports of other software, or "
    with pytest.raises(ConfigError, match=re.escape(missing)):
        export(tmp_path / "run", load_config(path), tmp_path / "bundle")
    done = command("train", path, "--sparse-only", "--output", tmp_path / "run")  # ends at once: there is no run
    assert done.code == 2 and f"distriage: `distriage export` will refuse this: {path}: {missing}" in done.err
    done = command("export", path, "--no-gate", "--run", tmp_path / "run", "--output", tmp_path / "bundle")
    assert done.code == 2 and "model.safetensors: missing; expected a finished run" in done.err


def test_a_table_without_the_columns_is_refused(tmp_path: Path) -> None:
    path = foreign_config(tmp_path, repositories=["a/one"])
    (tmp_path / "table.csv").write_text("name,text\nx,y\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="no column 'repo', 'title', 'body'; columns: name, text"):
        read_foreign(load_config(path))
