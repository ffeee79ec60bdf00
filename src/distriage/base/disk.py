"""Files that cannot be written, as on a full disk: one line, and the earlier file stays whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from distriage.base.errors import InputError
from distriage.base.texts import regex

# Errors of PyTorch, safetensors and tokenizers, which are not OSErrors.
_OTHERS = regex(r"No space left on device|os error (27|28|122)\b|PytorchStreamWriter|unexpected pos \d+ vs \d+")


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Wraps the writing of a file, or into a folder.

    Raises:
        InputError: the system refuses; names the file, or `place` if the system does not.
    """
    try:
        yield
    except BrokenPipeError:  # the reader of our output went away
        raise
    except OSError as error:
        if error.errno is None:  # a library's, about something else
            raise
        file = Path(str(error.filename2 or error.filename or place))
        if file.parent == place.parent and file.name.startswith(".") and place.name in file.name:
            file = place  # the file to replace
        what = "cannot be written: " if file.is_relative_to(place) or place.is_relative_to(file) else ""
        raise InputError(f"{file}: {what}{error.strerror}") from None
    except Exception as error:
        if not _OTHERS.search(str(error)):
            raise
        raise InputError(f"{place}: cannot be written: {str(error).splitlines()[0]}") from None


@contextmanager
def replaced(*files: Path) -> Iterator[list[Path]]:
    """New versions of some files of a folder: at the end all replace the old ones, in this order, or none does.

    Raises:
        InputError: they cannot be written.
    """
    folder = files[0].parent
    parts = [_part(file) for file in files]
    with writing(folder if files[1:] else files[0]):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            yield parts
            for part, file in zip(parts, files, strict=True):
                part.replace(file)
        except BaseException:
            for part in parts:
                with suppress(OSError):
                    part.unlink(missing_ok=True)
            raise


def check_writable(file: Path) -> None:
    """See that a file can be replaced, before the work that it takes.

    Raises:
        InputError: it cannot.
    """
    if file.is_dir():
        raise InputError(f"{file}: a folder; expected a file")
    with writing(file):
        _part(file).touch()
        _part(file).unlink()


def _part(file: Path) -> Path:
    return file.with_name(f".new-{file.name}")
