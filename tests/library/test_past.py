from __future__ import annotations

import errno
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

from distriage.answer.verdict import LikelyDuplicate
from distriage.base.errors import InputError
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.github.releases import Release
from distriage.past.again import fixed_in, is_back
from distriage.past.answer import github_ids, likely_duplicates
from distriage.past.build import build_index
from distriage.past.file import load_index
from distriage.past.index import APART, LEAD_WORDS, WORDS, PastIndex, PastQuery, make_index
from distriage.past.issue import PastIssue, read_issues
from distriage.past.same import MEASURED, Alike, is_spoken_of, likelihood, titles_alike
from distriage.past.words import LINES, Features, features_of, titled
from distriage.past.words import TITLES as OF_TITLES
from distriage.reading.report import MAX_REPORT_BYTES
from distriage.recipe.features import HASH_BUCKETS
from distriage.recipe.text import ModelInput

from support.command_line import Command, assert_one_line
from support.files import mark_encrypted, spoil
from support.past_index import BODY, DAY_S, FILED_AT, TITLE, asked_before, query

TITLES = (
    "NCCL timeout in all_reduce after the first epoch",
    "Checkpoint cannot be loaded with ZeRO stage 3",
    "Launcher ignores the hostfile",
    "Loss is nan in fp16",
)


def lines(file: Path, *values: object) -> Path:
    file.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return file


def github_issue(number: int, title: str, **more: object) -> dict[str, object]:
    url = f"https://github.com/owner/repo/issues/{number}"
    issue = {"number": number, "title": title, "body": f"It fails: {title}.", "html_url": url, "state": "closed"}
    return {**issue, "created_at": f"2024-01-{number:02d}T00:00:00Z", "state_reason": "completed", **more}


@pytest.fixture(scope="module")
def issues_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("past") / "issues.jsonl"
    return lines(file, *(github_issue(number, title) for number, title in enumerate(TITLES, 1)))


def toy_index(*vectors: tuple[float, float], issues: int = 0, days: float = 0.0) -> PastIndex:
    """Issues without words, so that the vectors alone decide."""
    count = issues or len(vectors)
    none = (np.zeros(0, np.int32), np.zeros(0, np.float32))
    return make_index(
        [PastIssue(f"o/r#{number}", f"T{number}", filed_at=1e9 - days * DAY_S) for number in range(1, count + 1)],
        [none] * count,
        [np.array(vector, np.float32) for vector in vectors],
        "toy",
    )


def asked(*vector: float, id_: str = "", filed_at: float = 1e9) -> PastQuery:
    return PastQuery((np.zeros(0, np.int32), np.zeros(0, np.float32)), np.array(vector, np.float32), id_, filed_at)


# ---------------------------------------------------------------- what is read


def test_issues_are_read_as_github_gives_them_as_we_keep_them_and_as_corpora_hold_them(tmp_path: Path) -> None:
    file = lines(
        tmp_path / "a.jsonl",
        github_issue(7, "One", pull_request={}),
        github_issue(8, " Two\nlines ", closed_by="https://github.com/owner/repo/pull/9"),
        {"format": 1, "repository": "owner/repo", "fetched_at": 1.0},
        {"items": [{"number": 9, "title": "Three", "body": None, "url": "http://x/9", "created_at": "nonsense"}]},
        {
            "format": 1,
            "id": "a/b#3",
            "title": "Four",
            "body": "x",
            "created": "2024-01-01T00:00:00Z",
            "url": "javascript:x",
        },
        {"id": "a/b#4", "title": "  "},
        {"id": "a/b#5", "title": "Five", "body": "x" * MAX_REPORT_BYTES},
    )
    two, three, four = (issue for issue, _ in read_issues(str(file)))
    assert (two.id, two.title, two.state) == ("owner/repo#8", "Two lines", "closed")
    assert two.closed_by == "https://github.com/owner/repo/pull/9" and two.filed_at == 1_704_672_000
    assert (three.id, three.number, three.place, three.filed_at) == ("owner/repo#9", 9, "owner/repo", 0)
    assert three.url == "http://x/9"
    assert (four.id, four.url, four.filed_at) == ("a/b#3", "", 1_704_067_200)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", ":1: not valid JSON"),
        ("[]", ":1: list; expected a JSON object"),
        ('{"title": 3}', ":1: an issue without `title`"),
        ('{"title": "x"}', ":1: an issue without a name"),
        ('{"title": "x", "id": 5001, "iid": 12}', ":1: an issue without a name; expected `id`, a text such as"),
        ('{"title": "x", "number": 1e999}', ":1: an issue without a name"),
    ],
)
def test_a_line_that_holds_no_issue_is_named(tmp_path: Path, line: str, fault: str) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=f"bad.jsonl{fault}"):
        list(read_issues(str(file)))


