from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distriage.base.errors import CorpusError
from distriage.model.taxonomy import default_taxonomy
from distriage_training.corpus.agreement import compare
from distriage_training.corpus.readings import read_readings

from support.toys import CORPUS, write_lines

TAXONOMY = default_taxonomy()
KINDS = TAXONOMY.axes["kind"].label_ids

Reader = dict[str, dict[str, object]]


def readers(*pairs: tuple[object, object], axis: str = "kind") -> tuple[Reader, Reader]:
    return {f"r{i}": {axis: one} for i, (one, _) in enumerate(pairs)}, {
        f"r{i}": {axis: other} for i, (_, other) in enumerate(pairs)
    }


def test_kappa_against_a_value_computed_by_hand() -> None:
    # 50 reports: observed agreement 35/50 = 0.7; by chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5; kappa (0.7 - 0.5) / (1 -
    # 0.5) = 0.4
    pairs = (
        [("bug", "bug")] * 20 + [("bug", "question")] * 5 + [("question", "bug")] * 10 + [("question", "question")] * 15
    )
    found = compare(*readers(*pairs), TAXONOMY)
    assert set(found) == {"kind"}
    kind = found["kind"]
    assert kind.n == 50
    assert kind.kappa == pytest.approx(0.4)
    assert kind.accuracy == pytest.approx(0.7)
    # F1 of bug 2*20/(25+30), of question 2*15/(25+20)
    assert kind.macro_f1 == pytest.approx((40 / 55 + 30 / 45) / 2)
    assert kind.differences == (("question", "bug", 10), ("bug", "question", 5))


def test_three_labels_by_hand() -> None:
    # observed 4/6; chance (3*2 + 2*2 + 1*2) / 36 = 12/36; kappa (2/3 - 1/3) / (2/3) = 1/2
    pairs = [
        ("bug", "bug"),
        ("bug", "bug"),
        ("bug", "other"),
        ("question", "question"),
        ("question", "question"),
        ("other", "other"),
    ]
    assert compare(*readers(*pairs), TAXONOMY)["kind"].kappa == pytest.approx((5 / 6 - 12 / 36) / (1 - 12 / 36))


def test_only_reports_that_both_labelled_count() -> None:
    first, second = readers(("bug", "bug"), ("bug", None), (None, "bug"), ("question", "question"))
    first["alone"] = {"kind": "bug"}
    second["r0"]["note"] = "not an axis"
    found = compare(first, second, TAXONOMY)
    assert {axis: agreement.n for axis, agreement in found.items()} == {"kind": 2}


def test_readers_without_a_common_report() -> None:
    assert compare({"a": {"kind": "bug"}}, {"b": {"kind": "bug"}}, TAXONOMY) == {}


def test_booleans_are_labels() -> None:
    found = compare(*readers((True, "true"), (False, "true"), (False, False), axis="distributed"), TAXONOMY)
    assert found["distributed"].accuracy == pytest.approx(2 / 3)
    assert found["distributed"].differences == (("false", "true", 1),)


def test_one_label_throughout_is_full_agreement() -> None:
    assert compare(*readers(("bug", "bug"), ("bug", "bug")), TAXONOMY)["kind"].kappa == 1.0


@settings(derandomize=True, deadline=None)
@given(pairs=st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)), min_size=1, max_size=30))
def test_kappa_is_symmetric_and_one_for_a_reader_and_itself(pairs: list[tuple[str, str]]) -> None:
    first, second = readers(*pairs)
    there, back = compare(first, second, TAXONOMY)["kind"], compare(second, first, TAXONOMY)["kind"]
    assert there.kappa == pytest.approx(back.kappa)
    assert -1 <= there.kappa <= 1
    assert sum(count for *_, count in there.differences) == sum(a != b for a, b in pairs)
    assert compare(first, first, TAXONOMY)["kind"].kappa == pytest.approx(1.0)


def test_reading_readings(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "readings.jsonl",
        [{"reader": "x", "id": "a", "kind": "bug"}, {"reader": "y", "id": "a"}, {"reader": "x", "id": "b"}],
    )
    assert {reader: list(rows) for reader, rows in read_readings(path).items()} == {"x": ["a", "b"], "y": ["a"]}


@pytest.mark.parametrize("row", [{"id": "a"}, {"reader": "x"}, {"reader": 1, "id": "a"}])
def test_a_reading_without_reader_or_id(tmp_path: Path, row: dict[str, object]) -> None:
    path = write_lines(tmp_path / "readings.jsonl", [{"reader": "x", "id": "a"}, row])
    with pytest.raises(CorpusError) as caught:
        read_readings(path)
    assert str(caught.value) == f"{path}:2: a reading needs `reader` and `id`"


def test_a_report_that_a_reader_has_twice(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "readings.jsonl", [{"reader": reader, "id": "a"} for reader in ("x", "y", "x")])
    with pytest.raises(CorpusError) as caught:
        read_readings(path)
    assert str(caught.value) == f"{path}:3: a is read twice by 'x'; expected one reading"


def test_the_readers_of_the_test_split_agree_beyond_chance() -> None:
    readings = read_readings(CORPUS / "readings.jsonl")
    found = compare(readings["first"], readings["second"], TAXONOMY)
    assert set(found) == set(TAXONOMY.axes)
    assert all(0 < agreement.kappa <= 1 for agreement in found.values())
    assert found["kind"].n >= found["cause"].n  # only bugs have a cause
