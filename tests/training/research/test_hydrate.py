from __future__ import annotations

import io
import json
import time
from pathlib import Path

import pytest
from rich.console import Console

from distriage.base.errors import CorpusError, GitHubError, RateLimitError
from distriage.github.client import MAX_ATTEMPTS
from distriage.github.limits import LONGEST_WAIT_S
from distriage.model.taxonomy import default_taxonomy
from distriage_research.corpus.hydrate import HydrateResult, hydrate
from distriage_training.corpus.jsonl import read_jsonl
from distriage_training.corpus.texts import read_texts

from support import faults
from support.command_line import Command, assert_one_line
from support.github import GitHub
from support.toys import annotation, write_corpus, write_lines

IDS = [f"a/b#{n}" for n in range(1, 5)]


class Place:
    """A corpus of four raw reports and a restated one, its store, and the waits of the calls."""

    def __init__(self, folder: Path) -> None:
        rows = [*map(annotation, IDS), annotation("a/b#9", origin="restated")]
        self.corpus = write_corpus(folder / "corpus", rows, {"a/b#9": ("restated", "text")})
        self.store = folder / "local" / "texts.jsonl"
        self.waits: list[float] = []

    def hydrate(self, limit: int | None = None) -> HydrateResult:
        return hydrate(
            self.corpus,
            self.store,
            default_taxonomy(),
            limit=limit,
            console=Console(file=io.StringIO()),
            sleep=self.waits.append,
        )

    def stored(self) -> list[str]:
        return [row["id"] for _, row in read_jsonl(self.store)]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def four(github: GitHub) -> GitHub:
    for identifier in IDS:
        github.add(identifier, f"title {identifier}", f"body {identifier}\nline two")
    return github


def asked(github: GitHub) -> list[str]:
    return [f"a/b#{request.path.rpartition('/')[2]}" for request in github.requests]


def test_fetches_what_has_no_text(place: Place, four: GitHub) -> None:
    four.issues["a/b#2"]["body"] = None
    four.issues["a/b#3"]["title"] = "训练卡住 \u2028 \x00"
    report = place.hydrate()
    assert (report.fetched, report.gone, report.left) == (4, [], 0)
    assert asked(four) == IDS
    texts = read_texts([place.store])
    assert list(texts) == IDS
    assert texts["a/b#1"] == ("title a/b#1", "body a/b#1\nline two")
    assert texts["a/b#2"] == ("title a/b#2", "")
    assert texts["a/b#3"][0] == "训练卡住 \u2028 \x00"
    assert place.waits == []


def test_a_second_call_asks_for_nothing(place: Place, four: GitHub) -> None:
    place.hydrate()
    before = place.store.read_bytes()
    four.requests.clear()
    assert place.hydrate().fetched == 0
    assert four.requests == []
    assert place.store.read_bytes() == before


def test_limit_leaves_the_rest_for_the_next_call(place: Place, four: GitHub) -> None:
    report = place.hydrate(limit=3)
    assert (report.fetched, report.left, place.stored()) == (3, 1, IDS[:3])
    report = place.hydrate(limit=3)
    assert (report.fetched, report.left, place.stored()) == (1, 0, IDS)
    assert asked(four) == IDS


def test_a_split_alone(tmp_path: Path, four: GitHub, research: Command) -> None:
    rows = [annotation(identifier, split="test" if identifier == IDS[2] else "train") for identifier in IDS]
    corpus = write_corpus(tmp_path / "corpus", rows)
    done = research("corpus", "hydrate", "--corpus", corpus, "--texts", tmp_path / "t.jsonl", "--split", "test")
    assert done.out == "fetched 1; 0 deleted, private or moved away; 0 left\n"
    assert asked(four) == [IDS[2]]


