from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'distriage[learn]'")

from sklearn.linear_model import LogisticRegression

from distriage.base.errors import InputError
from distriage.github.listed import ListedIssue
from distriage.own.features import OwnFeatures
from distriage_training.commands.learn import _given
from distriage_training.learn import fit
from distriage_training.learn.examples import Wishes, choose, is_afterwards, usable
from distriage_training.learn.fit import blocks, calibrate, contrast, held_out_scores
from distriage_training.learn.thresholds import LEAST_PROBABILITY, STEP, Promise, find_threshold, lower_bound

from support import chromium
from support.command_line import Command, assert_one_line
from support.github import GitHub
from support.past_issues import REPOSITORY, past_issue, plain_history, write_history

PROMISE = Promise(0.8, 0.9)


# ---------------------------------------------------------------- which labels


@pytest.mark.parametrize(
    "label",
    [
        *("stale", "Duplicate", "wontfix", "won't fix", "needs-info", "need more info", "status: needs triage"),
        *("await-response", "cannot reproduce", "unable-reproduce", "resolution/invalid", "lifecycle/rotten"),
        *("inactive", "waiting for author", "keep-open", "can't reproduce", "Needs: Author Feedback"),
    ],
)
def test_labels_that_say_what_became_of_an_issue(label: str) -> None:
    assert is_afterwards(label)


@pytest.mark.parametrize(
    "label", ["bug", "feature request", "info", "server/webui", "type: question", "fixture", "🦙.", "new issue"]
)
def test_labels_that_say_what_an_issue_is(label: str) -> None:
    assert not is_afterwards(label)


def issues(labels: list[tuple[str, ...]]) -> list[ListedIssue]:
    return [ListedIssue(number, "t", "b", "", float(number), given, False) for number, given in enumerate(labels)]


def test_each_label_is_learned_or_left_out_with_the_reason() -> None:
    given = [("bug", "stale", *(["old"] * (n < 30))) if n % 2 else () for n in range(100)]
    past = issues([("all", *labels) for labels in given])
    past[7] = ListedIssue(7, "t", "b", "", 7.0, ("all", "rare"), False)
    labels = choose(past, Wishes(least=10))
    assert labels.names == ("bug",)
    assert {name: why.split()[0] for name, why in labels.left_out.items()} == {
        "all": "on",
        "old": "out",
        "stale": "says",
        "rare": "on",
    }
    forced = choose(past, Wishes(10, frozenset({"STALE", "old"}), frozenset({"bug"})))
    assert set(forced.names) == {"stale", "old"} and forced.left_out["bug"] == "left out by --exclude"
    with pytest.raises(InputError, match="at least 90"):
        choose(past, Wishes(least=90))


def test_issues_of_bots_and_empty_ones_teach_nothing() -> None:
    past = [ListedIssue(n, "t" * (n > 0), "", "", -float(n), (), n in {3, 4}) for n in range(110)]
    kept = usable(past)
    assert (len(kept.kept), kept.by_bots, kept.unreadable) == (107, 2, 1)
    assert [issue.number for issue in kept.kept][:2] == [109, 108]
    with pytest.raises(InputError, match="at least 100"):
        usable(past[:50])


# ---------------------------------------------------------------- thresholds


def test_the_bound_is_that_of_clopper_and_pearson() -> None:
    assert lower_bound(10, 10, 0.9) == pytest.approx(0.1 ** (1 / 10))
    assert lower_bound(0, 10, 0.9) == 0
    assert PROMISE.least_decisions == 11 and 0.8**11 < 0.1 < 0.8**10


def test_the_threshold_is_the_lowest_that_passes() -> None:
    p = np.linspace(1, LEAST_PROBABILITY, 200)
    found = find_threshold(p, p > 0.8, PROMISE)
    assert found is not None and found.bound >= 0.8 and found.right == 80
    more = int(found.given * STEP)
    assert lower_bound(80, more, PROMISE.confidence) < 0.8
    assert found.given == int((p >= found.probability).sum())


def test_a_few_errors_among_the_surest_decisions_do_not_take_a_label_away() -> None:
    p, right = np.linspace(1, 0.6, 60), np.ones(60, np.bool_)
    right[[3, 9, 15]] = False
    found = find_threshold(p, right, PROMISE)
    assert found is not None and found.given > 44  # 19 of the first 22 show no precision of 80 %, 41 of 44 do
    right[[20, 25, 30, 35, 40, 43]] = False
    assert find_threshold(p, right, PROMISE) is None


def test_there_is_no_threshold_where_nothing_shows_the_precision() -> None:
    p = np.linspace(1, 0, 200)
    assert find_threshold(p, np.arange(200) % 2 == 0, PROMISE) is None
    assert find_threshold(p[:10], np.ones(10, np.bool_), PROMISE) is None
    assert find_threshold(p / 3, np.ones(200, np.bool_), PROMISE) is None  # all likelier wrong than right


