# ruff: noqa: F401, F811  # fixtures
"""Files of the corpus: read, written as a whole, imported."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from distriage.base.errors import CorpusError
from distriage_research.corpus.texts import import_texts
from distriage_research.files import write_jsonl
from distriage_training.corpus.jsonl import read_jsonl
from distriage_training.corpus.texts import read_texts

from support.corpus_files import TAXONOMY, corpus
from support.toys import annotation, texts, write_corpus, write_lines


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": nope}', "2: not JSON: Expecting value at column 7"),
        ("[1]", "2: expected a JSON object, found list"),
        ('{"id": ' + "1" * 5000 + "}", "2: cannot be read: Exceeds the limit (4300 digits) for integer string"),
        ("[" * 100_000, "2: cannot be read: maximum recursion depth exceeded"),
    ],
)
def test_a_line_that_is_no_object(tmp_path: Path, line: str, message: str) -> None:
    path = write_lines(tmp_path / "a.jsonl", ["{}", line])
    with pytest.raises(CorpusError) as caught:
        list(read_jsonl(path))
    assert str(caught.value).startswith(f"{path}:{message}")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_passed_over(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n', encoding=encoding)
    assert list(read_jsonl(tmp_path / "a.jsonl")) == [(1, {"a": 1})]


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"none\.jsonl: cannot be read: .*No such file"):
        list(read_jsonl(tmp_path / "none.jsonl"))
    (tmp_path / "latin.jsonl").write_bytes('{"a": "é"}\n'.encode("latin-1"))
    with pytest.raises(CorpusError, match=r"latin\.jsonl: cannot be read: .*utf-8"):
        list(read_jsonl(tmp_path / "latin.jsonl"))


@pytest.mark.parametrize("damage", ["not gzip", "cut off", "flipped"])
def test_damaged_gzip_is_one_line(tmp_path: Path, damage: str) -> None:
    content = bytearray(gzip.compress(json.dumps({"text": list(range(5000))}).encode()))
    if damage == "flipped":
        for i in range(40, 60):
            content[i] ^= 0xFF
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(
        {"not gzip": b"{}\n", "cut off": bytes(content[: len(content) // 2]), "flipped": bytes(content)}[damage]
    )
    with pytest.raises(CorpusError, match=r"a\.jsonl\.gz: cannot be read: \S+"):
        list(read_jsonl(path))


JSON_ROWS = st.lists(
    st.dictionaries(st.text(), st.text() | st.integers() | st.none() | st.booleans() | st.lists(st.text()))
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=JSON_ROWS)
def test_what_is_written_is_read_again(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = tmp_path / "rows.jsonl"
    assert write_jsonl(path, rows) == len(rows)
    assert list(read_jsonl(path)) == list(enumerate(rows, 1))


def test_a_cut_off_emoji_does_not_stop_writing(tmp_path: Path) -> None:
    row = json.loads(r'{"id": "a/b#1", "title": "cut \ud83d", "body": null}')
    assert write_jsonl(tmp_path / "a.jsonl", [row]) == 1
    assert read_texts([tmp_path / "a.jsonl"]) == {"a/b#1": ("cut ?", "")}


def test_writing_is_all_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.jsonl"
    write_jsonl(path, [{"n": 1}])

    def rows() -> Iterator[dict[str, int]]:
        yield from ({"n": n} for n in range(10_000))
        raise CorpusError("in the middle")

    with pytest.raises(CorpusError, match="in the middle"):
        write_jsonl(path, rows())
    assert list(read_jsonl(path)) == [(1, {"n": 1})]
    write_jsonl(path, [{"n": 2}])
    assert list(read_jsonl(path)) == [(1, {"n": 2})]
    assert [entry.name for entry in path.parent.iterdir()] == ["rows.jsonl"]


def test_texts_of_later_files_win_and_missing_files_are_empty(tmp_path: Path) -> None:
    first = write_lines(
        tmp_path / "1.jsonl", [{"id": "a", "title": "one", "body": None}, {"id": "b", "title": "b", "body": "B"}]
    )
    second = write_lines(tmp_path / "2.jsonl", [{"id": "a", "title": "two", "body": "x", "more": 1}])
    assert read_texts([first, tmp_path / "none.jsonl", second]) == {"a": ("two", "x"), "b": ("b", "B")}


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"id": "a", "title": "t"},
        {"id": "a", "body": "b"},
        {"id": 1, "title": "t", "body": ""},
        {"id": "a", "title": "t", "body": 5},
    ],
)
def test_a_line_that_is_no_text(tmp_path: Path, row: dict[str, Any]) -> None:
    path = write_lines(tmp_path / "t.jsonl", [{"id": "x", "title": "t", "body": ""}, row])
    with pytest.raises(CorpusError) as caught:
        read_texts([path])
    assert str(caught.value).startswith(
        f"{path}:2: a text needs `id`, `title` and `body`, strings; found {'nothing' if not row else next(iter(row))}"
    )


def test_import_from_a_folder(tmp_path: Path, corpus: Path) -> None:
    source = tmp_path / "source"
    write_lines(source / "deep" / "one.jsonl", texts(["a/b#1", "c/d#1"]))
    (source / "two.jsonl.gz").write_bytes(
        gzip.compress(json.dumps({"id": "a/b#2", "title": "zipped", "body": None}).encode() + b"\n")
    )
    write_lines(source / "annotations.jsonl", [annotation("a/b#3")])  # another kind of file
    (source / "marks.txt").write_text("not JSON", encoding="utf-8")
    store = tmp_path / "store" / "texts.jsonl"
    assert import_texts(source, corpus, store, TAXONOMY) == (2, 1, 2)
    assert sorted(read_texts([store])) == ["a/b#1", "a/b#2"]
    assert read_texts([store])["a/b#2"] == ("zipped", "")
    assert sorted(read_texts([store.with_name("unlabelled.jsonl")])) == ["c/d#1"]
    assert sorted(entry.name for entry in store.parent.iterdir()) == ["texts.jsonl", "unlabelled.jsonl"]


def test_a_second_import_adds_to_the_first(tmp_path: Path, corpus: Path) -> None:
    store = tmp_path / "texts.jsonl"
    write_lines(tmp_path / "one" / "a.jsonl", texts(["a/b#1", "c/d#1"]))
    write_lines(
        tmp_path / "two" / "a.jsonl", [*texts(["a/b#2", "c/d#2"]), {"id": "a/b#1", "title": "newer", "body": ""}]
    )
    assert import_texts(tmp_path / "one", corpus, store, TAXONOMY) == (1, 1, 3)
    assert import_texts(tmp_path / "two", corpus, store, TAXONOMY) == (2, 2, 2)
    assert read_texts([store])["a/b#1"] == ("newer", "")
    assert sorted(read_texts([store.with_name("unlabelled.jsonl")])) == ["c/d#1", "c/d#2"]
    write_lines(corpus / "annotations.jsonl", [annotation("c/d#1"), annotation("a/b#1")])
    assert import_texts(tmp_path / "two", corpus, store, TAXONOMY) == (2, 2, 0)
    assert sorted(read_texts([store])) == ["a/b#1", "c/d#1"]


def test_a_text_under_an_earlier_name_is_that_of_the_annotated_thread(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus", [annotation("deepspeedai/DeepSpeed#1")])
    write_lines(tmp_path / "source" / "a.jsonl", texts(["microsoft/deepspeed#1", "microsoft/deepspeed#2"]))
    store = tmp_path / "texts.jsonl"
    assert import_texts(tmp_path / "source", corpus, store, TAXONOMY) == (1, 1, 0)
    assert list(read_texts([store])) == ["deepspeedai/DeepSpeed#1"]
    assert list(read_texts([store.with_name("unlabelled.jsonl")])) == ["microsoft/deepspeed#2"]


def test_import_without_texts(tmp_path: Path, corpus: Path) -> None:
    store = write_lines(tmp_path / "texts.jsonl", texts(["a/b#1"]))
    before = store.read_bytes()
    with pytest.raises(CorpusError, match=r"missing: not a folder; expected one with \*\.jsonl"):
        import_texts(tmp_path / "missing", corpus, store, TAXONOMY)
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        CorpusError, match=r"empty: no text found; expected \*\.jsonl or \*\.jsonl\.gz with id, title and body"
    ):
        import_texts(tmp_path / "empty", corpus, store, TAXONOMY)
    bad = write_lines(tmp_path / "bad" / "a.jsonl", [*texts(["a/b#2"]), {"id": "a/b#3", "title": None, "body": ""}])
    with pytest.raises(CorpusError, match=rf"{bad}:2: a text needs"):
        import_texts(tmp_path / "bad", corpus, store, TAXONOMY)
    assert store.read_bytes() == before