def test_a_server_that_knows_no_issue_makes_none_gone(tmp_path: Path, github: GitHub, research: Command) -> None:
    many = [f"a{repository}/b#{number}" for repository in range(12) for number in (1, 2)]
    corpus, store = write_corpus(tmp_path / "corpus", map(annotation, many)), tmp_path / "t.jsonl"
    call = ("corpus", "hydrate", "--corpus", corpus, "--texts", store)
    assert_one_line(research(*call), "the server knows none of the first 10 repositories")
    assert len(github.requests) == 19 and not store.with_name("gone.jsonl").exists()
    assert research(*call, "--limit", 3).code == 0 and not store.with_name("gone.jsonl").exists()
    github.add(many[18], "title", "body")  # the tenth repository is there
    done = research(*call)
    assert done.code == 0 and done.out.startswith("fetched 1; 23 deleted, private or moved away; 0 left\n")
    assert done.out.endswith(f"delete {store.with_name('gone.jsonl')}\n")
    assert [row["id"] for _, row in read_jsonl(store.with_name("gone.jsonl"))] == [*many[:18], *many[19:]]


def test_goes_on_after_an_interruption_in_the_middle(place: Place, four: GitHub) -> None:
    four.moved["a/b#3"] = "a/b#3"  # a redirect to itself fails for a moment

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hydrate(place.corpus, place.store, default_taxonomy(), console=Console(file=io.StringIO()), sleep=interrupt)
    assert place.stored() == IDS[:2]
    whole = place.store.read_bytes()
    place.store.write_bytes(whole + json.dumps({"id": "a/b#3", "title": "titl"}).encode()[:-4])
    place.store.with_name("gone.jsonl").write_text('{"id": "a/b#4', encoding="utf-8")
    four.moved.clear()
    four.requests.clear()
    assert place.hydrate().fetched == 2
    assert asked(four) == IDS[2:]
    assert place.stored() == IDS
    assert place.store.read_bytes().startswith(whole)
    assert read_texts([place.store])["a/b#3"] == ("title a/b#3", "body a/b#3\nline two")


def test_a_store_that_is_one_half_line_begins_anew(place: Place, four: GitHub) -> None:
    place.store.parent.mkdir()
    place.store.write_text('{"id": "a/b#1", "ti', encoding="utf-8")
    place.hydrate()
    assert place.stored() == IDS
    assert len(four.requests) == 4


def test_retry_after_is_obeyed(place: Place, four: GitHub) -> None:
    four.fail(faults.secondary_limit(30))
    assert place.hydrate().fetched == 4
    (wait,) = place.waits
    assert 30 < wait <= 31
    assert asked(four) == ["a/b#1", *IDS]


def test_the_reset_of_the_primary_limit_is_obeyed(place: Place, four: GitHub) -> None:
    now = int(time.time())
    four.fail(faults.rate_limit(now + 600), faults.rate_limit(now - 50), faults.rate_limit(now + 10**6))
    assert place.hydrate().fetched == 4
    until_reset, after_reset, far = place.waits
    assert 590 < until_reset <= 601
    assert 59 <= after_reset <= 61  # an end that has passed is as good as none
    assert LONGEST_WAIT_S <= far <= LONGEST_WAIT_S + 1


def test_a_limit_that_does_not_end_stops_the_call(place: Place, four: GitHub) -> None:
    four.fail(*[faults.secondary_limit(60, 403)] * 20)
    with pytest.raises(RateLimitError):
        place.hydrate()
    assert [round(wait / 60) for wait in place.waits] == [1] * (MAX_ATTEMPTS - 1)
    assert place.stored() == []


def test_an_error_for_a_moment_is_tried_again(place: Place, four: GitHub) -> None:
    four.fail(faults.server_error(500), faults.dropped(), faults.malformed())
    assert place.hydrate().fetched == 4
    assert asked(four) == ["a/b#1"] * 3 + IDS
    assert len(place.waits) == 3 and place.waits == sorted(place.waits)


