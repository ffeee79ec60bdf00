"""`distriage index`: the known issues of a bundle."""

from __future__ import annotations

from pathlib import Path

from distriage.classifier import Classifier
from distriage.model.bundle import INDEX, Bundle
from distriage.model.taxonomy import default_taxonomy

from support.command_line import Command, assert_one_line
from support.toys import annotation, write_config, write_corpus


def test_the_exported_bundle_has_an_index_and_the_command_replaces_it(
    tiny_copy: Path, tmp_path: Path, command: Command
) -> None:
    before = Bundle(tiny_copy).manifest
    assert INDEX in before.files
    split = {"1": "train", "2": "train", "3": "validation"}
    rows = [
        annotation(f"a/b#{number}", origin="restated", split=name, kind="bug", distributed=number == "1")
        for number, name in split.items()
    ]
    rows += [
        annotation(
            "a/b#4",
            origin="restated",
            kind="other",
            stage=None,
            symptom=None,
            cause=None,
            cause_evidence=None,
            fix=None,
            fix_evidence=None,
        )
    ]
    rows[1].update(stage="inference", symptom="setup-hang", cause="rank-desynchronization", fix="distributed-tuning")
    write_corpus(tmp_path / "corpus", rows, {row["id"]: ("title", "body") for row in rows})
    write_config(tmp_path / "run.toml", data={"corpus": "corpus", "limit": None})
    done = command("index", tmp_path / "run.toml", "--model", tiny_copy)
    assert done.code == 0, done.err
    assert "index: 2 known issues" in done.err
    after = Bundle(tiny_copy).manifest
    assert after.files[INDEX] != before.files[INDEX]
    assert {name: record for name, record in after.files.items() if name != INDEX} == {
        name: record for name, record in before.files.items() if name != INDEX
    }
    shown = command("classify", "--similar", "--model", tiny_copy, stdin=b"# title\n\nbody")
    assert "https://github.com/a/b/issues/1" in shown.out
    assert "runtime-hang" in shown.out and "setup-hang" in shown.out
    assert_one_line(command("index", tmp_path / "run.toml", "--model", tmp_path / "nowhere"), "nowhere")


def test_labels_of_neighbours_are_of_the_taxonomy(tiny_classifier: Classifier) -> None:
    from distriage.answer.similar import Similar
    from distriage.base.types import IssueReport
    from distriage.reading.report import read

    taxonomy = default_taxonomy()
    report = read(IssueReport("NCCL timeout", "It hangs on two nodes."))
    for neighbour in Similar(tiny_classifier.bundle).nearest(report, tiny_classifier.predict(report)):
        assert neighbour.url == f"https://github.com/{neighbour.id.replace('#', '/issues/')}"
        assert neighbour.labels.keys() == taxonomy.axes.keys()
        assert all(label in taxonomy.axes[axis].label_ids for axis, label in neighbour.labels.items())
