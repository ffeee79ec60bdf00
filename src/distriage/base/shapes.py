"""JSON's and TOML's values as dataclasses, for data that has the usual shape; pydantic reads the rest."""

from __future__ import annotations

import dataclasses
import math
import operator
import re
import types
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

_Kind = TypeVar("_Kind")
_LIMITS = {"ge": operator.ge, "gt": operator.gt, "le": operator.le, "lt": operator.lt}
_SAYS_NOTHING = {"description", "strict"}  # of a field: values have their very type anyway


class UnusualError(Exception):
    """Data that is wrong, or right in a way that only pydantic knows."""


def shaped(kind: type[_Kind], value: Any) -> _Kind:
    """Read a value.

    Args:
        kind: A dataclass of JSON values, enumerations, tuples, sets and such dataclasses.

    Raises:
        UnusualError: the value has another shape, or `kind` is of another sort.
    """
    found: _Kind = _shaped(kind, value)
    return found


@cache
def hints_of(kind: type) -> Mapping[str, Any]:
    """Field -> its type."""
    return get_type_hints(kind)


def _shaped(kind: Any, value: Any) -> Any:
    if kind is Any:
        return value
    if kind is float and type(value) is int:
        return float(value)
    if kind in (str, int, bool, float):
        if type(value) is not kind or (kind is float and not math.isfinite(value)):
            raise UnusualError
        return value
    if dataclasses.is_dataclass(kind):
        return _made(kind, value)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _any_of(inner, value)
    if origin is Literal:
        if type(value) is str and value in inner:
            return value
    elif origin in (dict, Mapping):
        if type(value) is dict:
            return {_shaped(inner[0], key): _shaped(inner[1], one) for key, one in value.items()}
    elif origin in (tuple, list, frozenset):
        if type(value) is list and (origin is not tuple or inner[1:] == (...,)):
            return origin(_shaped(inner[0], one) for one in value)
    elif isinstance(kind, type) and issubclass(kind, Enum) and value in {one.value for one in kind}:
        return kind(value)
    elif hasattr(kind, "_fields") and type(value) is dict and value.keys() == hints_of(kind).keys():  # a named tuple
        return kind(**{name: _shaped(one, value[name]) for name, one in hints_of(kind).items()})
    raise UnusualError


def _any_of(kinds: tuple[Any, ...], value: Any) -> Any:
    """A value of one of some types; of `None` and one other, which is all that our data holds."""
    if value is None and types.NoneType in kinds:
        return None
    others = [kind for kind in kinds if kind is not types.NoneType]
    if len(others) != 1:
        raise UnusualError
    return _shaped(others[0], value)


def _made(kind: Any, value: Any) -> Any:
    if type(value) is kind:
        return value
    if type(value) is not dict:
        raise UnusualError
    hints, given = hints_of(kind), {}
    for one in dataclasses.fields(kind):
        if one.name in value and one.init:
            given[one.name] = _shaped(hints[one.name], value[one.name])
            _check(one.metadata, given[one.name])
        elif one.init and one.default is one.default_factory is dataclasses.MISSING:
            raise UnusualError
    if value.keys() != given.keys():
        raise UnusualError
    try:
        return kind(**given)
    except ValueError:
        raise UnusualError from None


def _check(constraints: Mapping[str, Any], value: Any) -> None:
    for name, limit in constraints.items():
        if name in _SAYS_NOTHING or value is None:
            continue
        if name == "min_length" and len(value) >= limit:
            continue
        if name == "pattern" and "\n" not in value and re.search(limit, value):
            continue
        if name not in _LIMITS or not _LIMITS[name](value, limit):
            raise UnusualError