def test_an_error_that_stays_stops_the_call_and_keeps_what_came(place: Place, four: GitHub) -> None:
    place.hydrate(limit=1)
    four.fail(*[faults.server_error(502)] * MAX_ATTEMPTS)
    with pytest.raises(GitHubError, match=r"a/b#2: GitHub fails \(502\)"):
        place.hydrate()
    assert len(place.waits) == MAX_ATTEMPTS - 1
    assert place.stored() == ["a/b#1"]
    assert place.hydrate().fetched == 3


@pytest.mark.parametrize("refusal", [faults.forbidden(), faults.bad_credentials()], ids=["403", "401"])
def test_stops_where_access_is_refused(place: Place, four: GitHub, refusal: object) -> None:
    place.hydrate(limit=2)
    four.fail(*[refusal] * 20)  # type: ignore[list-item]
    with pytest.raises(GitHubError, match="a/b#3: GitHub refused"):
        place.hydrate()
    assert place.stored() == IDS[:2]
    assert not place.store.with_name("gone.jsonl").exists()
    four.troubles.clear()
    assert place.hydrate().fetched == 2


def test_no_network(place: Place) -> None:
    with pytest.raises(GitHubError, match=r"a/b#1: GitHub cannot be reached at http://127\.0\.0\.1:1"):
        place.hydrate()
    assert place.stored() == []


def test_deleted_issues_are_reported_and_not_asked_for_again(place: Place, four: GitHub) -> None:
    four.gone.add("a/b#2")
    del four.issues["a/b#4"]
    report = place.hydrate()
    assert (report.fetched, report.gone, report.left) == (2, ["a/b#2", "a/b#4"], 0)
    assert place.stored() == ["a/b#1", "a/b#3"]
    four.requests.clear()
    assert place.hydrate().gone == ["a/b#2", "a/b#4"]
    assert four.requests == []


def test_a_transferred_issue_keeps_the_id_of_its_annotation(place: Place, four: GitHub) -> None:
    four.add("new/home#7", "moved title")
    four.moved["a/b#2"] = "new/home#7"
    place.hydrate()
    assert read_texts([place.store])["a/b#2"] == ("moved title", "")


def test_a_cut_off_emoji_does_not_stop_it(place: Place, four: GitHub) -> None:
    four.issues["a/b#2"]["title"] = "cut \ud83d"
    assert place.hydrate().fetched == 4
    assert read_texts([place.store])["a/b#2"][0] == "cut ?"


def test_the_token_is_sent(place: Place, four: GitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    four.private.update(IDS)
    monkeypatch.setenv("GITHUB_TOKEN", four.token)
    assert place.hydrate().fetched == 4
    assert {request.headers["authorization"] for request in four.requests} == {f"Bearer {four.token}"}


def test_invalid_annotations_are_refused_before_any_request(place: Place, four: GitHub) -> None:
    write_lines(place.corpus / "annotations.jsonl", [annotation("a/b#1"), annotation("a/b#2", stage="x")])
    with pytest.raises(CorpusError, match=r"annotations\.jsonl:2: stage: unknown label"):
        place.hydrate()
    assert four.requests == []


def test_the_command(place: Place, four: GitHub, research: Command) -> None:
    four.gone.add("a/b#3")
    places = ("--corpus", place.corpus, "--texts", place.store)
    done = research("corpus", "hydrate", *places, "--limit", 3)
    gone = f"gone: a/b#3\nto ask for these again, delete {place.store.with_name('gone.jsonl')}\n"
    assert (done.code, done.out) == (0, f"fetched 2; 1 deleted, private or moved away; 1 left\n{gone}")
    done = research("corpus", "hydrate", *places)
    assert (done.code, done.out) == (0, f"fetched 1; 1 deleted, private or moved away; 0 left\n{gone}")


def test_the_command_ends_in_one_line_where_the_corpus_is_missing(tmp_path: Path, research: Command) -> None:
    assert_one_line(
        research("corpus", "hydrate", "--corpus", tmp_path, "--texts", tmp_path / "t.jsonl"),
        "annotations.jsonl: cannot be read",
    )
