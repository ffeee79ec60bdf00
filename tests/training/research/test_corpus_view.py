from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from distriage.base.errors import CorpusError
from distriage.model.bundle import thread_digest
from distriage.model.taxonomy import default_taxonomy
from distriage_research.corpus.digests import DIGESTS, is_withheld
from distriage_research.corpus.view import check_corpus, print_agreement, print_stats

from support.command_line import Command, assert_one_line
from support.toys import CORPUS, QUESTION, annotation, texts, write_corpus, write_lines

TAXONOMY = default_taxonomy()
NOWHERE = Path("none.jsonl")


def check(corpus: Path, store: Path = NOWHERE) -> tuple[int, list[str]]:
    out = io.StringIO()
    errors = check_corpus(Console(file=out, width=200, soft_wrap=True), corpus, store, TAXONOMY)
    return errors, out.getvalue().splitlines()


def test_a_clean_corpus(tmp_path: Path) -> None:
    ids = [f"a/b#{n}" for n in range(1, 6)]
    corpus = write_corpus(tmp_path, map(annotation, ids))
    store = write_lines(tmp_path / "texts.jsonl", texts(ids[:4]))
    assert check(corpus, store) == (0, ["5 valid records, 4 with a text; 0 errors, 0 near-duplicates within a split"])


def test_what_counts_annotations_refuses_invalid_ones(research: Command, tmp_path: Path) -> None:
    rows = [annotation("a/b#1"), annotation("a/b#2", symptom="hang?"), annotation("a/b#3", kind="x")]
    corpus = write_corpus(tmp_path, rows)
    for call in (("stats",), ("digests", "--write"), ("publish",)):
        done = research("corpus", *call, "--corpus", corpus)
        assert_one_line(done, f"{corpus / 'annotations.jsonl'}:2: symptom: unknown label 'hang?'")
        assert "(and 1 more; see `python training/research corpus check`)" in done.err


def test_a_corpus_without_any_text(tmp_path: Path) -> None:
    assert check(write_corpus(tmp_path, [annotation("a/b#1")])) == (
        0,
        ["1 valid records, 0 with a text; 0 errors, 0 near-duplicates within a split"],
    )


def test_planted_faults_name_file_and_line(tmp_path: Path) -> None:
    rows = [
        annotation("a/b#1"),
        annotation("a/b#2", split="test"),  # the same text as 1: a leak
        annotation("a/b#3", symptom="[red]hang"),  # the schema
        "",
        annotation("a/b#5"),  # the same text as 1, in its split: a note
        annotation("a/b#6", origin="restated"),  # without a text
        annotation("A/B#1"),  # a duplicate
        annotation("generated/b#1", origin="generated"),  # without a text
    ]
    corpus = write_corpus(tmp_path, rows)
    (text,) = texts(["a/b#1"])
    store = write_lines(
        tmp_path / "texts.jsonl",
        [text, {**text, "id": "a/b#2"}, {**text, "id": "a/b#5", "body": text["body"] + " and more"}],
    )  # 43 of 45 triples
    errors, lines = check(corpus, store)
    file = corpus / "annotations.jsonl"
    assert errors == 6
    assert lines[:4] == [
        f"error: {file}:3: symptom: unknown label '[red]hang' (taxonomy {TAXONOMY.version})",
        f"error: {file}:7: id A/B#1: duplicate of line 1",
        f"error: {file}:6: a/b#6 is restated but has no text in restated.jsonl",
        f"error: {file}:8: generated/b#1 is generated but has no text in generated.jsonl",
    ]
    assert sorted(lines[4:6]) == [
        (
            f"error: {file}:2: a/b#2 (test) leaks: it is a near-duplicate of a/b#1 (train, line 1): 100% of the "
            f"word triples are shared"
        ),
        (
            f"error: {file}:5: a/b#5 (train) leaks: it is a near-duplicate of a/b#2 (test, line 2): 96% of the "
            f"word triples are shared"
        ),
    ]
    assert lines[6:] == [
        (
            f"note: {file}:5: a/b#5 (train) is a near-duplicate of a/b#1 (train, line 1): 96% of the word triples "
            f"are shared"
        ),
        "5 valid records, 3 with a text; 6 errors, 1 near-duplicates within a split",
    ]


