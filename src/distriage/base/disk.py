"""Files that cannot be written, as on a full disk: one line, and what was there before stays whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from distriage.base.errors import InputError

# What PyTorch, safetensors and tokenizers raise is no OSError.
_OTHERS = re.compile(r"No space left on device|os error (27|28|122)\b|PytorchStreamWriter|unexpected pos \d+ vs \d+")


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Around what writes a file, or into a folder.

    Raises:
        InputError: the system refuses; names the file, or `place` where the system does not say.
    """
    try:
        yield
    except BrokenPipeError:  # whoever reads our output went away
        raise
    except OSError as error:
        if error.errno is None:  # a library's, about something else
            raise
        file = Path(str(error.filename2 or error.filename or place))
        if file.parent == place.parent and file.name.startswith(".") and place.name in file.name:
            file = place  # what was to replace it
        what = "cannot be written: " if file.is_relative_to(place) or place.is_relative_to(file) else ""
        raise InputError(f"{file}: {what}{error.strerror}") from None
    except Exception as error:
        if not _OTHERS.search(str(error)):
            raise
        raise InputError(f"{place}: cannot be written: {str(error).splitlines()[0]}") from None


@contextmanager
def replaced(*files: Path) -> Iterator[list[Path]]:
    """Files to write beside those of a folder that they replace: all of them at the end, in this order, or none.

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
