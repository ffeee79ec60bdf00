# ruff: noqa: F401, F811  # fixtures
"""The files of a batch: compressed ones and tables hold the same, and what cannot be read is named."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import pytest

from distriage.base.errors import InputError
from distriage.reports.records import COLUMNS, read_batch, read_records

from support.batches import batch, lines
from support.command_line import Command


@pytest.mark.slow
def test_compressed_files_and_tables_hold_the_same(
    command: Command, batch: Path, keyword_bundle: Path, tmp_path: Path
) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'distriage[parquet]'")
    from pyarrow import parquet

    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(batch.read_bytes()))
    with pyarrow.CompressedOutputStream(str(tmp_path / "in.jsonl.zst"), "zstd") as stream:
        stream.write(batch.read_bytes())
    plain = [record.content for record in read_records(str(batch))]
    for name in ("in.jsonl.gz", "in.jsonl.zst"):
        assert [record.content for record in read_records(str(tmp_path / name))] == plain
    rows = [json.loads(line) for line in lines(16)]
    parquet.write_table(
        pyarrow.Table.from_pylist([{"id": None, **row, "labels": "x"} for row in rows]), tmp_path / "in.parquet"
    )
    assert [(r.title, r.body) for r in read_batch(str(tmp_path / "in.parquet"))] == [  # type: ignore[union-attr]
        (row["title"], row["body"]) for row in rows
    ]
    for wanted, more in ((COLUMNS, set[str]()), (None, {"labels"})):
        found = read_records(str(tmp_path / "in.parquet"), columns=wanted)
        assert {frozenset(json.loads(record.content)) for record in found} == {
            frozenset({"id", "title", "body"} | more)
        }
    options = ("--model", keyword_bundle, "--workers", 1)
    for name in ("out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet"):
        assert command("classify", batch, *options, "--output", tmp_path / name).code == 0, name
    expected = (tmp_path / "out.jsonl").read_bytes()
    assert gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()) == expected
    with pyarrow.CompressedInputStream(str(tmp_path / "out.jsonl.zst"), "zstd") as stream:
        assert stream.read() == expected
    table = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    for row, line in zip(table, expected.decode().splitlines(), strict=True):
        answer = json.loads(line)
        assert row["id"] == answer["id"] and row["error"] == answer.get("error")
        assert row["verdict"] == (None if "error" in answer else line)
        if "error" not in answer:
            assert row["symptom_label"] == answer["axes"]["symptom"]["label"]


@pytest.mark.parametrize("column", ["title", "body"])
def test_bytes_in_a_table_are_no_text(tmp_path: Path, column: str) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'distriage[parquet]'")
    from pyarrow import parquet

    file = tmp_path / "in.parquet"
    row = {"title": "Training hangs", "body": "At step 3.", "vector": b"\0"}
    parquet.write_table(pyarrow.Table.from_pylist([row]), file)
    assert len(list(read_records(str(file)))) == 1
    parquet.write_table(pyarrow.Table.from_pylist([row | {column: b"It hangs"}]), file)
    with pytest.raises(InputError, match=rf"in.parquet: column `{column}` is binary; expected strings"):
        list(read_batch(str(file)))


def zstandard(file: Path, content: bytes) -> Path:
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'distriage[parquet]'")
    with pyarrow.CompressedOutputStream(str(file), "zstd") as stream:
        stream.write(content)
    return file


def test_zstandard_costs_little_more_than_plain_lines(tmp_path: Path) -> None:
    content = b"".join(b'{"title": "it hangs %d", "body": "%s"}\n' % (i, b"x" * 200) for i in range(40_000))
    plain, packed = tmp_path / "in.jsonl", zstandard(tmp_path / "in.jsonl.zst", content)
    plain.write_bytes(content)

    def took(file: Path) -> float:
        begun = time.process_time()
        assert sum(1 for _ in read_records(str(file))) == 40_000
        return time.process_time() - begun

    took(packed)  # imports pyarrow
    assert min(took(packed) for _ in range(3)) < 3 * min(took(plain) for _ in range(3))


@pytest.mark.parametrize("keep", [slice(-9), slice(100)])
def test_zstandard_that_is_cut_is_named(keep: slice, tmp_path: Path) -> None:
    file = zstandard(
        tmp_path / "cut.jsonl.zst", b"".join(b'{"title": "hangs %d", "body": ""}\n' % i for i in range(9999))
    )
    file.write_bytes(file.read_bytes()[keep])
    with pytest.raises(InputError, match=r"cut\.jsonl\.zst: "):
        list(read_batch(str(file)))


@pytest.mark.parametrize("name", ["damaged.jsonl.gz", "damaged.jsonl.zst", "damaged.parquet", "none.jsonl"])
def test_a_file_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    if name.endswith(("parquet", "zst")):
        pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'distriage[parquet]'")
    if name != "none.jsonl":
        (tmp_path / name).write_bytes(gzip.compress(b'{"title": "hangs", "body": ""}\n' * 999)[:-9])
    with pytest.raises(InputError, match=name):
        list(read_batch(str(tmp_path / name)))


@pytest.mark.parametrize("name", ["huge.jsonl", "huge.jsonl.zst"])
def test_a_huge_line_is_refused_without_being_held(tmp_path: Path, name: str) -> None:
    file, content = (
        tmp_path / name,
        b'{"title": "' + b"x" * (5 << 20) + b'", "body": ""}\n{"title": "hangs", "body": ""}\n',
    )
    if name.endswith("zst"):
        zstandard(file, content)
    else:
        file.write_bytes(content)
    bad, good = read_records(str(file))
    assert len(bad.content) < 3 << 20 and good.place == f"{file}:2"