def test_a_record_with_the_address_of_another_s_thread_is_refused(tmp_path: Path) -> None:
    rows = [
        annotation("a/b#1", split="test"),
        annotation("copy/of-it#7", url="https://github.com/A/b/issues/1#issuecomment-2"),
        annotation("dmlc/tvm#3", url="https://example.org/discussion"),
        annotation("x/y#4", url="https://github.com/apache/tvm/issues/3"),
        annotation("x/y#5", url="https://example.org/discussion"),
        annotation("generated/b#1", origin="raw", url=""),
        annotation("generated/b#2", origin="raw", url=""),
    ]
    errors, lines = check(write_corpus(tmp_path, rows))
    file = tmp_path / "annotations.jsonl"
    assert errors == 3
    assert lines[:3] == [
        f"error: {file}:2: copy/of-it#7: its id or url names the thread of line 1",
        f"error: {file}:4: x/y#4: its id or url names the thread of line 3",
        f"error: {file}:5: x/y#5: its id or url names the thread of line 3",
    ]


def test_a_text_that_was_annotated_twice_is_found_by_its_digest(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, [annotation("a/b#1"), annotation("a/b#2"), annotation("a/b#3", split="test")])
    write_lines(corpus / DIGESTS, [{"id": f"a/b#{number}", "sha256": "f" * 64} for number in (1, 2, 3, 4)])
    errors, lines = check(corpus)
    same = f"of a/b#1 (train, line 1) in {DIGESTS}: the same text"
    assert errors == 1
    assert lines[:2] == [
        f"error: {corpus}/annotations.jsonl:3: a/b#3 (test) leaks: it has the digest {same}",
        f"note: {corpus}/annotations.jsonl:2: a/b#2 (train) has the digest {same}",
    ]


def test_a_damaged_store_is_an_error_of_its_own(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, [annotation("a/b#1")])
    store = write_lines(tmp_path / "texts.jsonl", ['{"id": "a/b#1"}'])
    with pytest.raises(CorpusError, match=rf"{store}:1: a text needs"):
        check(corpus, store)


def test_the_command_says_by_its_exit_code_whether_the_corpus_is_clean(tmp_path: Path, research: Command) -> None:
    corpus = write_corpus(tmp_path / "corpus", [annotation("a/b#1"), annotation("a/b#2", split="validation")])
    store = write_lines(tmp_path / "texts.jsonl", texts(["a/b#1", "a/b#2"]))
    places = ("corpus", "check", "--corpus", corpus, "--texts", store)
    clean = research(*places)
    assert (clean.code, clean.err) == (0, "")
    assert clean.out == "2 valid records, 2 with a text; 0 errors, 0 near-duplicates within a split\n"
    (text,) = texts(["a/b#1"])
    write_lines(store, [text, {**text, "id": "a/b#2"}])
    leaking = research(*places)
    assert (leaking.code, leaking.err) == (2, "")
    assert leaking.out.startswith(
        f"error: {corpus}/annotations.jsonl:2: a/b#2 (validation) leaks: it is a near-duplicate of a/b#1 "
        f"(train, line 1)"
    )


@pytest.mark.slow
def test_the_command_checks_the_repository_s_own_corpus(tmp_path: Path, research: Command) -> None:
    done = research("corpus", "check", "--corpus", CORPUS, "--texts", tmp_path / "none.jsonl")
    assert done.code == 0, done.out
    assert "; 0 errors, " in done.out


