from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'distriage[train]'")

import numpy as np

from distriage.answer.similar import INDEX_FORMAT, LABEL_WEIGHT, Similar
from distriage.answer.verdict import SimilarIssue
from distriage.base.errors import BundleError
from distriage.base.references import RENAMED
from distriage.base.types import AxisScores, IssueReport, Prediction
from distriage.classifier import Classifier
from distriage.model.bundle import INDEX, Bundle
from distriage.reading.report import read
from distriage.recipe.features import HASH_BUCKETS
from distriage_training.corpus.load import known_issues
from distriage_training.release.index import MAX_POSTINGS, write_index

from support.command_line import Command, assert_one_line
from support.files import mark_encrypted, spoil
from support.keyword_model import seal
from support.known_issues import ISSUES, TOY, issue


@pytest.fixture(scope="module")
def classifier(indexed_bundle: Path) -> Classifier:
    return Classifier(indexed_bundle, threads=1)


@pytest.fixture(scope="module")
def similar(classifier: Classifier) -> Similar:
    return classifier.similar


def nearest(classifier: Classifier, title: str, body: str = "", id_: str = "", k: int = 5) -> list[SimilarIssue]:
    report = read(IssueReport(title, body, id_))
    return Similar(classifier.bundle).nearest(report, classifier.predict(report), k)


@pytest.fixture
def copy(indexed_bundle: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(indexed_bundle, tmp_path / "toy"))


def even(**sure: str) -> Prediction:
    """A prediction that is sure on the axes named, and even on the others."""
    scores = {}
    for axis in TOY.axes.values():
        probabilities = dict.fromkeys(axis.label_ids, 1 / len(axis.label_ids))
        if axis.id in sure:
            probabilities = {label: float(label == sure[axis.id]) for label in axis.label_ids}
        scores[axis.id] = AxisScores(axis.id, probabilities)
    return Prediction("toy", scores)


def numbers(found: list[Any]) -> list[int]:
    return [int(neighbour.id.rpartition("#")[2]) for neighbour in found]


def test_the_issue_that_shares_words_comes_first_with_what_is_known_of_it(classifier: Classifier) -> None:
    first, *_ = nearest(classifier, "The watchdog", "barks at a ring of eight")
    assert (first.id, first.url, first.title) == (
        "Own/Repo#1",
        "https://github.com/Own/Repo/issues/1",
        "Watchdog barks at the ring",
    )
    assert first.labels == {"kind": "bug", "symptom": "hang", "fix": "tuning"}


def test_probable_labels_decide_between_issues_that_share_as_much(similar: Similar) -> None:
    report = read(IssueReport("zebra", "zebra"))
    assert numbers(similar.nearest(report, even(symptom="leak"), 1)) == [4]
    assert numbers(similar.nearest(report, even(symptom="oom"), 1)) == [2]
    assert numbers(similar.nearest(report, even(fix="patch"), 2)) == [3, 4]
    assert numbers(similar.nearest(report, even(), 4)) == [1, 2, 3, 4]


def test_similarity_is_one_for_the_same_text_with_sure_labels_and_zero_for_nothing_in_common(similar: Similar) -> None:
    same = similar.nearest(
        read(IssueReport(ISSUES[1].title, ISSUES[1].body)), even(kind="bug", symptom="oom", fix="tuning"), 4
    )
    assert same[0].similarity == pytest.approx(1, abs=2e-3)  # half precision
    assert [item.similarity for item in same] == sorted((item.similarity for item in same), reverse=True)
    other = similar.nearest(read(IssueReport("zebra", "")), even(kind="question", symptom="oom", fix="tuning"), 4)
    labels = LABEL_WEIGHT / (1 + LABEL_WEIGHT)
    assert {item.id[-1]: item.similarity for item in other} == {
        "1": round(labels / 3, 4),
        "2": round(labels * 2 / 3, 4),
        "3": 0,
        "4": 0,
    }


def test_as_many_as_asked_for_and_never_the_report_itself(classifier: Classifier) -> None:
    for k, expected in ((1, 1), (3, 3), (50, 3)):
        found = nearest(classifier, ISSUES[0].title, ISSUES[0].body, "own/repo#1", k)
        assert len(found) == expected and 1 not in numbers(found)


def test_the_report_itself_is_known_by_its_repository_s_old_name(
    classifier: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RENAMED, "old/name", "own/repo")
    assert 1 not in numbers(nearest(classifier, ISSUES[0].title, ISSUES[0].body, "Old/Name#1", 50))


def test_only_restated_titles_are_in_the_file(indexed_bundle: Path) -> None:
    with np.load(indexed_bundle / INDEX, allow_pickle=False) as arrays:
        assert {identifier: title for identifier, _, title, _ in json.loads(str(arrays["records"]))} == {
            record.id: "" if record.id.endswith("#3") else record.title for record in ISSUES
        }


def test_notes_of_annotators_come_with_their_issue(classifier: Classifier) -> None:
    (found,) = nearest(classifier, ISSUES[0].title, ISSUES[0].body, k=1)
    assert found.note == ISSUES[0].note == "one rank left the ring"


def test_only_annotated_bugs_of_public_training_threads_are_known_issues() -> None:
    question = issue(5, "how", "how", labels={"kind": "question"})
    others = [issue(6, "a", "b", split=split) for split in ("validation", "test")] + [
        issue(7, "a", "b", origin=origin) for origin in ("generated", "feedback")
    ]
    assert known_issues([*ISSUES, question, *others, issue(8, "a", "b", url="")], TOY) == ISSUES


