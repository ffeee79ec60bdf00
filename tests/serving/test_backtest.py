"""`distriage backtest`: past issues are fetched, replayed, and shown on a page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest

from distriage.base.errors import InputError
from distriage.base.references import RENAMED
from distriage.base.types import FormLines
from distriage.classifier import Classifier
from distriage.github.history import History
from distriage.github.listed import ListedIssue
from distriage.model.bundle import thread_digest
from distriage_serving.backtest import measure
from distriage_serving.backtest.mapping import make_mapping, truth_of
from distriage_serving.backtest.measure import Replayed
from distriage_serving.backtest.replay import replay
from distriage_serving.configuration.file import parse_config
from distriage_serving.configuration.model import RepositoryConfig

from support.command_line import Command, Finished, assert_one_line
from support.files import rewrite
from support.github import GitHub
from support.keyword_model import seal

REPOSITORY = "owner/repo"
EVIL = "</title><script>alert(1)</script><img src=x onerror=alert(2)> \u202egnah\x1b[31m"
Backtest = Callable[..., Finished]


@pytest.fixture
def double(github: GitHub, monkeypatch: pytest.MonkeyPatch) -> GitHub:
    monkeypatch.setenv("GITHUB_TOKEN", github.token)
    rows = [
        ("It hangs", "hangs", ("deadlock",)),
        ("It hangs again", "hangs hangs", ("Deadlock", "bug")),
        ("Memory", "memory exhausted", ("deadlock",)),
        ("Memory exhausted", "exhausted memory exhausted", ("OOM",)),
        ("How to start?", "how", ("question",)),
        (EVIL, "segfault segfault", (f"<b>{EVIL[:20]}</b>",)),
    ]
    for number, (title, body, labels) in enumerate(rows, 1):
        github.open(
            f"{REPOSITORY}#{number}",
            title,
            body,
            labels,
            created_at=f"2024-0{number}-05T10:00:00Z",
            state="closed" if number % 2 else "open",
        )
    github.open(f"{REPOSITORY}#7", "a pull request", "hangs", pull_request={})
    github.open(f"{REPOSITORY}#8", "by a bot", "hangs", user={"login": "b[bot]", "type": "Bot"})
    github.open(f"{REPOSITORY}#9", "", "")
    return github


@pytest.fixture
def run(
    command: Command, keyword_bundle: Path, tmp_path: Path, double: GitHub, monkeypatch: pytest.MonkeyPatch
) -> Backtest:
    """`distriage backtest` with the toy model, which hears "hangs", "memory", "exhausted", "segfault" and "how"."""
    del double
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yml").write_text("axes: {symptom: {labels: {oom: OOM}}, kind: false}\n", encoding="utf-8")
    return lambda *options: command("backtest", REPOSITORY, "--model", keyword_bundle, "--config", "c.yml", *options)


class Page(HTMLParser):
    """What a browser would see: tags, attributes, text outside style sheets."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(text)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] != ["style"]:
            self.words.append(data)


def test_the_page_holds_the_figures(run: Backtest, tmp_path: Path) -> None:
    done = run("--map", "deadlock=symptom:hang")
    caveat = "labels that a bot set, such as Distriage's own, count as people's, and can make these figures too good"
    assert (done.code, done.err) == (0, f"distriage: {caveat}\n")
    assert done.out == (
        "symptom: labels 5 of 6 issues, right in 75% of 4 (mode balanced)\nwritten: backtest.html\n"
        f"next: look at it, name the labels in .github/distriage.yml, distriage backfill {REPOSITORY} --dry-run\n"
    )
    page = Page((tmp_path / "backtest.html").read_text(encoding="utf-8"))
    assert "People labelled 4 of 6 issues on this axis, with hang oom" in page.text
    assert "of 4 right (30% to 95%)" in page.text and f"{caveat[0].upper()}{caveat[1:]}." in page.text
    assert "No threshold is proposed" in page.text
    assert "Also left out: by bots 1, empty or too large to read 1." in page.text
    assert "does not say which reports it was trained on" in page.text
    assert page.tags.count("svg") >= 2


@pytest.mark.parametrize(
    ("config", "mapped", "alone"),
    [
        ("only-listed: true\naxes: {symptom: {labels: {oom: OOM}}}", 4, 2),
        ("axes: {symptom: {labels: {hang: false}}}", 5, 3),
    ],
)
def test_labels_that_are_never_set_count_only_where_they_are_mapped(
    run: Backtest, tmp_path: Path, config: str, mapped: int, alone: int
) -> None:
    (tmp_path / "c.yml").write_text(f"{config}\n", encoding="utf-8")
    assert f"symptom: labels {mapped} of 6 issues" in run("--map", "deadlock=symptom:hang").out
    assert f"symptom: labels {alone} of 6 issues" in run().out


