"""Faults of a configuration in words: file, line, key, found value, expected value. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from distriage.base.errors import ConfigError
from distriage.base.validation import known_keys, suggestion
from distriage.model.taxonomy import Axis, Taxonomy
from distriage.signs.kinds import kinds
from distriage_serving.configuration.lines import Path as ValuePath
from distriage_serving.configuration.model import (
    MAX_NAME_CHARS,
    PLACEHOLDERS,
    AxisConfig,
    RepositoryConfig,
)
from distriage_serving.configuration.names import resolve

MAX_SHOWN: Final = 10
_BRACES: Final = re.compile(r"(?<!\$)\{\{([^{}]{0,100})\}\}")  # all that `PLACEHOLDER` finds, and more
_UNENDED: Final = re.compile(r"(?<!\$)\{\{\s{0,30}[\w-]{1,40}")  # once these are taken out
_EXPECTED: Final[Mapping[str, str]] = {
    "bool_type": "expected true or false",
    "string_type": "expected text",
    "list_type": "expected a list, such as [one, two]",
    "dict_type": "expected a table: keys below, indented",
    "string_too_short": "expected some text",
    "too_short": "expected one or more in it",
}
_PATTERNS: Final[Mapping[str, str]] = {
    "color": "expected six hexadecimal digits, such as d93f0b",
    "name": "expected one line without spaces around it",
    "description": "expected one line",
    "owners": "expected a login, such as octocat, or a team, such as acme/runtime",
}
_TABLES: Final[Mapping[str, str]] = {
    "axes": "expected true, false or a table of the axis's settings",
    "families": "expected true, false or a table with labels and prefix",
    "labels": "expected a name, true, false or a table",
    "needs-triage": "expected a name, true, false or a table",
    "signs": "expected a name, true, false or a table",
    "owners": "expected a table of labels or frameworks, each with a list of logins",
    "ignore": "expected a table with authors, labels or titles",
}


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One fault of a configuration; `str` gives `file:line: message`."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class RepositoryConfigError(ConfigError):
    """A repository configuration that is not valid. Its text names the first `MAX_SHOWN` problems.

    Attributes:
        problems: All faults, in the order of the lines.
    """

    def __init__(self, problems: Iterable[ConfigProblem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        shown = [str(problem) for problem in self.problems[:MAX_SHOWN]]
        more = len(self.problems) - len(shown)
        super().__init__("; ".join([*shown, *([f"and {more:,} more"] if more else [])]))


def structure_problems(error: ValidationError, value: object) -> Iterator[tuple[ValuePath, str]]:
    """The problems of a configuration's form."""
    for item in error.errors(include_url=False):
        loc = item["loc"]
        name = ".".join(map(str, loc))
        if item["type"] == "extra_forbidden":
            message = f"unknown key `{name}`; {suggestion(str(loc[-1]), known_keys(RepositoryConfig, loc[:-1]), '`')}"
        elif not loc:
            message = f"expected a table of settings, found {_kind(value)}"
        else:
            found = item["input"] if not isinstance(item["input"], BaseModel) else None
            message = (
                f"`{name}`: {_expected(item['type'], loc, item.get('ctx', {}), item['msg'])}, found {_kind(found)}"
            )
        yield loc, message


def _expected(kind: str, loc: ValuePath, context: Mapping[str, Any], message: str) -> str:
    match kind:
        case "enum" | "literal_error":
            return f"expected {str(context['expected']).replace(chr(39), '')}"
        case "string_too_long":
            return f"expected at most {context['max_length']:,} characters"
        case "string_pattern_mismatch":
            return _PATTERNS.get(str(loc[-1]), _PATTERNS.get(str(loc[0]), "expected other text"))
        case "model_type" | "model_attributes_type":
            place = next((str(key) for key in reversed(loc) if str(key) in _TABLES), "")
            return _TABLES.get(place, "expected a table of settings")
    return _EXPECTED.get(kind, message)


def _kind(value: object) -> str:
    match value:
        case dict():
            return "a table"
        case list():
            return "a list" if value else "an empty list"
        case bool():
            return str(value).lower()
        case None:
            return "nothing"
    return f"{value!r:.60}"


# ---------------------------------------------------------------- meaning