def test_withheld_threads_are_refused_under_any_name(tmp_path: Path, research: Command) -> None:
    corpus = write_corpus(tmp_path / "corpus", [annotation("a/b#1"), annotation("Microsoft/DeepSpeed#2")])
    withheld = tmp_path / "withheld.txt"
    withheld.write_text(thread_digest("deepspeedai/deepspeed#2") + "\n", encoding="utf-8")
    places = ("corpus", "check", "--corpus", corpus, "--texts", tmp_path / "none.jsonl", "--withheld", withheld)
    done = research(*places)
    assert done.code == 2
    assert done.out.startswith(
        f"error: {corpus}/annotations.jsonl:2: Microsoft/DeepSpeed#2 is withheld for a last test"
    )
    withheld.write_text("deepspeedai/deepspeed#2\n", encoding="utf-8")
    assert_one_line(research(*places), f"{withheld}:1: 'deepspeedai/deepspeed#2'; expected 16 hexadecimal digits")


@pytest.mark.parametrize("listed", ["microsoft/DeepSpeed#2", "deepspeedai/DeepSpeed#2"])
@pytest.mark.parametrize("asked", ["Microsoft/DeepSpeed#2", "deepspeedai/deepspeed#2"])
def test_a_list_may_hold_any_name_of_a_thread(listed: str, asked: str) -> None:
    withheld = frozenset({thread_digest(listed)})
    assert is_withheld(asked, withheld) and not is_withheld(f"{asked}2", withheld)


def test_the_command_without_a_corpus(tmp_path: Path, research: Command) -> None:
    for name in ("check", "stats"):
        assert_one_line(research("corpus", name, "--corpus", tmp_path), f"{tmp_path}/annotations.jsonl: cannot be read")


def test_stats_count_by_split_and_label(tmp_path: Path, research: Command) -> None:
    rows = [
        annotation("a/b#1"),
        annotation("a/b#2", split="test", symptom="low-throughput"),
        annotation("a/b#3", **QUESTION, framework="ray", origin="restated"),
    ]
    corpus = write_corpus(tmp_path, rows)
    out = io.StringIO()
    print_stats(Console(file=out, width=120), corpus, TAXONOMY)
    lines = [line.split() for line in out.getvalue().splitlines()]
    assert ["origin", "train", "validation", "test", "all"] in lines
    for row in (
        ["raw", "1", "0", "1", "2"],
        ["restated", "1", "0", "0", "1"],
        ["deepspeed", "1", "0", "1", "2"],
        ["ray", "1", "0", "0", "1"],
        ["question", "1", "0", "0", "1"],
        ["runtime-hang", "1", "0", "0", "1"],
        ["low-throughput", "0", "0", "1", "1"],
        ["native-crash", "0", "0", "0", "0"],
        ["true", "2", "0", "1", "3"],
    ):
        assert row in lines
    done = research("corpus", "stats", "--corpus", corpus)
    assert done.code == 0
    assert "3 records by origin" in done.out
    for axis in TAXONOMY.axes.values():
        assert axis.name in done.out
        assert all(label in done.out for label in axis.label_ids)


def readings(corpus: Path) -> Path:
    pairs = (
        [("bug", "bug")] * 20 + [("bug", "question")] * 5 + [("question", "bug")] * 10 + [("question", "question")] * 15
    )
    rows = [
        {"reader": reader, "id": f"r{i}", "kind": pair[number]}
        for i, pair in enumerate(pairs)
        for number, reader in enumerate(("first", "second"))
    ]
    write_lines(corpus / "readings.jsonl", [*rows, {"reader": "third", "id": "other", "kind": "bug"}])
    return corpus


def test_agreement_prints_kappa_and_differences(tmp_path: Path, research: Command) -> None:
    done = research("corpus", "agreement", "--corpus", readings(tmp_path))
    assert done.code == 0
    lines = [line.split() for line in done.out.splitlines()]
    assert ["kind", "50", "0.40", "0.700", "0.697"] in lines
    assert ["axis", "first", "second", "times"] in lines
    assert ["kind", "question", "bug", "10"] in lines
    assert ["kind", "bug", "question", "5"] in lines
    swapped = research("corpus", "agreement", "--corpus", tmp_path, "--first", "second", "--second", "first")
    assert ["kind", "bug", "question", "10"] in [line.split() for line in swapped.out.splitlines()]


