"""Data of a given shape, and pydantic's complaints in one line for people: `key: message, found value`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from distriage.base.errors import DistriageError
from distriage.base.texts import decoded

MAX_SHOWN_CHARS = 60  # of a value that is refused
_WORDS = (
    ("Input should be", "expected"),
    ("Input should have", "expected"),
    ("String should match", "expected text that matches"),
    ("String should have", "expected text with"),
    ("Field required", "missing"),
    ("Value error, ", ""),
)


class Strict(BaseModel):
    """Frozen; refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


_Model = TypeVar("_Model", bound=BaseModel)


def read_model(file: Path, model: type[_Model], error: type[DistriageError], expected: str) -> _Model:
    """The content of a JSON file.

    Args:
        error: Raised if the file cannot be read or has other content.
        expected: Names the expected file in that error.
    """
    try:
        return model.model_validate_json(decoded(file.read_bytes()))
    except (OSError, UnicodeDecodeError):
        raise error(f"{file}: not found or not readable; expected {expected}") from None
    except ValidationError as fault:
        raise error(f"{file}: {first_fault(fault, model)}") from None


def first_fault(
    error: ValidationError, model: type[BaseModel], what: str = "content", *, show_value: bool = True
) -> str:
    """The first fault: its key and the expected value; for an unknown key, the known ones.

    Args:
        model: The expected shape of the data.
        what: Replaces the key if the whole is wrong.
        show_value: False if the value may be a secret or another person's text.
    """
    first = error.errors(include_url=False)[0]
    place = first["loc"]
    key = ".".join(map(str, place)) or what
    if first["type"] == "extra_forbidden":
        return f"unknown key {key}; {suggestion(str(place[-1]), known_keys(model, place[:-1]))}"
    found = f", found {first['input']!r:.{MAX_SHOWN_CHARS}}" if show_value and first["type"] != "missing" else ""
    return f"{key}: {plain(first['msg'])}{found}"


def plain(message: str) -> str:
    """A message of pydantic's in our words."""
    for theirs, ours in _WORDS:
        message = message.replace(theirs, ours)
    return message


def suggestion(wrong: str, known: Iterable[str], quote: str = "") -> str:
    """`did you mean x? known: x, y`."""
    known = list(known)
    near = difflib.get_close_matches(wrong, known, n=1)
    meant = f"did you mean {quote}{near[0]}{quote}? " if near else ""
    return f"{meant}known: {', '.join(known)}"


def known_keys(model: type[BaseModel], place: Iterable[int | str] = ()) -> list[str]:
    """The keys of a model, or of the model at a place inside it; empty if the place is unknown."""
    steps = iter(place)
    for step in steps:
        field = next((field for name, field in model.model_fields.items() if (field.alias or name) == step), None)
        inner, is_collection = _inner_model(field.annotation if field is not None else None)
        if inner is None:
            return []
        model = inner
        if is_collection:
            next(steps, None)  # the key or the number of a member
    return [field.alias or name for name, field in model.model_fields.items() if not field.exclude]


def _inner_model(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """The model inside an annotation, and whether it is a member of a table or a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    for argument in get_args(annotation):
        model, _ = _inner_model(argument)
        if model is not None:
            return model, get_origin(annotation) in {dict, list, tuple}
    return None, False
