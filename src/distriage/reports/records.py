"""Batches of reports: JSONL or Parquet, plain or compressed. Reads a record at a time: memory stays constant."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from distriage.base.errors import InputError, RefusedError
from distriage.base.extras import needs_extra
from distriage.base.texts import encoding_of
from distriage.base.types import IssueReport
from distriage.reading.report import MAX_REPORT_BYTES, check_report
from distriage.reports.formats import TABLE
from distriage.reports.sources import identifier_of, report_of

MAX_RECORD_BYTES = 2 * MAX_REPORT_BYTES  # escapes take room
COLUMNS = ("title", "body", "id", "number", "html_url", "url")  # of a table, that a report is made of


@dataclass(frozen=True, slots=True)
class RawRecord:
    """An unparsed record.

    Attributes:
        place: `FILE:NUMBER`, from 1; blank lines count.
        position: Bytes of the file read so far, for progress.
    """

    place: str
    content: bytes
    position: int


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record of a batch that cannot be classified, and why."""

    id: str
    error: str


def read_one(name: str, read: Callable[[], IssueReport], *, tolerant: bool = True) -> IssueReport | BadRecord:
    """Read a report that is not part of a batch.

    Args:
        tolerant: One of several reports: its error must not end the run.

    Raises:
        InputError, RefusedError: it cannot be read, unless `tolerant`.
        GitHubError: GitHub is out of reach or its rate limit is reached, so the next report would fail too.
    """
    try:
        report = read()
        check_report(report)
    except (InputError, RefusedError) as error:
        if not tolerant:
            raise
        return BadRecord(name, str(error))
    return report


def check_any_read(records: int, errors: int) -> None:
    """Refuse a file that is not a batch of reports, even if each record has an answer.

    Raises:
        InputError: there are records, and all of them are errors.
    """
    if errors and errors == records:
        raise InputError("no record could be read; the `error` of each says why")


def size_of(path: str) -> int:
    """Bytes of a file; 0 if it cannot be read or is not a file."""
    try:
        file = Path(path)
        return file.stat().st_size if file.is_file() else 0
    except OSError:
        return 0


def read_batch(path: str) -> Iterator[IssueReport | BadRecord]:
    """The reports of a batch, and a marked failure for each bad record.

    Raises:
        InputError: the file itself cannot be read.
        MissingExtraError: Parquet or Zstandard without pyarrow.
    """
    return map(parse_record, read_records(path, columns=COLUMNS))


def read_records(
    path: str,
    *,
    offset: int = 0,
    before: int = 0,
    lines: int | None = None,
    columns: Collection[str] | None = None,
    longest: int = MAX_RECORD_BYTES,
) -> Iterator[RawRecord]:
    """The records of a batch, in order, for `read_batch`.

    Args:
        offset, before: Byte to begin at, and number of lines before it; plain JSONL only.
        lines: Read at most this many.
        columns: Columns to read from a table, if present; all if None.
        longest: Bytes; one more is kept of a longer line, to mark it.
    """
    try:
        if path.lower().endswith(TABLE):
            yield from _read_table(path, columns)
        else:
            yield from _read_lines(path, offset, before, lines, longest)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: damaged: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def parse_record(record: RawRecord) -> IssueReport | BadRecord:
    """The report in a record; a failure keeps the record's own id if readable."""
    name = record.place
    try:
        value = _parse(record.content, record.place)
        name = identifier_of(value, record.place)
        report = report_of(value, record.place)
        check_report(replace(report, id=record.place))
    except InputError as error:
        return BadRecord(name, str(error))
    return report


def _read_lines(path: str, offset: int, before: int, lines: int | None, longest: int) -> Iterator[RawRecord]:
    with Path(path).open("rb") as file, _decompressed(path, file) as plain:
        file.seek(offset)
        stream = plain if offset or encoding_of(plain.peek(2)[:2]) != "utf-16" else io.BufferedReader(_AsUtf8(plain))
        number = before
        while (lines is None or number < before + lines) and (line := stream.readline(longest + 1)):
            number += 1
            kept = line
            while not line.endswith(b"\n") and (line := stream.readline(longest)):
                pass  # the rest of a line that is too long
            if kept.strip():
                yield RawRecord(f"{path}:{number}", kept, file.tell())


class _AsUtf8(io.RawIOBase):
    """A stream of UTF-16 with a byte order mark, as UTF-8."""

    def __init__(self, stream: gzip.GzipFile | io.BufferedReader) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._stream.read(max(1, len(buffer) // 3))  # a unit of two bytes takes three at most
        text = self._decoder.decode(block, final=not block).encode("utf-8", "replace")
        if block and not text:  # the mark alone, or half a unit
            return self.readinto(buffer)
        buffer[: len(text)] = text
        return len(text)


def _decompressed(path: str, file: io.BufferedReader) -> gzip.GzipFile | io.BufferedReader:
    if path.lower().endswith(".gz"):
        return gzip.GzipFile(fileobj=file)
    if path.lower().endswith(".zst"):
        with needs_extra("parquet"):
            import pyarrow
        stream: Any = pyarrow.CompressedInputStream(pyarrow.PythonFile(file), "zstd")
        return io.BufferedReader(stream)
    return file


def _read_table(path: str, wanted: Collection[str] | None) -> Iterator[RawRecord]:
    with needs_extra("parquet"):
        import pyarrow
        from pyarrow import parquet
    try:
        with parquet.ParquetFile(path) as table:
            columns = [name for name in table.schema_arrow.names if wanted is None or name in wanted]
            _check_columns(path, table.schema_arrow, columns if wanted is not None else {*columns} & {*COLUMNS})
            size, rows, number = Path(path).stat().st_size, max(table.metadata.num_rows, 1), 0
            for batch in table.iter_batches(batch_size=256, columns=columns):
                for row in batch.to_pylist():
                    number += 1
                    content = json.dumps(row, ensure_ascii=False, default=str).encode("utf-8", "replace")
                    yield RawRecord(f"{path}:{number}", content, size * number // rows)
    except pyarrow.ArrowException as error:
        raise InputError(f"{path}: not a Parquet file that can be read: {str(error).splitlines()[0]}") from None


def _check_columns(path: str, schema: Any, columns: Collection[str]) -> None:
    """Refuse bytes instead of a text: they would become Python's notation, `b'...'`."""
    from pyarrow import types

    for name in columns:
        kind = schema.field(name).type
        if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
            raise InputError(f"{path}: column `{name}` is {kind}; expected strings; cast it where it was written")


def _parse(content: bytes, place: str) -> object:
    if len(content) > MAX_RECORD_BYTES:
        raise InputError(f"{place}: longer than the {MAX_RECORD_BYTES:,} bytes that are read")
    try:
        return json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: not valid UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{place}: not valid JSON; expected an object with `title` and `body`") from None