def test_agreement_of_a_reader_with_the_annotations(tmp_path: Path, research: Command) -> None:
    corpus = readings(write_corpus(tmp_path, [annotation("r0"), annotation("r20"), annotation("r49", **QUESTION)]))
    done = research("corpus", "agreement", "--corpus", corpus, "--first", "annotations", "--second", "second")
    lines = [line.split() for line in done.out.splitlines()]
    assert ["kind", "3", "0.40", "0.667", "0.667"] in lines
    assert ["kind", "bug", "question", "1"] in lines


def test_agreement_of_readers_that_do_not_exist_or_never_meet(tmp_path: Path, research: Command) -> None:
    corpus = readings(tmp_path)
    with pytest.raises(CorpusError) as caught:
        print_agreement(Console(file=io.StringIO()), corpus, "first", "nobody", TAXONOMY)
    assert str(caught.value) == f"{corpus}/readings.jsonl: no reader 'nobody'; readers: first, second, third"
    assert_one_line(
        research("corpus", "agreement", "--corpus", corpus, "--first", "third"), "third and second share no report"
    )


def test_wrong_readings_are_refused(tmp_path: Path, research: Command) -> None:
    corpus = readings(write_corpus(tmp_path, [annotation(f"r{i}", url="") for i in range(50)]))
    own = [{"reader": "own", "id": identifier, "kind": kind} for identifier, kind in (("r1", "bug"), ("r2", "[b]ug"))]
    with (corpus / "readings.jsonl").open("a", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in own)
    wrong = f"{corpus}/readings.jsonl: r2, read by 'own': kind: unknown label '[b]ug'"
    assert_one_line(research("corpus", "agreement", "--corpus", corpus, "--second", "own"), wrong)
    errors, lines = check(corpus)
    assert errors == 2
    assert lines[:2] == [
        f"error: {corpus}/readings.jsonl: other, read by 'third': not in annotations.jsonl",
        f"error: {wrong}",
    ]
    write_lines(corpus / "readings.jsonl", [own[0], own[0]])
    assert check(corpus)[1][0].startswith(f"error: {corpus}/readings.jsonl:2: r1 is read twice by 'own'")


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (None, "first: not recorded; second: not recorded"),
        ('[default]\nkind = "language model"\n[readings.first]\n', "first: language model; second: not recorded"),
        ('[readings.first]\nkind = "person"\n[readings.second]\n', "first: person; second: not recorded"),
        ('[default]\nkind = "language model"\n[readings.first]\n[readings.second]\n', "such readers agree more"),
    ],
)
def test_agreement_says_of_readers_what_is_recorded(
    tmp_path: Path, research: Command, known: str | None, said: str
) -> None:
    corpus = readings(tmp_path)
    if known is not None:
        (corpus / "readers.toml").write_text(known, encoding="utf-8")
    done = research("corpus", "agreement", "--corpus", corpus)
    assert said in done.out.splitlines()[-1]


@pytest.mark.parametrize("damage", ["[readings", "readings = 3", "[default]\nkind = 1"])
def test_a_list_of_readers_that_cannot_be_read(tmp_path: Path, research: Command, damage: str) -> None:
    corpus = readings(tmp_path)
    (corpus / "readers.toml").write_text(damage, encoding="utf-8")
    assert f"{corpus}/readers.toml: " in research("corpus", "agreement", "--corpus", corpus).err


def test_agreement_on_the_repository_s_own_corpus(research: Command) -> None:
    done = research("corpus", "agreement", "--corpus", CORPUS)
    assert done.code == 0
    found = {
        line.split()[0]: float(line.split()[2])
        for line in done.out.splitlines()
        if line.split()[:1] and line.split()[0] in TAXONOMY.axes and line.count(".") == 3
    }
    assert set(found) == set(TAXONOMY.axes)
    assert all(0 < kappa <= 1 for kappa in found.values())
