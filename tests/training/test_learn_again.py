"""Own labels learned again: with people's reviews, and never worse than before."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'distriage[learn]'")

from distriage.answer.feedback import ReviewRecord, own_axis
from distriage.github.listed import ListedIssue
from distriage_training.learn.compare import MIN_ISSUES, Row
from distriage_training.learn.reviews import read_own_reviews, with_reviews

from support.command_line import Command, assert_one_line
from support.past_issues import REPOSITORY, WORDS, learned_folder, plain_history, write_history


def review(number: int, label: str, *, right: bool, repository: str = REPOSITORY, **changes: Any) -> ReviewRecord:
    return ReviewRecord(
        **{
            "id": f"{repository}#{number}",
            "url": "",
            "title": "t",
            "body": "b",
            "created": None,
            "axis": own_axis(label),
            "label": label if right else None,
            "predicted_label": None,
            "probability": None,
            "model": "toy",
            "who": "maintainer",
            "how": "queue",
            "at": datetime(2025, 1, 1, tzinfo=UTC),
            **changes,
        }
    )


def write_reviews(file: Path, reviews: Sequence[ReviewRecord]) -> Path:
    file.write_text("".join(record.model_dump_json() + "\n" for record in reviews), encoding="utf-8")
    return file


def dated(count: int, labels: Mapping[int, list[str]] = MappingProxyType({})) -> list[dict[str, Any]]:
    """`plain_history` with an issue a day, so that it goes on by date however long it is."""
    start = datetime(2024, 1, 1, tzinfo=UTC).timestamp()
    items = plain_history(count)
    for number, item in enumerate(items):
        item["created_at"] = datetime.fromtimestamp(start + 86_400 * number, UTC).isoformat()
        item["labels"] = labels.get(number, item["labels"])
    return items


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


# ---------------------------------------------------------------- reviews


def test_people_say_which_labels_of_an_issue_are_right() -> None:
    past = [
        ListedIssue(n, "t", "b", "", float(n), labels, False)
        for n, labels in enumerate([("Docs", "bug"), (), ("x",)], 1)
    ]
    said = [
        review(1, "docs", right=False),
        review(1, "speed", right=True),
        review(3, "x", right=True),
        review(9, "x", right=True),
        review(2, "hang", right=True, axis="symptom"),
    ]
    found = with_reviews(past, said)
    assert [issue.labels for issue in found.issues] == [("bug", "speed"), (), ("x",)]
    assert (found.reviews, found.changed, found.unknown) == (3, 1, 1)


def test_what_looks_like_the_end_of_a_line_inside_a_review_is_none(tmp_path: Path) -> None:
    said = [review(n, "x", right=True, body="one\u2028two\u0085three\x1cfour") for n in (1, 2)]
    assert read_own_reviews(write_reviews(tmp_path / "reviews.jsonl", said), REPOSITORY) == said


def test_reviews_of_other_repositories_and_of_axes_are_left_out_and_the_others_ordered_by_date(tmp_path: Path) -> None:
    later = review(1, "x", right=False, at=datetime(2025, 2, 1, tzinfo=UTC))
    first = review(1, "x", right=True, repository=REPOSITORY.upper())
    others = [review(1, "x", right=True, repository="a/b"), review(1, "hang", right=True, axis="symptom")]
    file = write_reviews(tmp_path / "reviews.jsonl", [later, *others, first])
    assert read_own_reviews(file, REPOSITORY) == [first, later]


def test_the_latest_review_of_a_label_counts() -> None:
    past = [ListedIssue(1, "t", "b", "", 1.0, (), False)]
    assert with_reviews(past, [review(1, "x", right=True), review(1, "x", right=False)]).issues == tuple(past)


def test_reviews_reach_what_is_learned(command: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    """A bot gave `crash` to reports of slowness; people took each back in the queue."""
    wrong = {number: ["crash", "speed"] for number in range(2, 180, 3)}
    history = write_history(tmp_path / "issues.jsonl", dated(180, wrong))
    said = [review(number, "crash", right=False) for number in wrong]
    file = write_reviews(tmp_path / "reviews.jsonl", [*said, review(2, "crash", right=True, repository="a/b")])
    run = ("learn", "--issues", history, "--model", keyword_bundle, "--output")
    plain = command(*run, tmp_path / "plain")
    taught = command(*run, tmp_path / "taught", "--reviews", file)
    assert plain.code == taught.code == 0
    assert f"{len(wrong)} reviews of own labels; issues changed by them: {len(wrong)}\n" in taught.out
    report = tmp_path / "report.md"
    report.write_text(f"{WORDS['speed']}\n{WORDS['speed']}\n", encoding="utf-8")
    for folder, applied in (("plain", {"crash", "speed"}), ("taught", {"speed"})):
        done = command("classify", report, "--model", keyword_bundle, "--own", tmp_path / folder, "--json")
        assert {own["label"] for own in json.loads(done.out)["own"] if own["applied"]} == applied


@pytest.mark.parametrize(
    ("text", "named"),
    [("{}", "reviews.jsonl:1: id: missing"), ("nonsense", "reviews.jsonl:1: "), ('\n{"id": 3}', "reviews.jsonl:2: id")],
)
def test_a_file_that_holds_no_reviews_is_refused(
    command: Command, keyword_bundle: Path, tmp_path: Path, text: str, named: str
) -> None:
    history = write_history(tmp_path / "issues.jsonl", dated(120))
    (tmp_path / "reviews.jsonl").write_text(text, encoding="utf-8")
    done = command(
        "learn",
        "--issues",
        history,
        "--model",
        keyword_bundle,
        "--reviews",
        tmp_path / "reviews.jsonl",
        "--output",
        tmp_path,
    )
    assert_one_line(done, named, "distriage reviews export")
    missing = command("learn", "--issues", history, "--model", keyword_bundle, "--reviews", tmp_path / "none")
    assert_one_line(missing, "none", "not readable")


# ---------------------------------------------------------------- never worse


def test_worse_only_where_the_whole_interval_says_so() -> None:
    row = Row("x", MIN_ISSUES, 0.9, 0.5, (9, 10), (0, 0), (-0.5, -0.1))
    assert row.outcome == "worse"
    assert Row("x", MIN_ISSUES - 1, 0.9, 0.5, (9, 10), (0, 0), (-0.5, -0.1)).outcome == "too few"
    assert Row("x", MIN_ISSUES, 0.9, 0.5, (9, 10), (0, 0), (-0.5, 0.0)).outcome == "no difference"
    assert Row("x", MIN_ISSUES, 0.5, 0.9, (9, 10), (0, 0), (0.1, 0.5)).outcome == "better"


@pytest.fixture(scope="module")
def first(keyword_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Heads learned from the first 120 issues."""
    return learned_folder(tmp_path_factory.mktemp("first"), keyword_bundle, dated(120))