def test_a_threshold_that_is_proposed_can_be_copied_as_it_stands(
    run: Backtest, double: GitHub, tmp_path: Path, keyword_classifier: Classifier
) -> None:
    for number in range(10, 40):
        double.open(
            f"{REPOSITORY}#{number}",
            "It hangs",
            "hangs",
            ("deadlock",),
            created_at=f"2024-07-{number - 9:02}T10:00:00Z",
        )
    run("--map", "deadlock=symptom:hang")
    page = (tmp_path / "backtest.html").read_text(encoding="utf-8")
    snippet = re.search(r"write into <code>.github/distriage.yml</code>:</p>\n<pre>(.*?)</pre>", page, re.S)
    assert snippet is not None
    threshold = parse_config(snippet[1], "page", keyword_classifier.bundle.taxonomy).axes["symptom"].threshold
    assert threshold is not None and f"At p ≥ {threshold} its labels were right" in page


def test_a_mapped_label_that_no_issue_carries_is_named(run: Backtest) -> None:
    done = run("--map", "Deadlock=symptom:hang", "--map", "dedlock=symptom:hang")
    assert done.code == 0 and "these figures" in done.err.splitlines()[0]
    assert done.err.splitlines()[1:] == ["distriage: --map dedlock: no issue carries this label"]


def test_the_page_is_self_contained_and_nobody_s_text_is_markup(run: Backtest, tmp_path: Path) -> None:
    run("--map", "deadlock=symptom:hang")
    text = (tmp_path / "backtest.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not {"script", "img", "link", "iframe"} & set(page.tags)
    assert not any(name.startswith("on") or name == "src" for name, _ in page.attributes)
    assert all(
        value and value.startswith("https://github.com/owner/repo/issues/")
        for name, value in page.attributes
        if name == "href"
    )
    assert "default-src 'none'" in text
    assert "</title><script>alert(1)</script>" in page.text  # as words
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202a-\u202e]", text)


def test_without_any_mapped_label_it_says_what_it_would_have_said(
    run: Backtest, tmp_path: Path, double: GitHub
) -> None:
    for issue in double.issues.values():
        issue["labels"] = []
    done = run()
    assert done.out.startswith("symptom: labels 5 of 6 issues, no label by people to compare with") and not done.err
    page = Page((tmp_path / "backtest.html").read_text(encoding="utf-8"))
    assert "No label of this repository is known to stand for one of the model's." in page.text
    assert "--map 'deadlock=symptom:runtime-hang'" in page.text
    assert "Labels it would have given" in page.text