def test_an_address_of_another_form_is_no_name(tmp_path: Path) -> None:
    elsewhere = github_issue(7, "One", html_url="https://ghe.example:8443/owner/repo/issues/7")
    file = lines(tmp_path / "a.jsonl", {"format": 1, "repository": "owner/repo", "fetched_at": 1.0}, elsewhere)
    assert [issue.id for issue, _ in read_issues(str(file))] == ["owner/repo#7"]


def test_a_page_may_be_longer_than_a_report(tmp_path: Path) -> None:
    items = [github_issue(number, "Large", body="x" * (MAX_REPORT_BYTES - 100)) for number in (1, 2, 3)]
    file = lines(tmp_path / "pages.jsonl", {"format": 1, "repository": "o/r", "fetched_at": 1.0}, {"items": items})
    assert [issue.number for issue, _ in read_issues(str(file))] == [1, 2, 3]


def test_a_table_of_issues_keeps_what_lines_keep(issues_file: Path, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'distriage[parquet]'")
    from pyarrow import parquet

    rows = [json.loads(line) | {"pull_request": None} for line in issues_file.read_text().splitlines()]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "issues.parquet")
    assert list(read_issues(str(tmp_path / "issues.parquet"))) == list(read_issues(str(issues_file)))


# ---------------------------------------------------------------- what is found


def test_words_find_the_same_issue_and_a_file_finds_what_memory_found(
    keyword_classifier: Classifier, issues_file: Path, tmp_path: Path
) -> None:
    index = build_index(read_issues(str(issues_file)), keyword_classifier)
    report = query(keyword_classifier, IssueReport("all_reduce: NCCL timeout", "After one epoch it fails."))
    found = index.find(report, 2)
    assert found[0].issue.number == 1
    assert found[0].similarity > found[1].similarity
    index.save(tmp_path / "index.npz")
    again = load_index(tmp_path / "index.npz").find(report, 2)
    assert [match.issue for match in again] == [match.issue for match in found]
    assert [match.similarity for match in again] == pytest.approx([match.similarity for match in found], abs=1e-3)


def test_an_issue_that_is_indexed_finds_only_earlier_ones(keyword_classifier: Classifier, issues_file: Path) -> None:
    index = build_index(read_issues(str(issues_file)), keyword_classifier)
    report = IssueReport(TITLES[2], f"It fails: {TITLES[2]}.", "Owner/Repo#3")
    assert {match.issue.number for match in index.find(query(keyword_classifier, report))} == {1, 2}
    elsewhere = IssueReport(report.title, report.body, "other/repo#3")
    assert index.find(query(keyword_classifier, elsewhere), 1)[0].issue.number == 3
    filed_at = index.issues[1].filed_at
    assert {match.issue.number for match in index.find(query(keyword_classifier, elsewhere, filed_at))} == {1, 2}


def test_in_an_index_of_several_repositories_only_later_issues_of_its_own_are_left_out() -> None:
    index = toy_index((1, 0), (1, 0), (1, 0))
    index = replace(index, issues=[replace(index.issues[0], id="A/b#1"), *index.issues[1:]])

    def found(id_: str) -> set[str]:
        return {match.issue.id for match in index.find(asked(1, 0, id_=id_))}

    assert found("o/r#3") == {"A/b#1", "o/r#2"} and found("a/B#1") == {"o/r#2", "o/r#3"}
    assert found("c/d#1") == found("report.md") == {"A/b#1", "o/r#2", "o/r#3"}


def test_a_report_of_another_tracker_does_not_find_itself() -> None:
    index = toy_index((1, 0), (1, 0))
    index = replace(index, issues=[replace(index.issues[0], id="PROJ-12"), replace(index.issues[1], id="PROJ-9")])
    assert [match.issue.id for match in index.find(asked(1, 0, id_="proj-12"))] == ["PROJ-9"]


def test_an_issue_on_two_pages_is_indexed_once(
    keyword_classifier: Classifier, issues_file: Path, tmp_path: Path
) -> None:
    issues = [json.loads(line) for line in issues_file.read_text().splitlines()]
    pages = lines(tmp_path / "pages.jsonl", {"items": issues[:2]}, {"items": issues[1:]})
    index = build_index(read_issues(str(pages)), keyword_classifier)
    assert [issue.number for issue in index.issues] == [1, 2, 3, 4]


