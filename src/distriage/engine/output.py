"""The answers of a long run: written beside the file's place, resumable, moved there when complete."""

from __future__ import annotations

import gzip
import json
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple

from distriage.base.disk import writing
from distriage.base.errors import InputError
from distriage.base.extras import needs_extra
from distriage.reports.formats import COMPRESSED, LINES, TABLE, is_batch

ROWS = 1000  # of a row group
_FAR = 0x7FFFFFFE  # a byte that Windows locks; others could not read it, and a file is mostly shorter


class Tally(NamedTuple):
    """Answers, and among them those of unreadable records and those without own labels."""

    answers: int = 0
    errors: int = 0
    without_own: int = 0

    def with_answer(self, line: str) -> Tally:
        """With one more."""
        # A key of every verdict; strings hold no quote but after a backslash.
        return Tally(self.answers + 1, self.errors + ('"axes":' not in line), self.without_own + ('"own":null' in line))


class Output:
    """Answers, one per line. Until `finish`, they lie in `FILE.part`, as plain JSONL for every FILE, and the options of
    the run in `FILE.part.json`.

    Only one process at a time writes it.

    Attributes:
        count: Answers in the file, including those of an earlier run.
        before: Those of the earlier run.
    """

    def __init__(self, path: str, options: Mapping[str, Any], *, resume: bool) -> None:
        """Open the file.

        Args:
            options: The run's, as JSON; a resumed run must have the same ones.

        Raises:
            InputError: a name without a known format, a folder or a missing one, an unfinished run without `resume` or
                with other options, another process that writes the file.
        """
        self._path = Path(path)
        self.part = part_of(path)
        self._options = self._path.with_name(f"{self.part.name}.json")
        with writing(self._path):
            if self._path.is_dir():
                raise InputError(f"--output {path}: a folder; expected a file")
        if not is_batch(path):  # answers can be written in the formats that reports are read in
            raise InputError(
                f"--output {path}: expected a name that ends in {', '.join(LINES)}, "
                f"with {' or '.join(COMPRESSED)} after that if wanted, or in {TABLE}"
            )
        if path.lower().endswith((TABLE, ".zst")):
            with needs_extra("parquet"):
                import pyarrow  # noqa: F401 - a missing package should be said before the work, not after it
        with writing(self.part):
            self._stream: BinaryIO = self.part.open("a+b")
        try:
            self._begin(options, resume=resume)
        except InputError:
            self._stream.close()
            raise

    def _begin(self, options: Mapping[str, Any], *, resume: bool) -> None:
        with writing(self.part):
            if not _lock(self._stream):
                raise InputError(f"{self.part}: another process is writing it; wait for its end, or stop it")
            if not self.part.stat().st_size:
                self._options.write_text(json.dumps(options), encoding="utf-8")
            elif resume:
                self._check_options(options)
            else:
                raise InputError(f"{self.part}: holds an unfinished run; pass --resume to go on, or delete it")
            self.before, self._last = self._whole_lines()
            self.count = self.before.answers

    def _whole_lines(self) -> tuple[Tally, bytes]:
        """Counts lines, and has the last one; cuts an unfinished line off."""
        tally, end, last = Tally(), 0, b""
        self._stream.seek(0)
        for line in self._stream:
            if not line.endswith(b"\n"):
                break
            tally, end, last = tally.with_answer(line.decode("utf-8", "replace")), end + len(line), line
        self._stream.truncate(end)
        return tally, last

    def _check_options(self, options: Mapping[str, Any]) -> None:
        try:
            before = json.loads(self._options.read_text(encoding="utf-8"))
            other = differences(before, options)
        except FileNotFoundError:
            raise InputError(
                f"{self._options}: missing; --resume needs the options of the unfinished run: "
                f"put the file back, or delete {self.part}"
            ) from None
        except (OSError, ValueError, TypeError, KeyError):
            raise InputError(f"{self._options}: damaged; expected the options of the unfinished run") from None
        if other:
            raise InputError(f"{self.part}: of a run {other}; --resume needs the same options")

    def check_continues(self, identifier: str, title: str | None) -> None:
        """Refuse to continue with other input.

        Args:
            identifier, title: Of the record that the last answer must be about; no title for one that cannot be read.

        Raises:
            InputError: the last line is about another record, or is not an answer.
        """
        try:
            answer = json.loads(self._last)
            found, titled = answer["id"], answer.get("title")
        except (ValueError, TypeError, KeyError, AttributeError):
            raise InputError(
                f"{self.part}: line {self.count:,} is no answer; expected JSON with `id`: delete the line or the file"
            ) from None
        if found != identifier:
            raise InputError(
                f"{self.part}: answer {self.count:,} is about {found}, but that record of the input is {identifier}; "
                "--resume needs the input of the run that it goes on with"
            )
        if None not in (title, titled) and titled != title:
            raise InputError(
                f"{self.part}: answer {self.count:,} is about {titled[:80]!r}, but {identifier} has another title in "
                "the input; --resume needs the input of the run that it goes on with"
            )

    def write(self, line: str) -> None:
        """Add an answer.

        Raises:
            InputError: the file cannot be written, as when the disk is full; so too of `flush` and `finish`.
        """
        with writing(self.part):
            self._stream.write(line.encode() + b"\n")
        self.count += 1

    def flush(self) -> None:
        """Hand written lines to the system, so that a killed process loses nothing."""
        with writing(self.part):
            self._stream.flush()

    def finish(self, axes: Sequence[str]) -> None:
        """Turn the part into the file.

        Args:
            axes: The model's; the columns of a table.
        """
        name, done = self._path.name.lower(), self.part
        with writing(self._path):
            self._stream.flush()
            if not name.endswith(LINES):
                done = self._path.with_name(f"{self._path.name}.new")
                if name.endswith(TABLE):
                    _write_table(self.part, done, axes)
                else:
                    _compress(self.part, done, name)
            self._stream.close()  # the lock ends only here; Windows renames no open file
            done.replace(self._path)
            self.part.unlink(missing_ok=True)
            self._options.unlink(missing_ok=True)

    def __enter__(self) -> Output:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # the error that is under way says more
            self._stream.close()
        if not self.count:
            self.part.unlink(missing_ok=True)
            self._options.unlink(missing_ok=True)


