"""`distriage study report`: pages and tables of a corpus, of reviews, of verdicts, of reports and of a repository."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from time import sleep
from typing import Any
from xml.etree import ElementTree

import pytest

from distriage.classifier import Classifier
from distriage.model.taxonomy import default_taxonomy, parse_taxonomy
from distriage_training.study.faults import judged_axes
from distriage_training.study.sources import read_verdicts

from support import chromium, keyword_model
from support.command_line import Command, assert_one_line
from support.github import GitHub
from support.toys import QUESTION, annotation, review, write_corpus, write_lines

TAXONOMY = default_taxonomy()
HOSTILE = '"><script>alert(1)</script>'


def corpus_rows() -> list[dict[str, Any]]:
    rows = [annotation("a/b#1", **QUESTION), annotation("a/b#2", origin="generated")]
    for n in range(200):
        symptom, cause, fix = (
            ("runtime-hang", "rank-desynchronization", "distributed-tuning")
            if n % 3
            else ("device-out-of-memory", "resource-misallocation", "resource-adjustment")
        )
        rows.append(
            annotation(
                f"x/y#{n + 1}",
                symptom=symptom,
                cause=cause,
                fix=fix,
                stage="communication-setup" if n % 4 == 0 else "training-evaluation",
                distributed=n % 5 > 0,
                framework="deepspeed" if n % 2 else HOSTILE,
                created=f"2024-{n % 12 + 1:02}-02T03:04:05Z" if n % 7 else None,
                split="validation" if n % 10 == 0 else "train",
            )
        )
    return rows


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    stated = {  # by the reports of DeepSpeed, in turn 0.14 and 0.15
        f"x/y#{n + 1}": ("It hangs", f"DeepSpeed 0.{14 + n % 4 // 2}.1 waits, with torch 2.3.0.")
        for n in range(1, 200, 2)
    }
    return write_corpus(tmp_path_factory.mktemp("study") / "corpus", corpus_rows(), stated)


@pytest.fixture
def page(corpus: Path, command: Command) -> Path:
    """Made once; nobody changes it."""
    made = corpus.with_name("out") / "index.html"
    if not made.exists():
        done = command("study", "report", corpus, "--output", made.parent)
        assert done.code == 0, done.err
        assert done.out == f"201 reports, 200 failures: {made}\n"
    return made


def table(page: Path, name: str) -> list[dict[str, str]]:
    with (page.parent / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_tables_hold_the_counts(page: Path) -> None:
    rows = {row["label"]: row for row in table(page, "frequency-symptom")}
    assert {label: int(row["reports"]) for label, row in rows.items()} == {
        "runtime-hang": 133,
        "device-out-of-memory": 67,
    }
    assert rows["runtime-hang"]["share"] == "0.6650"
    assert float(rows["runtime-hang"]["low"]) < 0.665 < float(rows["runtime-hang"]["high"])
    by_stage = {row["stage"]: row for row in table(page, "distributed-by-stage")}
    assert {stage: (row["distributed"], row["of"]) for stage, row in by_stage.items()} == {
        "training-evaluation": ("120", "150"),
        "communication-setup": ("40", "50"),
    }
    (first, *_) = table(page, "cause-fix")
    assert (first["cause"], first["fix"], first["reports"]) == ("resource-misallocation", "resource-adjustment", "67")
    assert float(first["lift"]) == pytest.approx(200 / 67, abs=0.01)
    flows = table(page, "flow")
    assert sum(int(row["reports"]) for row in flows if row["from axis"] == "symptom") == 200
    assert (first["of"], first["share"]) == ("67", "1.0000")
    whole = table(page, "contingency-cause-fix")
    assert whole[-1] == {
        "cause \\ fix": "total",
        "distributed-tuning": "133",
        "resource-adjustment": "67",
        "total": "200",
    }
    by_origin = {(row["by"], row["value"]): row["of"] for row in table(page, "origin-stage")}
    assert by_origin == {("origin", "raw"): "200", ("confidence", "high"): "200"}
    releases = {(row["framework"], row["release"]): row["of"] for row in table(page, "release-stage")}
    assert releases == {("deepspeed", "0.14"): "50", ("deepspeed", "0.15"): "50"}
    assert "100 of 100 failures whose text is here (those of 100 others are not) state a version" in page.read_text(
        encoding="utf-8"
    )
    frameworks = {(row["framework"], row["label"]): row["reports"] for row in table(page, "framework-stage")}
    assert frameworks["deepspeed", "training-evaluation"] == "100"


class Elements(HTMLParser):
    """All elements with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_is_one_file_that_runs_nothing_and_loads_nothing(page: Path) -> None:
    html = page.read_text(encoding="utf-8")
    assert "<script" not in html
    assert HOSTILE not in html and "&gt;&lt;script&gt;" in html  # a framework's name comes from outside
    elements = Elements(html).found
    assert {tag for tag, _ in elements}.isdisjoint({"script", "link", "iframe", "img", "object", "style link"})
    assert not [attributes for _, attributes in elements if any(key.startswith("on") for key in attributes)]
    links = [attributes["href"] for tag, attributes in elements if tag == "a"]
    assert all(str(link).startswith("#") for link in links)
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {str(link)[1:] for link in links if str(link).startswith("#")} <= set(ids)


