"""A repository's configuration, `.github/distriage.yml`: strict, errors with file and line, merged over the organization's. Pure, but for `load_config`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from distriage.errors import ConfigError
from distriage.taxonomy import Axis, Taxonomy
from distriage_serving import wildcard
from distriage_serving.yaml_lines import Document, YamlLineError, read_yaml
from distriage_serving.yaml_lines import Path as ValuePath

CONFIG_PATH = ".github/distriage.yml"
MAX_NAME_CHARS = 50  # GitHub's limits for a label
MAX_DESCRIPTION_CHARS = 100
DEFAULT_COMMENT = "Thank you for the report. A classifier read it as follows; the maintainers may see it otherwise.\n\n{{ axes }}\n\n{{ questions }}"
PLACEHOLDERS = ("axes", "labels", "model", "questions")
_PLACEHOLDER = re.compile(r"\{\{\s*([\w-]{1,40})\s*\}\}")

ModeName = Literal["best", "balanced", "precise"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, alias_generator=lambda name: name.replace("_", "-"))


def _switch(value: object) -> object:
    return {"enabled": value} if isinstance(value, bool) else value


def _label(value: object) -> object:
    return {"name": value} if isinstance(value, str) else _switch(value)


def _comment(value: object) -> object:
    return (DEFAULT_COMMENT if value else None) if isinstance(value, bool) else value


Colour = Annotated[str, Field(pattern=r"^#?[0-9A-Fa-f]{6}$"), AfterValidator(lambda text: text.lstrip("#").lower())]
LabelName = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS, pattern=r"^\S(?:[^\n\r]*\S)?$")]
Description = Annotated[str, Field(max_length=MAX_DESCRIPTION_CHARS, pattern=r"^[^\n\r]*$")]
Pattern = Annotated[str, Field(min_length=1, max_length=wildcard.MAX_PATTERN_CHARS)]


class LabelConfig(_Strict):
    """One label: a name, `false` for never, or a table."""

    enabled: bool = Field(default=True, description="false: never set this label.")
    name: LabelName | None = Field(default=None, description="The label's name in this repository; default: prefix + id.")
    color: Colour | None = Field(default=None, description="Six hexadecimal digits, for a label that is created.")
    description: Description | None = Field(default=None, description="For a label that is created; default: the taxonomy's definition.")
    mode: ModeName | None = Field(default=None, description="How sure this label must be; default: that of its axis.")


Label = Annotated[LabelConfig, BeforeValidator(_label, json_schema_input_type=bool | str | LabelConfig)]


class FamiliesConfig(_Strict):
    """Label the family where the label is not sure enough but its family is."""

    enabled: bool = True
    prefix: str | None = Field(default=None, description="Default: the axis's prefix.")
    labels: dict[str, Label] = {}


class AxisConfig(_Strict):
    """One axis: true, false, or a table."""

    enabled: bool = True
    mode: ModeName | None = Field(default=None, description="How sure a label of this axis must be; default: the general mode.")
    prefix: str | None = Field(default=None, description="Stands before the label's id; default: the axis's id, a colon and a space.")
    color: Colour | None = Field(default=None, description="Of labels that are created.")
    labels: dict[str, Label] = Field(default={}, description="Label id -> its name here, false, or a table.")
    families: Annotated[FamiliesConfig, BeforeValidator(_switch, json_schema_input_type=bool | FamiliesConfig)] = FamiliesConfig(enabled=False)


class IgnoreConfig(_Strict):
    """Issues to leave alone. Patterns know `*` and `?`, match the whole text and do not mind upper and lower case."""

    authors: list[Pattern] = []
    labels: list[Pattern] = Field(default=[], description="Issues that carry such a label.")
    titles: list[Pattern] = []


_AxisValue = Annotated[AxisConfig, BeforeValidator(_switch, json_schema_input_type=bool | AxisConfig)]


class RepositoryConfig(_Strict):
    """Distriage's configuration of a repository or an organization."""

    mode: ModeName = Field(
        default="balanced", description="How sure a label must be: best (always the likeliest), balanced (right in about 80 %), precise (90 %)."
    )
    axes: dict[str, _AxisValue] = Field(default={"stage": AxisConfig(), "symptom": AxisConfig()}, description="The axes to label.")
    needs_triage: Label = Field(default=LabelConfig(enabled=False), description="A label for issues on which no axis is sure.")
    comment: Annotated[str | None, Field(max_length=8000), BeforeValidator(_comment, json_schema_input_type=bool | str | None)] = Field(
        default=None, description="false: none; true or a Markdown template with {{ questions }}, {{ labels }}, {{ axes }}, {{ model }}."
    )
    ask_for_environment: bool = Field(default=False, description="Ask, in a comment, for environment facts that the report lacks.")
    create_labels: bool = Field(default=True, description="Create labels that the repository lacks; false: leave them out.")
    dry_run: bool = Field(default=False, description="Say what would be done; write nothing.")
    ignore: IgnoreConfig = IgnoreConfig()

    def axis(self, axis_id: str) -> AxisConfig | None:
        """Settings of an axis that is to be labelled; None of one that is not."""
        axis = self.axes.get(axis_id)
        return axis if axis is not None and axis.enabled else None


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a configuration; `str` gives `file:line: message`."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class RepositoryConfigError(ConfigError):
    """A repository configuration that is not valid.

    Attributes:
        problems: All that is wrong, in the order of the lines.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(map(str, self.problems)))


def parse_config(text: str, file: str, taxonomy: Taxonomy) -> RepositoryConfig:
    """Read and check a configuration.

    Args:
        file: Its name in messages.
        taxonomy: Knows the axes and labels that may be named.

    Raises:
        RepositoryConfigError: with all problems, each with its line.
    """
    try:
        document = read_yaml(text)
    except YamlLineError as error:
        raise RepositoryConfigError([Problem(file, error.line, error.message)]) from None
    value = {} if document.value is None else document.value
    try:
        config = RepositoryConfig.model_validate(value)
    except ValidationError as error:
        raise RepositoryConfigError(_sorted(_structure_problems(error, document, file))) from None
    problems = [Problem(file, document.line(path), message) for path, message in _meaning_problems(config, taxonomy)]
    if problems:
        raise RepositoryConfigError(_sorted(problems))
    return config


def load_config(path: Path, taxonomy: Taxonomy) -> RepositoryConfig:
    """Read a configuration file.

    Raises:
        RepositoryConfigError: see `parse_config`.
        ConfigError: the file cannot be read.
    """
    try:
        return parse_config(path.read_text(encoding="utf-8-sig"), str(path), taxonomy)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid UTF-8 at byte {error.start}") from None


def merge_configs(organization: RepositoryConfig, repository: RepositoryConfig, taxonomy: Taxonomy) -> RepositoryConfig:
    """The repository's settings over the organization's: tables are merged key by key, everything else is replaced.

    Raises:
        RepositoryConfigError: each is valid, but together they are not, e.g. a prefix of one and a name of the other are too long.
    """
    base, over = (config.model_dump(by_alias=True, exclude_unset=True) for config in (organization, repository))
    merged = RepositoryConfig.model_validate(_merge(base, over))
    problems = [Problem(f"{CONFIG_PATH} merged over the organization's", 1, message) for _, message in _meaning_problems(merged, taxonomy)]
    if problems:
        raise RepositoryConfigError(problems)
    return merged


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in over.items():
        known = result.get(key)
        result[key] = _merge(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return result


def label_name(axis: Axis, settings: AxisConfig, label_id: str) -> str:
    """Name in the repository of a label of an axis."""
    own = settings.labels.get(label_id)
    return (own.name if own is not None else None) or f"{_prefix(axis, settings)}{label_id}"


def family_name(axis: Axis, settings: AxisConfig, family: str) -> str:
    """Name in the repository of a family of an axis."""
    own = settings.families.labels.get(family)
    prefix = settings.families.prefix if settings.families.prefix is not None else _prefix(axis, settings)
    return (own.name if own is not None else None) or f"{prefix}{family}"


def axis_names(axis: Axis, settings: AxisConfig) -> Iterator[str]:
    """All names that stand for a verdict on an axis, of families too, whether or not they may be set."""
    yield from (label_name(axis, settings, label) for label in axis.label_ids)
    yield from (family_name(axis, settings, family) for family in axis.families)


def _prefix(axis: Axis, settings: AxisConfig) -> str:
    return settings.prefix if settings.prefix is not None else f"{axis.id}: "


def render_template(template: str, values: Mapping[str, str]) -> str:
    """Fill placeholders in one pass, so that nothing in a value is taken for a placeholder."""
    return _PLACEHOLDER.sub(lambda match: values[match.group(1)], template)


# ---------------------------------------------------------------- what is wrong


def _sorted(problems: Iterable[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: problem.line)


def _structure_problems(error: ValidationError, document: Document, file: str) -> Iterator[Problem]:
    for item in error.errors(include_url=False):
        loc = item["loc"]
        name = ".".join(map(str, loc))
        if item["type"] == "extra_forbidden":
            message = f"unknown key `{name}`; {_suggestion(str(loc[-1]), _known_keys(loc[:-1]))}"
        elif not loc:
            message = f"expected a table of settings, found {_kind(document.value)}"
        else:
            found = f", found {_kind(item['input'])}" if item["type"].endswith("_type") else f", found {item['input']!r:.60}"
            message = f"`{name}`: {item['msg'].replace('Input should be', 'expected').replace('String should', 'expected text that should')}{found}"
        yield Problem(file, document.line(loc), message)


def _kind(value: object) -> str:
    names: Mapping[type, str] = {dict: "a table", list: "a list", str: f"the text {value!r:.60}", bool: f"{value}".lower(), type(None): "nothing"}
    return names.get(type(value), type(value).__name__)


def _suggestion(wrong: str, known: Iterable[str]) -> str:
    known = list(known)
    near = difflib.get_close_matches(wrong, known, n=1)
    return (f"did you mean `{near[0]}`? " if near else "") + f"known: {', '.join(known)}"


def _known_keys(loc: tuple[str | int, ...]) -> list[str]:
    model: type[BaseModel] = RepositoryConfig
    steps = iter(loc)
    for step in steps:
        inner, is_table = _inner_model(next(field.annotation for field in model.model_fields.values() if field.alias == step))
        if inner is None:
            return []
        model = inner
        if is_table:
            next(steps, None)
    return [field.alias or "" for field in model.model_fields.values()]


def _inner_model(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """The model inside an annotation, and whether it is the value of a table with free keys."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    for argument in get_args(annotation):
        model, _ = _inner_model(argument)
        if model is not None:
            return model, get_origin(annotation) is dict
    return None, False