def test_vectors_survive_the_file_and_time_between_counts(tmp_path: Path) -> None:
    toy_index((1, 0), (0.6, 0.8), (-1, 0.01)).save(tmp_path / "index.npz")
    index = load_index(tmp_path / "index.npz")
    found = index.find(asked(2, 0))
    assert [match.issue.number for match in found] == [1, 2, 3]
    assert [match.similarity for match in found] == pytest.approx([0.5, 0.3, -0.5], abs=5e-3)
    later = index.find(asked(2, 0, filed_at=1e9 + 70 * DAY_S))
    assert later[0].similarity == pytest.approx(0.5 - APART * np.log(11), abs=1e-3)
    undated = index.find(asked(2, 0, filed_at=0.0))  # as if it were filed now
    assert undated[0].similarity == pytest.approx(0.5, abs=1e-3)
    assert toy_index().find(asked(1, 0)) == []


def test_an_index_keeps_githubs_ids_and_an_older_one_has_none(tmp_path: Path) -> None:
    new, old = tmp_path / "new.npz", tmp_path / "old.npz"
    index = toy_index((1, 0), (0, 1))
    kept = [replace(issue, github_id=issue.number + 70) for issue in index.issues]
    replace(index, issues=kept).save(new)
    with np.load(new) as arrays:
        rows = [row[:6] for row in json.loads(arrays["issues"].tobytes())]
    shutil.copy(new, old)
    as_before(old, 2, LINES, issues=np.frombuffer(json.dumps(rows).encode(), np.uint8))
    assert load_index(new).issues == kept and load_index(old).issues == index.issues
    said = {"title": "", "url": "", "state": "", "closed_by": "", "probability": 0.9}
    found = [LikelyDuplicate(id=issue.id, **said) for issue in kept[:1]]
    assert github_ids(load_index(new), found) == {kept[0].id: 71} and github_ids(load_index(old), found) == {}


def test_a_rare_word_weighs_more() -> None:
    words = [(np.array(buckets, np.int32), np.ones(len(buckets), np.float32)) for buckets in ([5, 6], [5])]
    index = make_index([PastIssue("o/r#1", ""), PastIssue("o/r#2", "")], words, [np.zeros(0, np.float32)] * 2, "toy")
    assert index.idf[[5, 6, 0]] == pytest.approx([1, 1 + np.log(3 / 2), 1 + np.log(3)])
    once, none = np.ones(1, np.float32), np.zeros(0, np.float32)
    common, rare = (index.scores(PastQuery((np.array([word], np.int32), once), none))[0] for word in (5, 6))
    weight = 1 / np.hypot(1, index.idf[6])
    assert common == pytest.approx([WORDS[0] * weight, WORDS[0]], abs=1e-3)
    assert rare == pytest.approx([WORDS[0] * weight * index.idf[6], 0], abs=1e-3)


def test_words_decide_the_order_and_count_less_in_the_lead() -> None:
    words = [(np.array([bucket], np.int32), np.ones(1, np.float32)) for bucket in (5, 6)]
    vector = np.array([1, 0], np.float32)
    issues = [PastIssue(f"o/r#{number}", "", filed_at=1e9) for number in (1, 2)]
    index = make_index(issues, words, [vector, vector], "toy")
    first, second = index.find(PastQuery(words[0], vector, "o/r#3", 1e9))
    assert first.alike is not None and first.similarity - second.similarity == pytest.approx(WORDS[0], abs=1e-3)
    assert first.alike.ahead == pytest.approx(LEAD_WORDS, abs=1e-3)


def test_a_likely_duplicate_is_far_ahead_of_the_second() -> None:
    alone, *_ = toy_index((1, 0), (-1, 0)).find(asked(1, 0))
    of_a_series, *_ = toy_index((1, 0), (1, 0.1)).find(asked(1, 0))
    assert is_spoken_of(alone.same) and of_a_series.same is None
    undated = replace(toy_index((1, 0), (-1, 0)), filed_at=np.zeros(2)).find(asked(1, 0))
    assert undated[0].same is None