def test_the_file_depends_on_the_issues_alone_and_keeps_their_heaviest_words(tmp_path: Path) -> None:
    long = issue(9, "long", "\n".join(f"word{i} is {chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(200)))
    for name in ("a.npz", "b.npz"):
        write_index([*ISSUES, long], TOY, tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert np.count_nonzero(arrays["rows"] == len(ISSUES)) == MAX_POSTINGS
        assert arrays["counts"].dtype == np.uint8
        assert arrays["counts"].min() == 1


# ---------------------------------------------------------------- in a bundle


def test_a_bundle_without_an_index_is_valid_but_has_no_similar_issues(keyword_classifier: Classifier) -> None:
    assert not Similar.available(keyword_classifier.bundle)
    with pytest.raises(BundleError, match=r"index\.npz: missing"):
        Similar(keyword_classifier.bundle)


def test_an_index_that_was_changed_does_not_load(copy: Path) -> None:
    content = bytearray((copy / INDEX).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / INDEX).write_bytes(bytes(content))
    with pytest.raises(BundleError, match=r"index\.npz: its SHA-256"):
        Bundle(copy)


def _change(**arrays: Any) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        with np.load(file) as found:
            content = {name: found[name] for name in found.files}
        np.savez_compressed(file, **{name: value for name, value in {**content, **arrays}.items() if value is not None})

    return change


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_change(format=np.asarray(INDEX_FORMAT + 1)), f"it is of format {INDEX_FORMAT + 1}"),
        (_change(counts=None), "counts"),
        (_change(counts=np.zeros(1, np.uint8)), "counts does not fit"),
        (_change(labels=np.zeros((3, 3), np.int16)), "labels does not fit"),
        (_change(labels=np.full((4, 3), 4, np.int16)), "labels does not fit"),
        (_change(rows=np.full(1, 4, np.uint16)), "does not fit"),
        (_change(starts=np.zeros(5, np.uint32)), "starts does not fit"),
        (_change(starts=np.arange(HASH_BUCKETS + 1, 0, -1)), "starts does not fit"),
        (_change(idf=np.zeros(3, np.float32)), "idf does not fit"),
        (_change(records=np.asarray("[[")), "not an index"),
        (_change(records=np.asarray("3")), "not an index"),
        (_change(records=np.asarray(["a", 1], object)), "not an index"),
        (lambda file: file.write_bytes(b"PK nothing"), "not an index"),
        (lambda file: spoil(file, "idf.npy"), "not an index"),
        (mark_encrypted, "not an index"),
    ],
)
def test_a_sealed_index_that_cannot_be_read_is_named(copy: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(copy / INDEX)
    seal(copy, extra=[INDEX])
    with pytest.raises(BundleError, match=message) as caught:
        Similar(Bundle(copy))
    assert str(copy / INDEX) in str(caught.value)


def test_a_link_that_is_no_web_page_is_left_out(copy: Path) -> None:
    records = [[record.id, "javascript:alert(1)", "", ""] for record in ISSUES]
    _change(records=np.asarray(json.dumps(records)))(copy / INDEX)
    seal(copy, extra=[INDEX])
    assert {item.url for item in nearest(Classifier(copy, threads=1), "ring")} == {""}


def test_an_index_that_holds_a_thread_twice_never_shows_the_report_itself(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RENAMED, "old/name", "own/repo")
    names = ["own/repo#1", "old/name#1", "own/repo#3", "own/repo#4"]
    _change(records=np.asarray(json.dumps([[name, "", "", ""] for name in names])))(copy / INDEX)
    seal(copy, extra=[INDEX])
    for own in names[:2]:
        found = nearest(Classifier(copy, threads=1), ISSUES[0].title, ISSUES[0].body, own, 2)
        assert {item.id for item in found} == {"own/repo#3", "own/repo#4"}


# ---------------------------------------------------------------- in a verdict


def test_a_verdict_names_similar_issues_only_where_wanted(classifier: Classifier, similar: Similar) -> None:
    report = read(IssueReport("Watchdog", "The ring waits.", "x"))
    assert classifier.classify(report).similar is None
    found = classifier.classify(report, similar=True).similar
    assert found == similar.nearest(report, classifier.predict(report))


def test_a_report_of_another_field_resembles_no_known_issue(
    classifier: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = IssueReport("The watchdog", "barks at a ring of eight")
    foreign = replace(classifier.predict(report), in_domain=False)
    monkeypatch.setattr(classifier, "predict_inputs", lambda _: [foreign])
    assert classifier.classify(report, similar=True).similar == []


def test_the_command_line_shows_them(command: Command, indexed_bundle: Path) -> None:
    shown = command(
        "classify", "--similar", "--model", indexed_bundle, stdin=b"# Watchdog barks\n\nThe tokenizer falls."
    )
    assert shown.code == 0, shown.err
    start = shown.out.index("Similar issues:")
    lines = [line.strip() for line in shown.out[start:].splitlines()]
    assert lines[1:3] == ["tuning  https://github.com/Own/Repo/issues/1", "Watchdog barks at the ring"]
    assert any(line.startswith("hang  (similarity") for line in lines)
    answer = json.loads(
        command("classify", "--similar", "--json", "--model", indexed_bundle, stdin=b"# Watchdog barks").out
    )
    assert answer["similar"][0]["id"] == "Own/Repo#1"
    assert (
        json.loads(command("classify", "--json", "--model", indexed_bundle, stdin=b"# Watchdog").out)["similar"] is None
    )


def test_the_command_line_says_that_a_model_has_no_index(command: Command, keyword_bundle: Path) -> None:
    assert_one_line(
        command("classify", "--similar", "--model", keyword_bundle, stdin=b"# hang"),
        "index.npz",
        "no index of known issues",
    )