def test_each_axis_is_measured_once(run: Backtest, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[int] = []
    by_period = measure.by_period

    def noted(replayed: Sequence[measure.Replayed]) -> list[tuple[str, Sequence[measure.Replayed]]]:
        measured.append(len(replayed))
        return by_period(replayed)

    monkeypatch.setattr(measure, "by_period", noted)
    assert run().code == 0
    assert measured == [6]


def test_a_repository_without_issues(run: Backtest, tmp_path: Path, double: GitHub) -> None:
    double.issues.clear()
    assert run().out.startswith("symptom: labels 0 of 0 issues")
    assert "0 issues" in Page((tmp_path / "backtest.html").read_text(encoding="utf-8")).text


def test_the_history_is_fetched_once_and_an_interrupted_one_goes_on(
    run: Backtest, double: GitHub, tmp_path: Path
) -> None:
    double.page_items = 2
    cache = tmp_path / "owner-repo.history.jsonl"
    done = run("--limit", "3")
    assert "of 2 issues" in done.out  # of the newest three, one is empty
    pages = cache.read_text(encoding="utf-8").count("\n") - 1
    assert pages == 2
    with cache.open("a", encoding="utf-8") as stream:
        stream.write('{"items": [{"numb')  # interrupted here
    before = len(double.requests)
    assert "of 6 issues" in run().out
    assert len(double.requests) - before == 3
    before = len(double.requests)
    assert "of 6 issues" in run().out
    assert len(double.requests) == before


@pytest.mark.parametrize(
    "content", ["[]\n", "{}\n", '{"format": 1, "repository": "a/b", "fetched_at": 1.0}\n', "\x00\n"]
)
def test_a_file_of_something_else_is_not_touched(run: Backtest, tmp_path: Path, content: str) -> None:
    cache = tmp_path / "other"
    cache.write_text(content, encoding="utf-8")
    assert_one_line(run("--cache", cache), str(cache), "expected")
    assert cache.read_text(encoding="utf-8") == content


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("name", ["Owner/Repo", "new/name"])
def test_issues_that_the_model_was_trained_on_are_left_out(
    command: Command, toy_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if name != "Owner/Repo":
        monkeypatch.setitem(RENAMED, REPOSITORY.lower(), name)
    manifest = json.loads((toy_copy / "bundle.json").read_text(encoding="utf-8"))
    (toy_copy / "trained-on.txt").write_text(thread_digest(f"{name}#1") + "\n", encoding="ascii")
    seal(toy_copy, manifest, ("trained-on.txt",))
    (tmp_path / "c.yml").write_text("axes: {symptom: true}\n", encoding="utf-8")
    output = tmp_path / "page.html"
    done = command(
        "backtest",
        REPOSITORY,
        "--model",
        toy_copy,
        "--config",
        tmp_path / "c.yml",
        "--cache",
        tmp_path / "h",
        "--output",
        output,
    )
    assert done.out.startswith("left out, because the model was trained on them: 1\nsymptom: labels 4 of 5 issues")
    assert "Left out, because the model was trained on them: 1." in Page(output.read_text(encoding="utf-8")).text


def test_where_the_bot_is_silent_whatever_the_threshold_nothing_is_said(toy_copy: Path) -> None:
    manifest, taxonomy = json.loads((toy_copy / "bundle.json").read_text(encoding="utf-8")), toy_copy / "taxonomy.toml"
    rewrite(taxonomy, taxonomy.read_bytes().replace(b"[axis.fix]", b"[axis.fix]\nneeds_detail = true"))
    seal(toy_copy, manifest, ("taxonomy.toml",))
    classifier = Classifier(toy_copy, threads=1)
    bodies = ("hangs", f"hangs {' '.join(map('w{}'.format, 'abcdefghijklmn'))}")
    issues = tuple(ListedIssue(number, "hangs", body, "", 0.0, (), False) for number, body in enumerate(bodies, 1))
    meaning = make_mapping(RepositoryConfig(), [], classifier.bundle.taxonomy)

    def replayed(forms: FormLines | None = None) -> Sequence[Replayed]:
        history = History(issues, 0.0, complete=True, forms=forms)
        return replay(classifier, REPOSITORY, history, meaning, frozenset(), lambda _: None).items

    thin, full = replayed()
    assert not thin.said["fix"].applies and not thin.said["fix"].modes
    assert full.said["fix"].applies and full.said["fix"].modes and thin.said["symptom"].applies
    _, of_a_form = replayed(FormLines(frozenset(), frozenset({bodies[1]})))  # nobody wrote over its line
    assert not of_a_form.said["fix"].modes


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("deadlock", "--map 'deadlock': expected NAME=AXIS:LABEL"),
        ("=symptom:hang", "expected NAME=AXIS:LABEL"),
        ("a=cause:x", "unknown axis 'cause'; known: kind, symptom, fix"),
        ("a=symptom:x", "unknown label 'x'; known: oom, leak, hang, crash"),
    ],
)
def test_a_wrong_map_is_refused_before_anything_is_fetched(
    run: Backtest, double: GitHub, entry: str, message: str
) -> None:
    assert_one_line(run("--map", entry), message)
    assert double.requests == []


def test_the_mapping_follows_the_configuration(keyword_classifier: Classifier) -> None:
    taxonomy = keyword_classifier.bundle.taxonomy
    config = parse_config("axes: {symptom: {prefix: 's/', labels: {hang: Stuck}}}", "c.yml", taxonomy)
    meaning = make_mapping(config, ["A=B=kind:bug", "a=b=symptom:oom"], taxonomy)
    assert truth_of(["STUCK", "s/oom", "other"], meaning) == {"symptom": {"hang", "oom"}}
    assert truth_of(["a=b"], meaning) == {"kind": {"bug"}, "symptom": {"oom"}}
    assert truth_of(["kind: question"], make_mapping(RepositoryConfig(), [], taxonomy)) == {"kind": {"question"}}
    with pytest.raises(InputError):
        make_mapping(config, ["x=symptom"], taxonomy)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("", "so any other that the model gives counts as wrong"),
        ("only-listed: true", "so the model can hardly be wrong about it"),
    ],
)
def test_the_page_says_what_precision_is_worth_where_people_gave_one_label(
    run: Backtest, tmp_path: Path, config: str, said: str
) -> None:
    (tmp_path / "c.yml").write_text(f"{config}\naxes: {{symptom: true}}\n", encoding="utf-8")
    run("--map", "deadlock=symptom:hang")
    text = Page((tmp_path / "backtest.html").read_text(encoding="utf-8")).text
    assert said in text and "No threshold is proposed: people gave only one label." in text


def test_without_a_configuration_only_what_is_mapped_counts(
    command: Command, keyword_bundle: Path, tmp_path: Path, double: GitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    del double
    done = command("backtest", REPOSITORY, "--model", keyword_bundle, "--map", "bug=kind:bug")
    assert re.findall("^[a-z]+: labels . of 6", done.out, re.M) == ["kind: labels 5 of 6"]


def test_without_either_the_draft_is_used(
    command: Command, keyword_bundle: Path, tmp_path: Path, double: GitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    del double
    done = command("backtest", REPOSITORY, "--model", keyword_bundle)
    assert "owner/repo has no .github/distriage.yml: using the draft of `distriage config init owner/repo`" in done.err
    assert re.search(r"right in \d+% of [1-9]", done.out), done.out
