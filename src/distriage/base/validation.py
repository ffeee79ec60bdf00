"""Data of a given shape, and pydantic's complaints in one line for people: `key: message, found value`.

Imports pydantic only where there is work for it: its import takes as long as half of an answer.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast, dataclass_transform, get_args, get_origin

from distriage.base.errors import DistriageError
from distriage.base.shapes import UnusualError, hints_of, shaped
from distriage.base.texts import decoded

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

MAX_SHOWN_CHARS = 60  # of a value that is refused
_WORDS = (
    ("Input should be", "expected"),
    ("Input should have", "expected"),
    ("String should match", "expected text that matches"),
    ("String should have", "expected text with"),
    ("Field required", "missing"),
    ("Value error, ", ""),
)


def field(*, default: Any = dataclasses.MISSING, default_factory: Any = dataclasses.MISSING, **constraints: Any) -> Any:
    """A field of a `Strict` with more than a type.

    Args:
        constraints: Those of pydantic's `Field`, such as `ge`, `pattern` or `description`.
    """
    return dataclasses.field(default=default, default_factory=default_factory, metadata=constraints)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field, dataclasses.field))
class Strict:
    """A frozen dataclass with the methods of pydantic's models; refuses unknown keys.

    Data that is read is checked; values that our code makes are not.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)

    @classmethod
    def model_validate(cls, value: object, *, from_attributes: bool | None = None) -> Self:
        """Read JSON's or TOML's values; pydantic's `ValidationError`: they have another shape.

        Args:
            from_attributes: Read an object's attributes, too.
        """
        found: Self = adapter(cls).validate_python(value, from_attributes=from_attributes)
        return found

    @classmethod
    def model_validate_json(cls, text: str | bytes) -> Self:
        """Read JSON; raises pydantic's `ValidationError` for other text or another shape."""
        found: Self = adapter(cls).validate_json(text)
        return found

    @classmethod
    def read(cls, value: object) -> Self:
        """As `model_validate`, without pydantic where the value has the usual shape: to start sooner."""
        try:
            return shaped(cls, value)
        except UnusualError:
            return cls.model_validate(value)

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """As a table; `options` are those of pydantic's method."""
        table: dict[str, Any] = adapter(type(self)).dump_python(self, **options)
        return table

    def model_dump_json(self, **options: Any) -> str:
        """As JSON; `options` are those of pydantic's method."""
        text: bytes = adapter(type(self)).dump_json(self, **options)
        return text.decode()

    def model_copy(self, *, update: Mapping[str, Any]) -> Self:
        """The same with other values in some fields."""
        copy: Self = dataclasses.replace(cast(Any, self), **update)
        return copy


_Model = TypeVar("_Model")


def adapter(kind: Any) -> Any:
    """Pydantic's reader and writer of a type, a `TypeAdapter`."""
    return _adapter(kind)


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


_Entry = TypeVar("_Entry", bound=Strict)


def read_entry(model: type[_Entry], value: object, place: str, error: type[DistriageError] = DistriageError) -> _Entry:
    """An entry of a table that people write.

    Args:
        place: File and entry, for messages.

    Raises:
        error: It has another shape.
    """
    if not isinstance(value, Mapping):
        raise error(f"{place}: expected a table, found {type(value).__name__}")
    try:
        return model.read(value)
    except ValueError as raised:  # pydantic's, whose import is slow
        fault = cast("ValidationError", raised)
        show_value = fault.errors()[0]["type"] != "value_error"  # a value_error's message names the fault itself
        raise error(f"{place}: {first_fault(fault, model, model.__name__, show_value=show_value)}") from None


def read_model(file: Path, model: type[_Model], error: type[DistriageError], expected: str) -> _Model:
    """The content of a JSON file.

    Args:
        error: Raised if the file cannot be read or has other content.
        expected: Names the expected file in that error.
    """
    try:
        text = decoded(file.read_bytes())
        return shaped(model, json.loads(text))
    except (OSError, UnicodeDecodeError):
        raise error(f"{file}: not found or not readable; expected {expected}") from None
    except (UnusualError, ValueError, RecursionError):  # either no fault after all, or one that pydantic names
        return _validated(file, text, model, error)


def _validated(file: Path, text: str, model: type[_Model], error: type[DistriageError]) -> _Model:
    from pydantic import ValidationError

    try:
        found: _Model = adapter(model).validate_json(text)
    except ValidationError as fault:
        raise error(f"{file}: {first_fault(fault, model)}") from None
    return found


def first_fault(error: ValidationError, model: type, what: str = "content", *, show_value: bool = True) -> str:
    """The first fault: its key and the expected value; for an unknown key, the known ones.

    Args:
        model: The expected shape of the data.
        what: Replaces the key if the whole is wrong.
        show_value: False if the value may be a secret or another person's text.
    """
    first = error.errors(include_url=False)[0]
    place = first["loc"]
    key = ".".join(map(str, place)) or what
    if first["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
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


def known_keys(model: type, place: Iterable[int | str] = ()) -> list[str]:
    """The keys of a model, or of the model at a place inside it; empty if the place is unknown."""
    steps = iter(place)
    for step in steps:
        inner, is_collection = _inner_model(_fields(model).get(step, None))
        if inner is None:
            return []
        model = inner
        if is_collection:
            next(steps, None)  # the key or the number of a member
    return [str(key) for key in _fields(model)]


def _fields(model: type) -> dict[int | str, Any]:
    """Key -> its type, for readable keys."""
    if dataclasses.is_dataclass(model):
        hints = hints_of(model)
        return {one.name: hints[one.name] for one in dataclasses.fields(model) if one.init}
    fields = cast("type[BaseModel]", model).model_fields.items()
    return {field.alias or name: field.annotation for name, field in fields if not field.exclude}


def _inner_model(annotation: Any) -> tuple[type | None, bool]:
    """The model inside an annotation, and whether it is a member of a table or a list."""
    if isinstance(annotation, type) and (dataclasses.is_dataclass(annotation) or hasattr(annotation, "model_fields")):
        return annotation, False
    for argument in get_args(annotation):
        model, _ = _inner_model(argument)
        if model is not None:
            return model, get_origin(annotation) in {dict, list, tuple, Mapping}
    return None, False