def test_shared_errors_speak_for_the_same_issue_and_titles_of_a_series_against_it() -> None:
    plain = likelihood(Alike(0.85, 0.4, 1.0))
    assert plain is not None and plain >= MEASURED
    series, shared = likelihood(Alike(0.85, 0.4, 1.0, titles=0.9)), likelihood(Alike(0.85, 0.4, 1.0, errors=True))
    assert series is None and shared is not None and shared > plain
    assert likelihood(Alike(0.85, 0.4, 9.0, titles=0.9)) == likelihood(Alike(0.85, 0.4, 9.0))
    assert titles_alike("Test A fails", "test a FAILS") == 0 == titles_alike("one", "other")
    assert titles_alike("test a fails", "test b fails") == pytest.approx(2 / 3)


def test_an_error_line_is_shared_whatever_its_numbers_if_few_others_have_it() -> None:
    def known(*errors: str) -> Features:
        return features_of(ModelInput("t", errors, ""))

    same, other = "KeyError: rank 3 lost its shard", "ValueError: no such layer 17"
    assert not (known("RuntimeError", "rank 3 got SIGSEGV again")[0] >= LINES).any()

    def shared(*past: tuple[str, ...], asked: str = same) -> bool:
        issues = [PastIssue(f"o/r#{number}", "", filed_at=1e9) for number in range(1, len(past) + 1)]
        vectors = [np.array([1 if number == 0 else -1, 0.1], np.float32) for number in range(len(past))]
        index = make_index(issues, [known(*errors) for errors in past], vectors, "toy")
        (match,) = index.find(PastQuery(known(asked), vectors[0], "o/r#99", 2e9), 1)
        assert match.issue.number == 1 and match.alike is not None
        return match.alike.errors

    assert shared((same,), asked=same.replace("3", "12")) and shared((same, same), (other,))
    assert not shared((other,), (same,)) and not shared((same, other))  # half of them is not most
    assert shared((same,), (same,)) and not shared((same,), (same,), (same,))


def as_before(file: Path, format_: int, buckets: int, **more: object) -> None:
    """Rewrite an index as an earlier version wrote it, which knew fewer buckets."""
    with np.load(file) as arrays:
        held = dict(arrays)
    end = held["starts"][buckets]
    cut = {"idf": held["idf"][:buckets], "starts": held["starts"][: buckets + 1]}
    cut |= {"rows": held["rows"][:end], "weights": held["weights"][:end], "format": np.asarray(format_)}
    np.savez_compressed(file, **{**held, **cut, **more})


@pytest.mark.parametrize(("format_", "buckets"), [(3, LINES), (4, OF_TITLES)])
def test_an_index_of_an_earlier_format_learns_its_titles(tmp_path: Path, format_: int, buckets: int) -> None:
    file = tmp_path / "old.npz"
    words = features_of(ModelInput("t", ("KeyError: rank 3 lost its shard",), "text"))
    issues = [PastIssue(f"o/r#{number}", title) for number, title in enumerate(TITLES, 1)]
    new = make_index(issues, [words] * 4, [np.array([1, 0], np.float32)] * 4, "toy")
    new.save(file)
    as_before(file, format_, buckets)
    asked = PastQuery(words, np.array([1, 0], np.float32), title="the loss is NaN")
    np.testing.assert_allclose(load_index(file).scores(asked)[0], new.scores(asked)[0], atol=2e-3)
    assert load_index(file).find(asked, 1)[0].issue.number == 4


def test_a_name_in_a_title_is_known_by_its_parts() -> None:
    def words(title: str) -> set[int]:
        return {*map(int, titled((np.zeros(0, np.int32), np.zeros(0, np.float32)), title)[0])}

    assert words("getDataLoader fails") > words("get data LOADER FAILS") and len(words("getDataLoader fails")) == 5
    assert words("HTTPServer") > words("http server") and words("save_state2") > words("save state")
    assert words("x " * 200) == words("x") and words("ab " * 100 + "late") == words("ab") and words("?!") == set()
    assert min(words("one")) >= OF_TITLES


# ---------------------------------------------------------------- the command


def test_an_index_is_made_and_asked_on_the_command_line(
    command: Command, issues_file: Path, keyword_bundle: Path, tmp_path: Path
) -> None:
    index = tmp_path / "index.npz"
    made = command("past", "index", issues_file, "--output", index, "--model", keyword_bundle)
    assert made.code == 0 and "4 issues" in made.err
    report = b"NCCL timeout in all_reduce\nAfter the first epoch.\x1b[31m"
    asked = ("past", "find", index, "-", "--model", keyword_bundle, "--top", 2)
    found = json.loads(command(*asked, "--json", stdin=report).out)
    assert len(found["issues"]) == 2
    first = found["issues"][0]
    assert (first["id"], first["state"], first["closed_by"]) == ("owner/repo#1", "closed", "completed")
    assert first["url"].endswith("/issues/1") and first["likely_duplicate"] is False
    shown = command(*asked, stdin=report).out
    assert "owner/repo#1 (closed, completed)  NCCL timeout" in shown and "\x1b" not in shown


