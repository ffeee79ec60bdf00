"""A repository's configuration, `.github/distriage.yml`, as written. Pure. See docs/configuration.md.

`names.Names` resolves it against a taxonomy.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from distriage.base.types import Mode
from distriage.model.taxonomy import Axis, Taxonomy
from distriage.signs.kinds import kinds

CONFIG_PATH: Final = ".github/distriage.yml"
MISNAMED: Final = ".github/distriage.yaml"  # a name that is not read
MAX_NAME_CHARS: Final = 50  # GitHub's limits for a label
MAX_DESCRIPTION_CHARS: Final = 100
MAX_COMMENT_CHARS: Final = 8000
MAX_PATTERN_CHARS: Final = 200
LEAST_THRESHOLD: Final = 0.5  # a label that is likelier wrong than right is never set
OF_AXES: Final = " A classifier has read it; the maintainers may see it otherwise."  # only above labels
DEFAULT_COMMENT: Final = (
    f"Thank you for the report.{OF_AXES}\n\n" + "{{ axes }}\n\n{{ known-problems }}\n\n{{ questions }}"
)
PLACEHOLDERS: Final = ("axes", "checks", "duplicates", "known-problems", "labels", "model", "questions")
PLACEHOLDER: Final = re.compile(r"(?<!\$)\{\{\s{0,30}([\w-]{1,40})\s{0,30}\}\}")  # `${{ }}` is GitHub's, as text
_NUMBER: Final = re.compile(r"[01]?\.?\d{1,6}", re.ASCII)
_HIDDEN: Final = frozenset({"Cc", "Cf", "Zl", "Zp"})  # Unicode's categories of invisible or reordering characters
_JOINERS: Final = "\u200c\u200d"  # emoji and several scripts need them

ModeWord = Annotated[Mode, Field(strict=False)]  # YAML has words, not members of an enumeration


class _Keys(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, alias_generator=lambda name: name.replace("_", "-")
    )


def _suggestions(value: object) -> object:
    return ("perhaps" if value else "off") if isinstance(value, bool) else value


def _own_labels(value: object) -> object:
    return (None if value else []) if isinstance(value, bool) else value


def _switch(value: object) -> object:
    return {"enabled": value} if isinstance(value, bool) else value


def _label(value: object) -> object:
    return {"name": value} if isinstance(value, str) else _switch(value)


def _comment(value: object) -> object:
    if isinstance(value, str) and not any(map(str.isalpha, value)):
        raise PydanticCustomError("comment", "expected true, false or a Markdown template")
    return (DEFAULT_COMMENT if value else None) if isinstance(value, bool) else value


def _threshold(value: object) -> float | None:
    """The number in a text, since this YAML has no numbers."""
    if value is None or (isinstance(value, float) and LEAST_THRESHOLD <= value <= 1):
        return value
    if isinstance(value, str) and _NUMBER.fullmatch(value) and LEAST_THRESHOLD <= float(value) <= 1:
        return float(value)
    raise PydanticCustomError("threshold", f"expected a number from {LEAST_THRESHOLD} to 1, such as 0.8")


def _visible(text: str) -> str:
    """A text that GitHub shows unchanged."""
    for char in text:
        if unicodedata.category(char) in _HIDDEN and char not in _JOINERS:
            name = unicodedata.name(char, "a control character").lower()
            raise PydanticCustomError(
                "hidden", f"expected text without control or invisible characters; U+{ord(char):04X} is one, {name}"
            )
    return text


Colour = Annotated[str, Field(pattern=r"^#?[0-9A-Fa-f]{6}$"), AfterValidator(lambda text: text.lstrip("#").lower())]
LabelName = Annotated[
    str,
    Field(min_length=1, max_length=MAX_NAME_CHARS, pattern=r"^\S(?:[^\n\r]*\S)?$"),
    AfterValidator(_visible),
]
Description = Annotated[str, Field(max_length=MAX_DESCRIPTION_CHARS, pattern=r"^[^\n\r]*$"), AfterValidator(_visible)]
Prefix = Annotated[str, AfterValidator(_visible)]
Pattern = Annotated[str, Field(min_length=1, max_length=MAX_PATTERN_CHARS)]
_BARE: Final = AfterValidator(lambda text: text.removeprefix("@"))
Login = Annotated[Pattern, _BARE]
Owner = Annotated[Pattern, Field(pattern=r"^@?[A-Za-z0-9][A-Za-z0-9_-]*(/[A-Za-z0-9_.-]+)?$"), _BARE]
Threshold = Annotated[
    float | None,
    BeforeValidator(_threshold, json_schema_input_type=Annotated[float, Field(ge=LEAST_THRESHOLD, le=1)]),
]


class LabelConfig(_Keys):
    """One label: a name, `false` for never, or a table."""

    enabled: bool = Field(default=True, description="false: never set this label.")
    name: LabelName | None = Field(
        default=None, description="The label's name in this repository; default: the prefix and the label's id."
    )
    color: Colour | None = Field(
        default=None, description="Six hexadecimal digits, used when the label is created; default: the axis's color."
    )
    description: Description | None = Field(
        default=None, description="Used when the label is created; default: the taxonomy's definition."
    )
    type: LabelName | None = Field(
        default=None,
        description="The issue type of GitHub to set with it where the issue has none; with `enabled: false` alone.",
    )
    option: LabelName | None = Field(
        default=None, description="The option of the axis's issue field that stands for it; default: the label's id."
    )
    mode: ModeWord | None = Field(
        default=None, description="How sure the model must be of this label; default: as for its axis."
    )
    threshold: Threshold = Field(
        default=None, description="Set this label from this probability on, 0.5 to 1; in place of mode."
    )


Label = Annotated[LabelConfig, BeforeValidator(_label, json_schema_input_type=bool | str | LabelConfig)]


class FamiliesConfig(_Keys):
    """Set the label of a family when no single label is sure enough but the family is."""

    enabled: bool = Field(default=True, description="false: set no label of a family.")
    prefix: Prefix | None = Field(
        default=None, description="Text before the family's id in a label's name; default: the axis's prefix."
    )
    labels: dict[str, Label] = Field(default={}, description="Family id -> its name here, false, or a table.")


class AxisConfig(_Keys):
    """One axis: true, false, or a table."""

    enabled: bool = Field(default=True, description="false: set no label of this axis.")
    mode: ModeWord | None = Field(
        default=None, description="How sure the model must be of a label of this axis; default: the general mode."
    )
    threshold: Threshold = Field(
        default=None, description="Set a label of this axis from this probability on, 0.5 to 1; in place of mode."
    )
    prefix: Prefix | None = Field(
        default=None, description="Text before the label's id in its name; default: the axis's id, a colon and a space."
    )
    color: Colour | None = Field(
        default=None, description="Color of labels of this axis that are created; default: one for each axis."
    )
    field: LabelName | None = Field(
        default=None,
        description="A single-select issue field of the organization to fill in beside the labels where it is empty.",
    )
    only_listed: bool | None = Field(
        default=None, description="true: never set a label of this axis that `labels` does not name; default: as above."
    )
    labels: dict[str, Label] = Field(default={}, description="Label id -> its name here, false, or a table.")
    families: Annotated[FamiliesConfig, BeforeValidator(_switch, json_schema_input_type=bool | FamiliesConfig)] = Field(
        default=FamiliesConfig(enabled=False),
        description="Set the label of a family when no single label is sure enough but the family is.",
    )


class IgnoreConfig(_Keys):
    """Issues to leave alone. In a pattern, `*` is any text and `?` one character; upper and lower case are alike."""

    authors: list[Login] = Field(default=[], description="Issues by these authors.")
    labels: list[Pattern] = Field(default=[], description="Issues that carry such a label.")
    titles: list[Pattern] = Field(default=[], description="Issues with such a title.")


_AxisValue = Annotated[AxisConfig, BeforeValidator(_switch, json_schema_input_type=bool | AxisConfig)]


class RepositoryConfig(_Keys):
    """Distriage's configuration of a repository or an organization."""

    mode: ModeWord = Field(
        default=Mode.BALANCED,
        description="How sure the model must be: best (always the likeliest label), balanced (right in about 80 % of "
        "the cases), precise (90 %).",
    )
    axes: dict[str, _AxisValue] = Field(
        default={"stage": AxisConfig(), "symptom": AxisConfig()}, description="The axes to label."
    )
    only_listed: bool = Field(
        default=False, description="true: never set a label that `labels` of its axis does not name."
    )
    needs_triage: Label = Field(
        default=LabelConfig(enabled=False),
        description="A label for issues on which no axis is sure; it goes when a person has decided or a label is set.",
    )
    signs: dict[str, Label] = Field(
        default={},
        description="Labels for signs such as `regression` or `old-version`: true, a name, false or a table for each.",
    )
    own_labels: Annotated[
        list[LabelName] | None, BeforeValidator(_own_labels, json_schema_input_type=bool | list[LabelName])
    ] = Field(default=None, description="Labels that `distriage learn` learned: false: set none; a list: only these.")
    owners: dict[Pattern, Annotated[list[Owner], Field(min_length=1)]] = Field(
        default={},
        description="Whom to suggest as assignee: a label, sign, framework or GPU -> logins or teams, by turns of a "
        "week. Nobody is assigned.",
    )
    comment: Annotated[
        str | None,
        Field(max_length=MAX_COMMENT_CHARS),
        BeforeValidator(_comment, json_schema_input_type=bool | str | None),
    ] = Field(
        default=None,
        description="true: write one comment; text: a Markdown template for it with {{ questions }}, {{ labels }}, "
        "{{ axes }}, {{ checks }}, {{ duplicates }}, {{ known-problems }} and {{ model }}. None is written where "
        "nothing was found to put in.",
    )
    suggestions: Annotated[
        Literal["off", "perhaps", "all"],
        BeforeValidator(_suggestions, json_schema_input_type=bool | Literal["off", "perhaps", "all"]),
    ] = Field(
        default="off",
        description="perhaps: labels that the model is not sure of become suggestions that a person approves or "
        "dismisses on GitHub; all: sure ones too, and nothing is set; off: none.",
    )
    ask_for_environment: bool = Field(
        default=False, description="Ask, in the comment, for versions and hardware that the report does not name."
    )
    name_duplicates: bool = Field(
        default=False,
        description="Name, in the comment, the past issue that is likely the same, where past issues are known.",
    )
    create_labels: bool = Field(
        default=True, description="Create labels that the repository lacks; false: do not set them."
    )
    dry_run: bool = Field(default=False, description="Say what would be done; write nothing.")
    ignore: IgnoreConfig = Field(default=IgnoreConfig(), description="Issues to leave alone.")

    def axis(self, axis_id: str) -> AxisConfig | None:
        """Settings of a labelled axis, else None."""
        axis = self.axes.get(axis_id)
        return axis if axis is not None and axis.enabled else None


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """One file's values over another's: tables are merged key by key, everything else is replaced."""
    result = dict(base)
    if not over.keys().isdisjoint(_ALTERNATIVES):
        result = {key: value for key, value in result.items() if key not in _ALTERNATIVES}
    for key, value in over.items():
        known = result.get(key)
        result[key] = merge(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return result


_ALTERNATIVES: Final = frozenset({"mode", "threshold"})  # each in place of the other


def render_template(template: str, values: Mapping[str, str]) -> str:
    """Fill placeholders in one pass, so that nothing in a value is taken for a placeholder."""
    return PLACEHOLDER.sub(lambda match: values[match.group(1)], template)


def config_schema(taxonomy: Taxonomy) -> dict[str, Any]:
    """JSON Schema of the file, for editors, with the axes, labels and families of a taxonomy as the only keys."""
    schema = RepositoryConfig.model_json_schema(by_alias=True, mode="validation")
    axes = schema["properties"]["axes"]
    value = axes.pop("additionalProperties")
    axes["properties"] = {
        axis.id: {**value, "title": axis.name, "description": axis.question, **_keys_of(axis)}
        for axis in taxonomy.axes.values()
    }
    axes["additionalProperties"] = False
    schema["properties"]["signs"]["propertyNames"] = {"enum": list(kinds())}
    schema["$comment"] = f"taxonomy {taxonomy.name} {taxonomy.version}"
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Distriage repository configuration",
    }


def _keys_of(axis: Axis) -> dict[str, Any]:
    # They hold beside the general form of an axis, and say nothing about `true` and `false`.
    return {
        "properties": {
            "labels": {"propertyNames": {"enum": list(axis.label_ids)}},
            "families": {"properties": {"labels": {"propertyNames": {"enum": list(axis.families)}}}},
        }
    }