@pytest.fixture
def learned(first: Path, tmp_path: Path) -> Path:
    """A copy of them to learn again into."""
    return Path(shutil.copytree(first, tmp_path / "own"))


def again(command: Command, model: Path, own: Path, items: Sequence[Mapping[str, Any]], *more: object) -> Any:
    history = write_history(own.parent / "more.jsonl", items)
    return command("learn", "--issues", history, "--model", model, "--previous", own, "--output", own, *more)


def test_heads_that_are_not_worse_are_taken(command: Command, keyword_bundle: Path, learned: Path) -> None:
    before = json.loads((learned / "own.json").read_text())
    done = again(command, keyword_bundle, learned, dated(165))
    after = json.loads((learned / "own.json").read_text())
    assert done.code == 0 and "on 33 issues that neither has seen" in done.out  # the newest fifth of 165
    assert "not worse on any label that both know\nwritten: " in done.out
    assert (before["issues"], after["issues"]) == (120, 165) and after["until"] > before["until"]
    assert not list(learned.glob(".new-*"))


def test_a_label_that_is_no_longer_given_is_named(command: Command, keyword_bundle: Path, learned: Path) -> None:
    heads = json.loads((learned / "own.json").read_text())["labels"]
    gone = next(head["name"] for head in heads if head["threshold"] is not None)
    done = again(command, keyword_bundle, learned, dated(165), "--exclude", gone)
    assert done.code == 0 and f"no longer given: {gone}: left out by --exclude\n" in done.out


def test_heads_that_give_no_label_any_more_are_refused(command: Command, keyword_bundle: Path, learned: Path) -> None:
    untouched = content(learned)
    done = again(command, keyword_bundle, learned, dated(165), "--precision", "0.99", "--confidence", "0.99")
    assert done.code == 1 and content(learned) == untouched
    assert "no longer given: docs: cannot keep the promise any more\n" in done.out
    assert done.out.endswith("refused, nothing written: no label would be given any more\n")
    assert "not worse" not in done.out


def test_only_issues_that_neither_has_seen_decide(command: Command, keyword_bundle: Path, learned: Path) -> None:
    done = again(command, keyword_bundle, learned, dated(140))
    assert done.code == 0 and "on 20 issues that neither has seen" in done.out and "too few" in done.out
    done = again(command, keyword_bundle, learned, dated(140))
    assert done.code == 0 and ": no issue that neither has seen\nwritten: " in done.out
    assert "nothing to compare with the heads of " in done.out and "not worse" not in done.out


def test_worse_heads_are_refused_and_nothing_is_written(command: Command, keyword_bundle: Path, learned: Path) -> None:
    """Labels that somebody gave by chance to all older issues, and as before to the newest fifth."""
    chance = np.random.default_rng(3)
    shuffled = {number: [list(WORDS)[int(chance.integers(3))]] for number in range(176)}
    untouched = content(learned)
    done = again(command, keyword_bundle, learned, dated(220, shuffled))
    assert done.code == 1 and done.err == ""
    (everything,) = [line for line in done.out.splitlines() if line.startswith("all labels")]
    assert everything.rstrip().endswith("worse") and "1.000" in everything
    assert "refused, nothing written: worse on all labels" in done.out and content(learned) == untouched


def test_what_cannot_be_compared(command: Command, keyword_bundle: Path, learned: Path, tmp_path: Path) -> None:
    whole = dated(120)
    other = Path(shutil.copytree(learned, tmp_path / "other"))
    manifest = json.loads((learned / "own.json").read_text())
    (other / "own.json").write_text(json.dumps({**manifest, "model": "older", "model_sha256": "0" * 64}))
    done = again(command, keyword_bundle, other, whole)
    assert done.code == 0 and "was learned with older, another model" in done.out
    (other / "own.json").write_text(json.dumps({**manifest, "format": 3}))
    done = again(command, keyword_bundle, other, whole)
    assert done.code == 0 and "is of format 3, another Distriage's" in done.out
    (other / "own.json").write_text(json.dumps({**manifest, "repository": "a/b"}))
    assert_one_line(again(command, keyword_bundle, other, whole), "--previous", "a/b", REPOSITORY)
    done = again(command, keyword_bundle, tmp_path / "first-time", whole)
    assert done.code == 0 and "is not there yet" in done.out and (tmp_path / "first-time" / "own.json").is_file()
    assert_one_line(again(command, keyword_bundle, tmp_path, whole), "own.json", "distriage learn")