@pytest.mark.parametrize(
    "damage", ["missing", "not an index", "another format", "rows", "a byte", "encrypted", "a history"]
)
def test_an_index_that_cannot_be_read_is_refused(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "index.npz"
    if damage in {"not an index", "a history"}:
        file.write_bytes(b"PK\x03\x04" if damage == "not an index" else b'{"format": 1}\n')
    elif damage != "missing":
        toy_index((1, 0)).save(file)
        with np.load(file) as arrays:
            held = dict(arrays)
        held |= {"format": np.asarray(9)} if damage == "another format" else {"rows": np.array([7], np.uint32)}
        if damage == "a byte":
            spoil(file, "idf.npy")
        elif damage == "encrypted":
            mark_encrypted(file)
        else:
            np.savez(file, **held)
    with pytest.raises(InputError, match=r"index.npz: (missing|not an index)") as caught:
        load_index(file)
    assert "pickle" not in str(caught.value)  # how to load one is numpy's advice


def test_an_index_that_cannot_be_written_leaves_the_old_one(
    command: Command, issues_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(stream: BinaryIO, **_: object) -> None:
        stream.write(b"PK")
        raise OSError(errno.ENOSPC, "No space left on device")

    file = tmp_path / "index.npz"
    toy_index((1, 0)).save(file)
    with monkeypatch.context() as patch, pytest.raises(InputError, match="No space left"):
        patch.setattr(np, "savez_compressed", full)
        toy_index((1, 0), (0, 1)).save(file)
    assert len(load_index(file).issues) == 1
    # Before the work: the model is not even looked for.
    made = ("past", "index", issues_file, "--model", "typo", "--output")
    assert_one_line(command(*made, tmp_path), f"{tmp_path}: a folder; expected a file")
    assert_one_line(command(*made, tmp_path / "none" / "index.npz"), "cannot be written: No such file or directory")


def test_the_hash_space_is_that_of_the_recipe() -> None:
    assert toy_index((1, 0)).idf.shape == (4 * HASH_BUCKETS,)


def test_what_is_likely_the_same_is_named_but_never_the_report_itself(shipped_classifier: Classifier) -> None:
    classifier = shipped_classifier
    index, later = asked_before(classifier), FILED_AT + 30 * DAY_S

    def named(id_: str, title: str = TITLE, filed_at: float = later) -> list[str]:
        return [
            item.id for item in likely_duplicates(index, query(classifier, IssueReport(title, BODY, id_), filed_at))
        ]

    assert named("owner/repo#9") == named("1") == ["Owner/Repo#1"]
    for own_time in (FILED_AT + DAY_S, 0.0):  # under its old name too
        assert named("new/name#1", filed_at=own_time) == named("owner/repo#1", filed_at=own_time) == []
    assert named("owner/repo#1") == named("#1") == [] and named("1", filed_at=0.0) == ["Owner/Repo#1"]
    assert named("another/repo#1") == ["Owner/Repo#1"]  # filed at another time: it only has the same number
    assert named("owner/repo#9", filed_at=FILED_AT) == [] and named("owner/repo#9", "Docs: a typo") != ["Owner/Repo#2"]
    broken = replace(index, issues=[replace(index.issues[0], title="\ud800"), *index.issues[1:]])
    (item,) = likely_duplicates(broken, query(classifier, IssueReport(TITLE, BODY), later))
    assert item.title == "?" and item.model_dump_json()


def test_a_chain_of_duplicates_ends_at_its_original_and_a_loop_at_its_end() -> None:
    def named(*closed_by: str, state: str = "closed") -> tuple[str, str | None] | None:
        """Each issue is closed by what is said, the last one as in `state`; the first is alike."""
        index = toy_index((1, 0), *[(-1, 0)] * (len(closed_by)))
        said = [*closed_by, ""]
        issues = [
            replace(issue, state=state if by == "" else "closed", closed_by=by)
            for issue, by in zip(index.issues, said, strict=True)
        ]
        found = likely_duplicates(replace(index, issues=issues), asked(1, 0, id_="o/r#9"))
        return (found[0].id, found[0].closed_duplicate) if found else None

    assert named() == ("o/r#1", None)
    assert named("Duplicate of #2") == named("duplicate of O/R#2", state="open") == ("o/r#2", "o/r#1")
    assert named("duplicate of #2", "duplicate of #3") == ("o/r#3", "o/r#1")
    assert named("duplicate of #8") == named("duplicate") == ("o/r#1", None)  # not here, or nobody says which
    assert named("duplicate of #2", "duplicate of #1") == ("o/r#2", "o/r#1")
    assert named("duplicate of #9") == ("o/r#1", None)
    itself = toy_index((1, 0), (-1, 0))
    older = replace(itself.issues[0], state="closed", closed_by="duplicate of #2")
    assert likely_duplicates(replace(itself, issues=[older, itself.issues[1]]), asked(1, 0, id_="o/r#2")) == []


RELEASES = [Release(tag=tag, published_at=at) for tag, at in (("v2.0.0", 10.0), ("v2.1.0", 20.0), ("v2.2.0", 30.0))]


@pytest.mark.parametrize(
    ("told", "stated", "fix", "back"),
    [
        ({"closed_at": 15.0}, "2.1.0", "2.1.0", True),
        ({"closed_at": 15.0}, "2.0.0+cu121", "2.1.0", False),
        ({"closed_at": 15.0}, "2.1.0.dev3", "2.1.0", False),
        ({"closed_at": 15.0, "milestone": "v2.2.0"}, "2.1.0", "2.2.0", False),
        ({"closed_at": 15.0, "milestone": "Backlog"}, "2.2.0", "2.1.0", True),
        ({"closed_at": 40.0, "version": "2.0.0"}, "2.2.0", "", True),
        ({"closed_at": 40.0, "version": "2.0.0"}, "2.0.0+cu121", "", False),
        ({"version": "2.0.0"}, "commit 0123abc", "", False),
        ({"closed_at": 15.0, "closed_by": "not_planned", "version": "1.0"}, "2.1.0", "", False),
        ({"closed_at": 15.0, "closed_by": "duplicate", "milestone": "2.0"}, "2.1.0", "", False),
        ({"closed_at": 15.0, "closed_by": "Duplicate of #8", "milestone": "2.0"}, "2.1.0", "", False),
        ({"closed_at": 15.0, "state": "open"}, "2.1.0", "", False),
        ({}, "2.1.0", "", False),
    ],
)
def test_a_fix_is_in_a_release_and_a_later_version_may_be_a_regression(
    told: dict[str, object], stated: str, fix: str, back: bool
) -> None:
    issue = PastIssue(**{"id": "o/r#1", "title": "T", "state": "closed", "closed_by": "completed", **told})  # type: ignore[arg-type]
    assert fixed_in(issue, RELEASES) == fix and is_back(issue, stated, fix) is back


def test_github_tells_when_and_for_which_release_an_issue_was_closed(tmp_path: Path) -> None:
    more = {"closed_at": "2024-02-01T00:00:00Z", "milestone": {"title": "2.0"}, "reactions": {"total_count": 3}}
    file = lines(
        tmp_path / "issues.jsonl", github_issue(1, "T", **more), github_issue(2, "T", version="1.9", reactions=2)
    )
    (one, _), (other, _) = read_issues(str(file))
    assert (one.closed_at, one.milestone, one.reactions) == (1_706_745_600.0, "2.0", 3)
    assert (other.closed_at, other.milestone, other.version, other.reactions) == (0.0, "", "1.9", 2)


def test_a_report_of_a_later_version_may_be_a_regression(
    command: Command, shipped_classifier: Classifier, tmp_path: Path
) -> None:
    index, file = asked_before(shipped_classifier, "vllm-project/vllm"), tmp_path / "past.npz"
    fixed = replace(index.issues[0], state="closed", closed_by="#7", milestone="v0.8.5")
    replace(index, issues=[fixed, *index.issues[1:]]).save(file)
    for version, is_later in (("0.9.1", True), ("0.8.2", False)):
        report = tmp_path / "report.md"
        report.write_text(f"# {TITLE}\n{BODY}\n\nvLLM version: {version}\n", encoding="utf-8")
        first = json.loads(command("past", "find", file, report, "--json").out)["issues"][0]
        assert first["fixed_in"] == "0.8.5" and first["possible_regression"] is is_later
        line = command("past", "find", file, report).out.splitlines()[0]
        assert "(closed, #7)" in line and line.count("possible regression") == is_later