def _meaning_problems(config: RepositoryConfig, taxonomy: Taxonomy) -> Iterator[tuple[ValuePath, str]]:
    named = config.axes if "axes" in config.model_fields_set else {}  # a model of other axes need not have those of the default
    for axis_id, settings in named.items():
        path: ValuePath = ("axes", axis_id)
        if axis_id not in taxonomy.axes:
            yield path, f"unknown axis `{axis_id}`; {_suggestion(axis_id, taxonomy.axes)}"
        else:
            yield from _axis_problems(path, taxonomy.axes[axis_id], settings)
    for name in _PLACEHOLDER.findall(config.comment or ""):
        if name not in PLACEHOLDERS:
            yield ("comment",), f"unknown placeholder `{{{{ {name} }}}}`; {_suggestion(name, PLACEHOLDERS)}"


def _axis_problems(path: ValuePath, axis: Axis, settings: AxisConfig) -> Iterator[tuple[ValuePath, str]]:
    for label in settings.labels:
        if label not in axis.label_ids:
            yield (*path, "labels", label), f"unknown label `{label}` of axis {axis.id}; {_suggestion(label, axis.label_ids)}"
    for family in settings.families.labels:
        if family not in axis.families:
            known = _suggestion(family, axis.families) if axis.families else "this axis has none"
            yield (*path, "families", "labels", family), f"unknown family `{family}` of axis {axis.id}; {known}"
    if settings.families.enabled and not axis.families:
        yield (*path, "families"), f"axis {axis.id} has no families"
    for name in axis_names(axis, settings):
        if len(name) > MAX_NAME_CHARS or name != name.strip() or "\n" in name or "\r" in name:
            yield (
                (*path, "prefix"),
                f"the prefix makes the label name {name!r}; expected one line of at most {MAX_NAME_CHARS} characters without spaces around it",
            )
            return