def test_each_figure_has_its_tables_and_a_picture_for_a_page_and_a_column(page: Path) -> None:
    pictures = sorted((page.parent / "figures").glob("*.svg"))
    names = {path.stem for path in pictures}
    assert {"flow", "frequency-symptom", "framework-stage", "symptom-cause", "symptom-cause-column"} <= names
    for path in pictures:
        root = ElementTree.parse(path).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        inches = [float(root.attrib[side].removesuffix("in")) for side in ("width", "height")]
        assert inches[0] == (3.3 if path.stem.endswith("-column") else 7)
        assert inches[1] / inches[0] == pytest.approx(height / width, abs=0.01)
        for kind in ("csv", "tex"):
            assert (page.parent / "tables" / f"{path.stem.removesuffix('-column')}.{kind}").is_file()


def test_a_table_is_one_that_latex_reads(command: Command, tmp_path: Path) -> None:
    rows = [annotation(f"x/y#{n}", framework=r"a_b\50%" if n % 2 else "ray") for n in range(1, 121)]
    corpus = write_corpus(tmp_path / "corpus", rows)
    assert command("study", "report", corpus, "--output", tmp_path / "out").code == 0
    text = (tmp_path / "out" / "tables" / "framework-stage.tex").read_text(encoding="utf-8")
    assert text.startswith(
        "% needs the package booktabs\n\\begin{tabular}{llrrrrr}\n\\toprule\nframework & label & reports"
    )
    assert r"a\_b\textbackslash{}50\% & training-evaluation & 60" in text