def test_a_threshold_needs_enough_decisions_and_a_label_that_is_likelier_right_than_wrong() -> None:
    least = 2 * PROMISE.least_decisions
    for count, probability, found in ((least, 0.9, 1), (least - 1, 0.9, 0), (200, 0.51, 1), (200, 0.49, 0)):
        threshold = find_threshold(np.full(count, probability), np.ones(count, np.bool_), PROMISE)
        assert (threshold is not None) == found


def test_the_promise_is_kept_as_often_as_it_says() -> None:
    """Of labels whose decisions are right at a rate just below the wanted one, few get a threshold."""
    random = np.random.default_rng(1)
    p = np.linspace(1, LEAST_PROBABILITY, 300)
    broken = sum(find_threshold(p, random.random(300) < 0.79, PROMISE) is not None for _ in range(400))
    assert broken <= 400 * 0.13


def test_calibrated_probabilities_are_right_as_often_as_they_say() -> None:
    random = np.random.default_rng(2)
    scores = random.normal(size=(2000, 2)) * 2
    truth = random.random((2000, 2)) < 1 / (1 + np.exp(-(3 * scores - [0, 2])))
    p = calibrate(scores, truth).probabilities(scores)
    assert np.abs(p.mean(0) - truth.mean(0)).max() < 0.02
    sure = p > 0.9
    assert truth[sure].mean() == pytest.approx(p[sure].mean(), abs=0.04)


def test_calibration_is_that_of_dense_columns_in_a_part_of_the_memory() -> None:
    random = np.random.default_rng(4)
    issues, labels = 1000, 40
    scores = random.normal(size=(issues, labels))
    truth = random.random((issues, labels)) < 1 / (1 + np.exp(-2 * scores - np.linspace(-2, 2, labels)))
    tracemalloc.start()
    found = calibrate(scores, truth)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    one_of = np.tile(np.eye(labels), (issues, 1))
    flat = scores.reshape(-1, 1)
    columns = np.hstack([flat * 3, flat * one_of, one_of])
    assert peak < columns.nbytes / 2
    dense = LogisticRegression(C=1.0, max_iter=500).fit(columns, truth.reshape(-1))
    expected = dense.predict_proba(columns)[:, 1].reshape(issues, labels)
    np.testing.assert_allclose(found.probabilities(scores), expected, atol=1e-6)


def test_a_word_that_tells_issues_with_a_label_from_the_others_counts_more() -> None:
    common_and_telling = sp.csr_matrix(np.array([[1, 1], [1, 1], [1, 0], [1, 0]], np.bool_))
    found = contrast(common_and_telling, np.array([True, True, False, False]))
    assert found == pytest.approx(2 * np.log([1.5, 2]) / np.log(3))  # shares of 1/2 against 3/4, and against 1/4


def test_every_block_is_answered_by_heads_of_earlier_issues() -> None:
    found = blocks(100)
    assert found[0][0] == 40 and found[-1][1] == 100
    assert [end for _, end in found[:-1]] == [first for first, _ in found[1:]]


def test_a_label_that_no_issue_or_every_one_has_gets_a_head_that_says_so() -> None:
    vectors = np.eye(2, dtype=np.float32)[[0, 1, 0, 1]]
    rows = [OwnFeatures(np.array([7]), np.ones(1), vector, vector) for vector in vectors]
    truth = np.array([[given, False, True] for given in (False, True, False, True)])
    scores = fit.fit_heads(fit.JOINED, rows, truth).scores(rows)
    assert (scores[:, 0] > 0).tolist() == truth[:, 0].tolist()
    assert scores[:, 1:].tolist() == [[-10.0, 10.0]] * 4


def test_heads_are_asked_about_issues_that_they_did_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    class Seen:
        def __init__(self, issues: list[int]) -> None:
            self.issues = issues

        def scores(self, asked: list[int]) -> NDArray[np.floating]:
            assert min(asked) > max(self.issues)
            return np.array(asked, float)[:, None]

    monkeypatch.setattr(fit, "fit_heads", lambda _, issues, truth: Seen(issues[: len(truth)]))
    issues: Any = list(range(100))
    scores = held_out_scores(fit.JOINED, issues, np.zeros((100, 1), np.bool_))
    assert scores.ravel().tolist() == list(range(40, 100))


# ---------------------------------------------------------------- the command


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not any(name.startswith("on") or name == "src" for name, _ in attrs)


@pytest.mark.parametrize(
    ("threshold", "said"),
    [
        (0.75, "given from probability 0.75 on"),
        (0.9993, "given from probability 0.9993 on"),
        (0.99999999, "never given"),
        (None, "never given"),
    ],
)
def test_no_label_is_given_from_certainty_on(threshold: float | None, said: str) -> None:
    assert _given(threshold) == said


