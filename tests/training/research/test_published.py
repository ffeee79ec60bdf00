"""The published labels of Liu et al.: counted where the workbook is, and imported from a small one of the same form."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from distriage.base.errors import CorpusError
from distriage.model.taxonomy import default_taxonomy
from distriage_research.published.beside import published, published_section
from distriage_research.published.folded import UNMAPPED, folded, folds
from distriage_research.published.tosem import COLUMNS, FIXES, STAGES, SYMPTOMS, WORKBOOK, TosemFault, read_tosem
from distriage_training.study.faults import Origin, Source
from distriage_training.study.page import write_study
from distriage_training.study.report import study

from support.checkout import REPOSITORY
from support.command_line import Command, assert_one_line
from support.github import GitHub
from support.studies import confusions, faults, table
from support.toys import annotation, write_corpus

PLACES = [folder / "shared" / "corpus" / "external" / "tosem23" for folder in REPOSITORY.parents]
FOLDER = next((place for place in PLACES if place.is_dir()), PLACES[0])
TAXONOMY = default_taxonomy()


def workbook(folder: Path, *rows: tuple[Any, ...], columns: tuple[str, ...] = COLUMNS) -> Path:
    openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl: training/research/requirements.txt")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "faults"
    for row in (columns, *rows):
        sheet.append(row)
    folder.mkdir(exist_ok=True)
    book.save(folder / WORKBOOK)
    return folder


HANG = (
    "GitHub-horovod",
    "https://github.com/a/b/issues/1",
    1,
    "Training & Evaluation",
    None,
    "Hang & Timeout",
    "fix network setting",
)
SECOND = (None, None, 0, "communication setup ", None, "setup failure", "restart servers")
QUESTION = (
    "SO-keras",
    "https://stackoverflow.com/questions/42/why",
    1,
    "package build & import",
    None,
    "import error",
    "fix dependency  version",
)


def test_the_committed_counts_are_the_published_ones() -> None:
    liu = published()["liu"]
    assert (liu["reports"], liu["distributed"]) == (637, 569)
    stages = ("training-evaluation", "communication-setup", "build-import", "data-model-preparation")
    assert [liu["stage"][stage] for stage in stages] == [365, 133, 82, 57]
    assert sum(liu["symptom"].values()) == 637
    assert sum(liu["distributed_by_stage"].values()) == 569


def counts_of(faults: Sequence[TosemFault]) -> Mapping[str, Any]:
    """The aggregated counts that are committed in `published.toml`."""
    specific = Counter(STAGES[fault.stage] for fault in faults if fault.distributed)
    return {
        "reports": len(faults),
        "distributed": sum(fault.distributed for fault in faults),
        "stage": dict(Counter(fault.labels["stage"] for fault in faults)),
        "distributed_by_stage": dict(specific),
        "symptom": dict(Counter(fault.symptom for fault in faults)),
        "fix": dict(Counter(fault.labels["fix"] for fault in faults if "fix" in fault.labels)),
    }


@pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the published workbook of Liu et al. beside the checkout")
def test_counting_the_workbook_again_gives_the_committed_counts() -> None:
    pytest.importorskip("openpyxl", reason="needs openpyxl: training/research/requirements.txt")
    liu = published()["liu"]
    found = counts_of(read_tosem(FOLDER))
    assert found == {key: liu[key] for key in found}


def test_labels_map_onto_labels_that_there_are() -> None:
    assert set(STAGES.values()) <= set(TAXONOMY.axes["stage"].label_ids)
    assert set(SYMPTOMS.values()) <= set(TAXONOMY.axes["symptom"].label_ids)
    assert set(FIXES.values()) <= set(TAXONOMY.axes["fix"].label_ids)
    assert set(SYMPTOMS) <= set(published()["liu"]["symptom"])


def test_spellings_are_evened_out_and_a_second_fault_shares_its_thread(tmp_path: Path) -> None:
    first, second, third = read_tosem(workbook(tmp_path, HANG, SECOND, QUESTION))
    assert first.labels == {
        "kind": "bug",
        "distributed": "true",
        "stage": "training-evaluation",
        "symptom": "runtime-hang",
        "fix": "environment-repair",
    }
    assert (second.id, second.place, second.symptom) == ("a/b#1", "GitHub-horovod", "setup failure")
    assert second.labels == {"kind": "bug", "distributed": "false", "stage": "communication-setup"}
    assert (third.id, third.fix) == ("stackoverflow#42", "fix dependency version")


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ([], ("Type", "Link"), "columns of sheet faults: expected Type, Link, distributed-specific"),
        ([(*HANG[:3], "lunch", *HANG[4:])], COLUMNS, "faults, row 2: unknown stage 'lunch'; known: package build"),
    ],
)
def test_another_workbook_is_refused(
    tmp_path: Path, rows: list[tuple[Any, ...]], columns: tuple[str, ...], message: str
) -> None:
    with pytest.raises(CorpusError) as caught:
        read_tosem(workbook(tmp_path, *rows, columns=columns))
    assert str(caught.value).startswith(f"{tmp_path / WORKBOOK}: {message}")


def test_what_is_no_workbook_is_refused_in_one_line(tmp_path: Path, research: Command) -> None:
    (tmp_path / WORKBOOK).write_text("<html>", encoding="utf-8")
    for folder in (tmp_path, tmp_path / "nowhere"):
        done = research("import-tosem", folder, "--out", tmp_path / "out")
        assert done.code == 2
        assert_one_line(done, "final_categories.xlsx: cannot be read")


def test_the_import_keeps_the_original_labels_and_a_study_reads_it(tmp_path: Path, research: Command) -> None:
    folder = workbook(tmp_path / "in", HANG, SECOND, QUESTION)
    done = research("import-tosem", folder, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert "3 faults, 2 with a symptom of ours, 2 with a fix" in done.out
    assert "texts: none fetched; set GITHUB_TOKEN" in done.out
    rows = [json.loads(line) for line in (tmp_path / "out" / "tosem.jsonl").read_text(encoding="utf-8").splitlines()]
    assert rows[1]["original"] == {
        "place": "GitHub-horovod",
        "stage": "communication setup",
        "symptom": "setup failure",
        "fix": "restart servers",
    }
    shown = research("report", tmp_path / "out" / "tosem.jsonl", "--output", tmp_path / "study")
    assert shown.code == 0, shown.err
    assert "3 reports, 3 failures" in shown.out
    refused = research("report", tmp_path / "out" / "tosem.jsonl", "--split", "train", "--output", tmp_path / "study")
    assert_one_line(refused, "tosem.jsonl: --split goes with the corpus")


def test_texts_are_fetched_where_there_is_a_token(
    tmp_path: Path, research: Command, github: GitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", github.token)
    github.add("a/b#1", "It hangs", "after a while")
    gone = ("GitHub-horovod", "https://github.com/a/b/issues/2", *HANG[2:])
    folder = workbook(tmp_path / "in", HANG, SECOND, QUESTION, gone)
    done = research("import-tosem", folder, "--out", tmp_path / "out")
    assert "texts: 1 fetched, 1 deleted, private or moved away" in done.out
    again = research("import-tosem", folder, "--out", tmp_path / "out")
    assert "texts: 0 fetched" in again.out  # nothing is fetched twice
    file = tmp_path / "out" / "texts.jsonl"
    with file.open("a", encoding="utf-8") as stream:
        stream.write('{"id": "a/b#7", "ti')  # interrupted
    assert "texts: 0 fetched" in research("import-tosem", folder, "--out", tmp_path / "out").out
    texts = file.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in texts] == [{"id": "a/b#1", "title": "It hangs", "body": "after a while"}]


@pytest.mark.parametrize("study", folds().values(), ids=folds())
def test_each_cause_is_folded_once_or_said_to_have_no_counterpart(study: Mapping[str, Any]) -> None:
    placed = [cause for causes in study["categories"].values() for cause in causes] + list(study["unmapped"])
    assert sorted(placed) == sorted(TAXONOMY.axes["cause"].label_ids)
    assert all(study["unmapped"].values())


def test_folded_causes_are_counted() -> None:
    found = {
        share.name: share.hits for share in folded(["incorrect-logic", "sharding-defect", "api-misuse"], "catolino")
    }
    assert len(found) == 9 + 1  # their root causes, and ours without one
    assert {name: hits for name, hits in found.items() if hits} == {"program anomaly": 2, UNMAPPED: 1}


def test_a_study_stands_beside_the_published_ones(tmp_path: Path, research: Command) -> None:
    rows = [
        annotation(f"a/b#{n}", stage="communication-setup" if n % 4 else "training-evaluation", distributed=n % 5 > 0)
        for n in range(1, 101)
    ]
    done = research("report", write_corpus(tmp_path / "corpus", rows), "--output", tmp_path / "out")
    assert done.code == 0, done.err
    found = {row[""]: row for row in table(tmp_path / "out", "published")}
    assert found["Communication setup: concerns distributed use"]["this study"].startswith("80.0 % (")
    assert found["Stage: communication setup"]["Liu et al. 2023"].startswith("20.9 % (")
    assert found["Stage: inference and serving"]["Ma et al. 2025"] == "10.1 %"
    shares = {row["category"]: row["share"] for row in table(tmp_path / "out", "folded-catolino")}
    assert float(shares["configuration"]) + float(shares["network"]) + float(shares["program anomaly"]) > 0.5
    assert "arXiv 2512.20345" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_the_comparison_with_the_published_studies_is_corrected(tmp_path: Path) -> None:
    others = {"symptom": "runtime-hang", "cause": "rank-desynchronization", "fix": "framework-patch"}
    counted = [*faults(30), *faults(90, stage="training-evaluation", **others)]
    source = Source("x", Origin.PREDICTED, counted, "Made up.", "model")
    page = write_study(source, study(source, TAXONOMY, confusions(), [published_section]), tmp_path).read_text(
        encoding="utf-8"
    )
    corrected = {row["label"]: row for row in table(tmp_path, "corrected-stage")}
    published = {row[""]: row["this study"] for row in table(tmp_path, "published")}
    for name in ("communication-setup", "training-evaluation"):
        share, low, high = (100 * float(corrected[name][key]) for key in ("share", "low", "high"))
        assert published[f"Stage: {TAXONOMY.axes['stage'].label(name).name.lower()}"] == (
            f"{share:.1f} % ({low:.1f} to {high:.1f}), n = 120"
        )
    assert float(corrected["communication-setup"]["share"]) < 0.02  # counted: 0.25, all of them mistaken
    assert "stages and fixes are corrected" in page


def test_what_concerns_distributed_use_is_not_called_only_distributed(tmp_path: Path) -> None:
    """An import error of DeepSpeed concerns it, by the guide, and would show on one device."""
    source = Source("x", Origin.ANNOTATED, faults(), "Made up.")
    page = write_study(source, study(source, TAXONOMY, None, [published_section]), tmp_path).read_text(encoding="utf-8")
    assert "nly in distributed use" not in page
    assert "a package made for distributed training, its installation included" in page