def _lock(stream: BinaryIO) -> bool:
    """Keep our other processes away from a file until it is closed; False if one of them has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            stream.seek(_FAR)
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a network's file system without locks
        return True
    return True


def differences(before: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Differences from another run's options, as words after "of a run": `without --explain`; empty for none."""
    return "; ".join(
        f"with {name} {before[name]}, not {value}"
        if before[name] and value and not isinstance(value, bool)
        else f"{'with' if before[name] else 'without'} --{name}"
        for name, value in options.items()
        if before[name] != value
    )


def part_of(path: str) -> Path:
    """Where answers lie until a run is complete."""
    return Path(f"{path}.part")


def is_complete(path: str) -> bool:
    """Whether a run has finished this file and no later run has started on it."""
    with writing(Path(path)):
        return Path(path).is_file() and not part_of(path).exists()


def check_apart(path: str, sources: Iterable[str]) -> None:
    """Refuse to overwrite a source.

    Raises:
        InputError: the output is one of the sources.
    """
    for source in sources:
        with suppress(OSError):  # one of them is not there, or cannot be looked at
            if Path(source).samefile(path):
                raise InputError(f"--output {path}: the input, which would be lost; expected another file")


def _compress(part: Path, done: Path, name: str) -> None:
    with part.open("rb") as source:
        if name.endswith(".gz"):
            with gzip.GzipFile(done, "wb", mtime=0) as target:  # the same answers give the same bytes
                shutil.copyfileobj(source, target)
        else:
            import pyarrow

            with pyarrow.CompressedOutputStream(str(done), "zstd") as target:
                shutil.copyfileobj(source, target)


def _write_table(part: Path, done: Path, axes: Sequence[str]) -> None:
    """One row per answer: outcome, label and probability of each axis as columns, and the whole verdict as JSON."""
    import pyarrow
    from pyarrow import parquet

    text = pyarrow.string()
    fields = [("id", text), ("error", text)]
    for axis in axes:
        fields += [(f"{axis}_outcome", text), (f"{axis}_label", text), (f"{axis}_probability", pyarrow.float64())]
    schema = pyarrow.schema([*fields, ("verdict", text)])
    with parquet.ParquetWriter(done, schema) as writer, part.open(encoding="utf-8") as stream:
        while rows := [_row(line) for line in islice(stream, ROWS)]:
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))


def _row(line: str) -> dict[str, Any]:
    answer = json.loads(line)
    if "error" in answer:
        return {"id": answer["id"], "error": answer["error"]}
    row = {"id": answer["id"], "verdict": line.rstrip("\n")}
    for axis, said in answer["axes"].items():
        row |= {f"{axis}_{key}": said[key] for key in ("outcome", "label", "probability")}
    return row