def test_a_history_becomes_a_folder_and_a_page(command: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    items = plain_history()
    hostile = "<script>alert(1)</script>\x1b[31m"
    for item in items[-30::3]:  # later issues that people labelled otherwise: the page shows them
        item.update(title=f"{hostile} {item['title']}", labels=[hostile], html_url="javascript:alert(1)")
    file = write_history(tmp_path / "issues.jsonl", items)
    done = command("learn", "--issues", file, "--output", tmp_path / "own", "--model", keyword_bundle)
    assert done.code == 0 and "measured on the newest 60 issues, learned from the 240 before them" in done.out
    assert "  crash: given from probability" in done.out and "\x1b" not in done.out
    page = (tmp_path / "own" / "report.html").read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(page)
    assert tags.seen.isdisjoint({"script", "img", "iframe", "link"}) and "javascript:" not in page
    assert "&lt;script&gt;alert(1)" in page and "says what became of an issue" in page
    figures = json.loads((tmp_path / "own" / "report.json").read_text(encoding="utf-8"))
    assert figures["repository"] == REPOSITORY and figures["promise"] == {"precision": 0.8, "confidence": 0.9}
    tried = {kind["features"] for kind in figures["measured"]}
    assert tried == {"encoder and words", "TF-IDF"}
    crash = next(label for label in figures["measured"][0]["labels"] if label["name"] == "crash")
    assert crash["given"] == crash["right"] == crash["carried"] == 20 and crash["found"] == 1
    assert "rare" in figures["left_out"] and "stale" in figures["left_out"]


@pytest.mark.browser
def test_a_long_label_is_not_one_letter_a_line_on_a_narrow_screen(own_labels: Path, tmp_path: Path) -> None:
    page = (own_labels / "report.html").read_text(encoding="utf-8")
    assert "<p>Nowhere.</p>" in page
    (tmp_path / "long.html").write_text(page.replace(">crash<", f">{'x' * 50}<"), encoding="utf-8")
    with chromium.browser() as browser:
        shown = browser.new_page(viewport={"width": 400, "height": 800})
        shown.goto((tmp_path / "long.html").as_uri())
        widths = shown.locator("tbody th").evaluate_all("cells => cells.map(cell => cell.offsetWidth)")
        over = shown.evaluate("document.documentElement.scrollWidth")
    assert min(widths) >= 160 and over == 400


def test_a_repository_is_fetched_once(
    command: Command, github: GitHub, keyword_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for item in plain_history(120):
        reference = f"{REPOSITORY}#{item['number'] + 1}"
        github.open(reference, item["title"], item["body"], tuple(item["labels"]), created_at=item["created_at"])
    for _ in range(2):
        done = command("learn", REPOSITORY, "--model", keyword_bundle, "--least", 10)
        assert done.code == 0, done.err
        asked = len(github.requests)
    assert len(github.requests) == asked and (tmp_path / "owner-repo.history.jsonl").is_file()
    manifest = tmp_path / "own-labels" / "own.json"
    manifest.write_text(manifest.read_text().replace(f'"{REPOSITORY}"', '"owner/old"'))
    again = ("learn", REPOSITORY, "--model", keyword_bundle, "--least", 10, "--previous", "own-labels")
    assert_one_line(command(*again), "learned from owner/old")
    github.renamed["owner/old"] = REPOSITORY
    assert command(*again).code == 0


def test_what_cannot_be_learned_is_refused_in_one_line(command: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    few = write_history(tmp_path / "few.jsonl", plain_history(50))
    bare = write_history(tmp_path / "bare.jsonl", [past_issue(n, "words", []) for n in range(120)])
    whole = write_history(tmp_path / "whole.jsonl", plain_history(120))
    run = ("learn", "--model", keyword_bundle, "--output", tmp_path / "own")
    assert_one_line(command(*run, "--issues", few), "50 issues", "at least 100")
    assert_one_line(command(*run, "--issues", bare), "none of the labels")
    assert_one_line(command(*run, "--issues", whole, "--include", "nobody's"), "--include", "nobody's")
    assert_one_line(command(*run, "--issues", tmp_path / "none"), "none", "no such file")
    assert_one_line(command(*run, "--issues", keyword_bundle / "bundle.json"), "bundle.json", "not a history")
    assert_one_line(command(*run), "one of both")
    assert_one_line(command(*run, "no-slash"), "owner/repo")
    (tmp_path / "own").write_text("in the way")
    assert_one_line(command(*run, "--issues", whole, "--least", 10), "cannot be written")


def test_learning_loads_no_pytorch() -> None:
    """Neither directly nor by way of another module of ours; scikit-learn and SciPy, which do not, take 2 s to load."""
    parts = ("exceptions", "linear_model", "metrics", "sparse", "stats")
    others = ("sklearn", "scipy", *(f"{name}.{part}" for name in ("sklearn", "scipy") for part in parts))
    code = (
        f"import sys, unittest.mock; sys.modules |= dict.fromkeys({others}, unittest.mock.MagicMock());"
        "import distriage_training.learn.run, distriage_training.commands;"
        "print(*{'torch', 'transformers', 'datasets', 'onnx'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