def meaning_problems(value: object, taxonomy: Taxonomy) -> Iterator[tuple[ValuePath, str]]:
    """Unknown axes, labels or placeholders, and contradictions.

    Args:
        value: The document, of any form.
    """
    config = _table(value)
    yield from _same_name(config, taxonomy)
    for sign in _table(config.get("signs")):
        if sign not in kinds():
            yield ("signs", sign), f"unknown sign `{sign}`; {suggestion(sign, kinds(), '`')}"
    for axis_id, settings in _table(config.get("axes")).items():
        path: ValuePath = ("axes", axis_id)
        if axis_id not in taxonomy.axes:
            yield path, f"unknown axis `{axis_id}`; {suggestion(axis_id, taxonomy.axes, '`')}"
            continue
        yield from _axis_problems(path, taxonomy.axes[axis_id], _table(settings))
        yield from _name_problems(path, axis_id, settings, taxonomy)
    comment = config.get("comment")
    for name in map(str.strip, _BRACES.findall(comment if isinstance(comment, str) else "")):
        if name not in PLACEHOLDERS:
            yield ("comment",), f"unknown placeholder `{{{{ {name} }}}}`; {suggestion(name, PLACEHOLDERS, '`')}"
    for unended in _UNENDED.findall(_BRACES.sub("", comment) if isinstance(comment, str) else ""):
        yield ("comment",), f"`comment`: `{unended}` has no end; expected a placeholder such as `{{{{ axes }}}}`"


def _same_name(config: Mapping[str, Any], taxonomy: Taxonomy) -> Iterator[tuple[ValuePath, str]]:
    """A conflict of `needs-triage` or a sign with a label of an axis: setting one would take off the other."""
    try:
        names = resolve(RepositoryConfig.model_validate(config), taxonomy)
    except ValidationError:  # reported by itself
        return
    named: dict[ValuePath, str] = {("signs", sign): label.name for sign, label in names.signs.items()}
    if names.needs_triage is not None:
        named["needs-triage",] = names.needs_triage.name
    for path, name in named.items():
        for axis, label in sorted(names.meanings(name), key=str)[:1]:
            meant = f"{label or 'a family'} of axis {axis}"
            yield path, f"`{name}` is also the name of {meant}; expected another name"


def _axis_problems(path: ValuePath, axis: Axis, settings: Mapping[str, Any]) -> Iterator[tuple[ValuePath, str]]:
    labels = _table(settings.get("labels"))
    for label in labels:
        if label not in axis.label_ids:
            yield (
                (*path, "labels", label),
                f"unknown label `{label}` of axis {axis.id}; {suggestion(label, axis.label_ids, '`')}",
            )
    families = settings.get("families")
    for family in _table(_table(families).get("labels")):
        if family not in axis.families:
            known = suggestion(family, axis.families, "`") if axis.families else "this axis has none"
            yield (*path, "families", "labels", family), f"unknown family `{family}` of axis {axis.id}; {known}"
    if not axis.families and (
        families is True or (isinstance(families, dict) and families.get("enabled", True) is True)
    ):
        yield (*path, "families"), f"axis {axis.id} has no families"
    for place, table in ((path, settings), *(((*path, "labels", label), own) for label, own in labels.items())):
        if {"mode", "threshold"} <= _table(table).keys():
            found = f"{table['mode']} and {table['threshold']}"
            message = f"`mode` and `threshold` exclude each other; expected one of them, found {found:.60}"
            yield (*place, "threshold"), f"`{'.'.join(map(str, place))}`: {message}"


def _name_problems(path: ValuePath, axis_id: str, value: object, taxonomy: Taxonomy) -> Iterator[tuple[ValuePath, str]]:
    try:
        config = RepositoryConfig.model_validate({"axes": {axis_id: value}})
    except ValidationError:  # reported by itself
        return
    settings: AxisConfig = config.axes[axis_id]
    names = resolve(config, taxonomy).axes[axis_id]
    for name in (item.name for item in (*names.labels.values(), *names.families.values())):
        if len(name) > MAX_NAME_CHARS or name != name.strip() or "\n" in name or "\r" in name:
            key = "prefix" if settings.prefix is not None else "families"
            yield (
                (*path, key),
                f"the prefix makes the label name {name!r:.80}; expected one line of at most {MAX_NAME_CHARS} "
                "characters without spaces around it",
            )
            return


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
