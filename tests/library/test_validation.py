"""What pydantic finds wrong, said in our words."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from distriage.base.validation import first_fault, known_keys, suggestion


class Label(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    shown: bool = True


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    count: int = Field(default=1, ge=1, alias="how-many")
    secret: str = Field(default="", exclude=True)
    label: Label | None = None
    labels: dict[str, Label] = {}
    order: list[Label] = []


def fault(data: dict[str, Any], **options: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(data)
    return first_fault(caught.value, Settings, **options)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"how-many": 0}, "how-many: expected greater than or equal to 1, found 0"),
        ({"how_mny": 2}, "unknown key how_mny; did you mean how-many? known: how-many, label, labels, order"),
        ({"zebra": 2}, "unknown key zebra; known: how-many, label, labels, order"),
        ({"label": {}}, "label.name: missing"),
        ({"label": {"name": "x", "shwn": 1}}, "unknown key label.shwn; did you mean shown? known: name, shown"),
        ({"labels": {"a": {"name": "x", "zebra": 1}}}, "unknown key labels.a.zebra; known: name, shown"),
        ({"order": [{"name": "x", "zebra": 1}]}, "unknown key order.0.zebra; known: name, shown"),
    ],
)
def test_a_fault_names_key_value_and_what_was_expected(data: dict[str, Any], message: str) -> None:
    assert fault(data) == message


def test_a_value_that_may_be_a_secret_is_not_shown() -> None:
    assert "hunter2" in fault({"how-many": "hunter2"})
    assert "hunter2" not in fault({"how-many": "hunter2"}, show_value=False)


def test_of_a_place_that_is_none_no_key_is_known() -> None:
    assert known_keys(Settings, ("how-many", "x")) == [] == known_keys(Settings, ("zebra",))
    assert suggestion("shwn", ["name", "shown"], '"') == 'did you mean "shown"? known: name, shown'