def fields(page: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((page.parent / "study.json").read_text(encoding="utf-8"))
    return found


def test_it_says_where_it_comes_from(page: Path, corpus: Path, command: Command, tmp_path: Path) -> None:
    found = fields(page)
    assert found["command"] == ["distriage", "study", "report", "corpus"] and found["commit"] == "unknown"
    digest = hashlib.sha256((corpus / "annotations.jsonl").read_bytes()).hexdigest()
    assert found["files"]["annotations.jsonl"] == digest
    assert (found["reports"], found["failures"], found["model"]) == (201, 200, None)
    done = command(
        "study", "report", corpus, "--output", tmp_path / "high", "--confidence", "high", "--origin", "restated"
    )
    assert "0 reports and no failure among them" in done.err
    done = command("study", "report", corpus, "--output", tmp_path / "all", "--confidence", "high")
    assert done.code == 0 and fields(tmp_path / "all" / "x")["command"][-2:] == ["--confidence", "high"]


def test_a_clone_makes_the_same_bytes(corpus: Path, command: Command, tmp_path: Path) -> None:
    pytest.importorskip("cairosvg", reason="needs cairosvg: pip install 'distriage[study]'", exc_type=OSError)
    made = tmp_path / "made"
    shutil.copytree(corpus, made / "data")
    person = ("-c", "user.name=a", "-c", "user.email=a@b")
    for step in (["init", "-q"], ["add", "-A"], [*person, "commit", "-q", "-m", "Data"]):
        subprocess.run(["git", *step], cwd=made, check=True)
    subprocess.run(["git", "clone", "-q", made, tmp_path / "clone"], check=True)
    results: list[dict[str, bytes]] = []
    for checkout in (made, tmp_path / "clone"):
        if results:
            sleep(1.1)  # a date in seconds would differ
        out = tmp_path / f"out-{checkout.name}"
        done = command("study", "report", checkout / "data", "--output", out, "--pdf")
        assert done.code == 0, done.err
        results.append({str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*.*")})
    first, second = results
    assert first == second
    assert first["figures/symptom-cause-column.pdf"].startswith(b"%PDF-")
    commit = json.loads(first["study.json"])["commit"]
    assert re.fullmatch("[0-9a-f]{40}", commit) and commit.encode() in first["index.html"]


def test_pdf_without_its_library_is_refused_before_the_work(
    corpus: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("study", "report", corpus, "--output", tmp_path / "out", "--pdf")
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    assert_one_line(command(*arguments), "this command needs cairosvg; type: pip install 'distriage[study]'")
    monkeypatch.delitem(sys.modules, "cairosvg")
    (tmp_path / "cairosvg.py").write_text('raise OSError("no library called cairo was found")\n', encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert_one_line(command(*arguments), "--pdf needs the library cairo; type: apt-get install libcairo2")
    assert not (tmp_path / "out").exists()


def test_sources_are_compared_with_themselves_over_time(command: Command, tmp_path: Path) -> None:
    """Two trackers, each unchanged; the second was read later. Pooled, training would seem to give way to serving."""
    rows = [
        annotation(f"{name}/t#{year}{n}", framework="other", created=f"{year}-05-02T00:00:00Z", stage=stage)
        for name, stage, years in (("old", "training-evaluation", (2018, 2020)), ("new", "inference", (2023, 2025)))
        for year in years
        for n in range(30)
    ]
    corpus = write_corpus(tmp_path / "corpus", rows)
    assert command("study", "report", corpus, "--output", tmp_path / "out").code == 0
    found = [row for row in table(tmp_path / "out" / "x", "trend-stage") if row["reports"] != "0"]
    assert [(row["source"], row["year"], row["label"], row["share"]) for row in found] == [
        ("new/t", "2023", "inference", "1.0000"),
        ("new/t", "2025", "inference", "1.0000"),
        ("old/t", "2018", "training-evaluation", "1.0000"),
        ("old/t", "2020", "training-evaluation", "1.0000"),
    ]
    assert "which sources were read differs from year to year" in (tmp_path / "out" / "index.html").read_text("utf-8")


def test_a_cell_that_a_spreadsheet_would_run_is_made_harmless(command: Command, tmp_path: Path) -> None:
    rows = [annotation(f"x/y#{n}", framework="=HYPERLINK(1)" if n % 2 else "ray") for n in range(1, 121)]
    corpus = write_corpus(tmp_path / "corpus", rows)
    assert command("study", "report", corpus, "--output", tmp_path / "out").code == 0
    found = {row["framework"] for row in table(tmp_path / "out" / "index.html", "framework-stage")}
    assert found == {"'=HYPERLINK(1)", "ray"}


def test_one_split_alone(corpus: Path, command: Command, tmp_path: Path) -> None:
    done = command("study", "report", corpus, "--split", "validation", "--output", tmp_path / "out")
    assert done.out.startswith("20 reports, 20 failures")


def test_reviews_are_what_people_said(command: Command, tmp_path: Path) -> None:
    rows = [
        review("microsoft/DeepSpeed#1", "symptom", "runtime-hang"),
        review("microsoft/DeepSpeed#1", "stage", "inference"),
        review("microsoft/DeepSpeed#2", "symptom", None),
    ]
    done = command("study", "report", write_lines(tmp_path / "reviews.jsonl", rows), "--output", tmp_path / "out")
    assert done.out.startswith("1 reports, 1 failures")
    assert "Maintainers" not in done.err
    assert "labels reviewed" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


REPORTS = [
    {"id": f"vllm-project/vllm#{n}", "title": "exhausted" if n % 4 else "hangs", "body": "", "created": "2025-03-01"}
    for n in range(40)
] + [{"id": "a/b#1", "title": "how", "body": ""}]


def test_reports_are_classified_and_corrected(keyword_bundle: Path, command: Command, tmp_path: Path) -> None:
    """The toy model hears `hangs` in a tenth of the validation reports that ran out of memory."""
    (tmp_path / "toy.toml").write_text((keyword_bundle / "taxonomy.toml").read_text(encoding="utf-8"), encoding="utf-8")
    validation, texts = [annotation("v/w#1", **QUESTION)], [{"id": "v/w#1", "title": "how", "body": ""}]
    validation += [
        annotation(f"v/w#{n}", symptom="oom" if n < 82 else "hang", fix="tuning", split="validation")
        for n in range(2, 122)
    ]
    texts += [{"id": f"v/w#{n}", "title": "exhausted" if n < 74 else "hangs", "body": ""} for n in range(2, 122)]
    validation += [
        annotation(f"t/u#{n}", symptom=label, fix=fix) for n, label, fix in ((1, "oom", "tuning"), (2, "hang", "patch"))
    ]
    validation += [annotation("v/q#1", **QUESTION, split="validation")]
    texts += [{"id": f"t/u#{n}", "title": "x", "body": ""} for n in (1, 2)] + [
        {"id": "v/q#1", "title": "how", "body": ""}
    ]
    write_corpus(tmp_path / "corpus", validation)
    write_lines(tmp_path / "texts.jsonl", texts)
    (tmp_path / "run.toml").write_text(
        'name = "toy"\ntaxonomy = "toy.toml"\n[data]\ncorpus = "corpus"\ntexts = "texts.jsonl"\n', encoding="utf-8"
    )
    reports = write_lines(tmp_path / "reports.jsonl", REPORTS)
    arguments = ("study", "report", reports, "--model", keyword_bundle, "--output", tmp_path / "out")
    done = command(*arguments, "--validation", tmp_path / "run.toml")
    assert done.code == 0, done.err
    assert done.out.startswith("41 reports, 40 failures")
    counted = {row["label"]: row["reports"] for row in table(tmp_path / "out" / "index.html", "frequency-symptom")}
    assert counted == {"oom": "30", "hang": "10"}
    corrected = {
        row["label"]: float(row["share"]) for row in table(tmp_path / "out" / "index.html", "corrected-symptom")
    }
    assert corrected["oom"] == pytest.approx(0.75 / 0.9, abs=1e-3)  # 72 of 80 are heard
    assert corrected["hang"] == pytest.approx(1 - 0.75 / 0.9, abs=1e-3)
    said = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert said.count("The correction rests on 121 raw validation reports.") == 2  # symptom and fix
    made = fields(tmp_path / "out" / "index.html")
    assert made["validation"] == {"raw": 121}
    assert made["command"][3:] == ["reports.jsonl", "--model", keyword_bundle.name, "--validation", "run.toml"]
    plain = command(*arguments)
    assert plain.code == 0
    assert not (tmp_path / "out2").exists()


def test_a_folder_that_cannot_be_written_into_is_refused_before_the_work(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a-file").touch()
    done = command("study", "report", tmp_path / "none.jsonl", "--output", tmp_path / "a-file")
    assert_one_line(done, f"{tmp_path / 'a-file'}: cannot be written")


def test_verdicts_are_read_as_they_are(keyword_bundle: Path, command: Command, tmp_path: Path) -> None:
    reports = write_lines(tmp_path / "reports.jsonl", REPORTS)
    verdicts = command("classify", reports, "--model", keyword_bundle)
    assert verdicts.code == 0, verdicts.err
    file = tmp_path / "verdicts.jsonl"
    file.write_text(verdicts.out, encoding="utf-8")
    done = command("study", "report", file, "--model", keyword_bundle, "--output", tmp_path / "out")
    assert done.code == 0, done.err
    assert done.out.startswith("41 reports, 40 failures")
    assert json.loads((tmp_path / "out" / "study.json").read_text(encoding="utf-8"))["taxonomy"] == "toy 1"
    # Without its model, no table would have a row for labels that only this model gives.
    done = command("study", "report", file, "--output", tmp_path / "out")
    assert_one_line(done, "verdicts.jsonl:1: axis symptom: unknown label 'hang'; ")
    assert "a verdict by toy needs its --model" in done.err


def test_a_label_that_has_been_retired_is_counted_and_not_corrected(
    keyword_bundle: Path,
    keyword_classifier: Classifier,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The model of this name gave it once: of its errors on that label nothing is known."""
    rows = [{**row, "id": f"a/{'xy'[n % 2]}#{n}"} for n, row in enumerate(REPORTS * 4, 1)]
    verdicts = tmp_path / "verdicts.jsonl"
    reports = write_lines(tmp_path / "reports.jsonl", rows)
    verdicts.write_text(command("classify", reports, "--model", keyword_bundle).out, encoding="utf-8")
    old = '[[symptom]]\nid = "hang"\n'
    assert old in keyword_model.TAXONOMY
    newer = parse_taxonomy(keyword_model.TAXONOMY.replace(old, f'{old}retired = "2"\n'), "toy")
    monkeypatch.setattr(keyword_classifier.bundle, "taxonomy", newer)
    monkeypatch.setattr("distriage_training.study.run.Bundle", lambda *_, **__: keyword_classifier.bundle)
    arguments = ["study", "report", verdicts, "--model", keyword_bundle, "--output", tmp_path / "out"]
    done = command(*arguments)
    assert done.code == 0, done.err
    shares = table(tmp_path / "out" / "index.html", "framework-symptom")
    assert {row["label"] for row in shares} == {"oom", "hang"} and len(shares) == 4
    (tmp_path / "run.toml").write_text('name = "toy"\n', encoding="utf-8")
    done = command(*arguments, "--validation", tmp_path / "run.toml")
    assert_one_line(done, "verdicts.jsonl: hang: retired in toy, whose errors on this are unknown; expected verdicts")


def test_axes_of_ones_own_are_counted_where_their_condition_is_met(
    keyword_bundle: Path, command: Command, tmp_path: Path
) -> None:
    def own(text: str) -> str:
        return text.replace("kind", "nature").replace("symptom", "effect").replace('"fix"', '"phase"')

    verdicts = tmp_path / "verdicts.jsonl"
    reports = write_lines(tmp_path / "reports.jsonl", REPORTS)
    verdicts.write_text(own(command("classify", reports, "--model", keyword_bundle).out), encoding="utf-8")
    text = own(keyword_model.TAXONOMY.replace("axis.fix", "axis.phase").replace("[[fix]]", "[[phase]]"))
    source = read_verdicts(verdicts, parse_taxonomy(text, "own"))
    assert [axis.id for axis in judged_axes(source.taxonomy)] == ["effect", "phase"]
    assert len(source.faults) == 41 and source.faults[-1].labels == {"nature": "question"}
    assert len(source.bugs) == 40 and all(fault.labels.keys() == {"nature", "effect", "phase"} for fault in source.bugs)


def test_predicted_releases_are_those_that_reports_state(
    keyword_bundle: Path, command: Command, tmp_path: Path
) -> None:
    rows = [
        {"id": f"vllm-project/vllm#{n}", "title": "hangs", "body": f"vLLM version: 0.{6 + n % 2}.0"} for n in range(40)
    ]
    reports = write_lines(tmp_path / "reports.jsonl", rows)
    verdicts = tmp_path / "verdicts.jsonl"
    verdicts.write_text(command("classify", reports, "--model", keyword_bundle).out, encoding="utf-8")
    done = command("study", "report", reports, "--model", keyword_bundle, "--output", tmp_path / "out")
    assert done.code == 0, done.err
    found = {(row["release"], row["of"]) for row in table(tmp_path / "out" / "index.html", "release-symptom")}
    assert found == {("0.6", "20"), ("0.7", "20")}
    read = read_verdicts(verdicts, parse_taxonomy(keyword_model.TAXONOMY, "toy"))
    assert [fault.release for fault in read.faults[:3]] == ["0.6", "0.7", "0.6"]


def test_a_repository_is_fetched_and_classified(
    keyword_bundle: Path, command: Command, github: GitHub, tmp_path: Path
) -> None:
    for n in range(1, 4):
        github.add(f"a/b#{n}", "hangs", "")
    done = command("study", "report", "a/b", "--model", keyword_bundle, "--output", tmp_path / "out", "--limit", "2")
    assert done.code == 0, done.err
    assert done.out.startswith("2 reports, 2 failures")
    made = fields(tmp_path / "out" / "index.html")
    assert made["command"] == ["distriage", "study", "report", "a/b", "--model", keyword_bundle.name, "--limit", "2"]
    assert made["files"] == {} and made["fetched"].keys() == {"day", "sha256"}


@pytest.mark.browser
def test_the_page_fits_a_phone_and_a_desk_in_light_and_dark(page: Path) -> None:
    colours, problems = set(), []
    with chromium.browser() as browser:
        tab = browser.new_page(offline=True)
        tab.on("console", lambda message: problems.append(message.text))
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            for width in (390, 1280):
                tab.set_viewport_size({"width": width, "height": 900})
                tab.goto(page.as_uri())
                assert problems == []
                assert tab.evaluate("document.documentElement.scrollWidth") == width
                ends = "[...document.querySelectorAll('svg.bars text')].map(text => text.getBoundingClientRect().right)"
                assert max(tab.evaluate(ends)) <= width
                colours.add(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2
