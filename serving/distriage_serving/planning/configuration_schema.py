"""JSON Schema of `.github/distriage.yml`, for editors. `distriage config schema` prints it for `schemas/`. Pure."""

from __future__ import annotations

from typing import Any

from distriage.taxonomy import Axis, Taxonomy
from distriage_serving.planning.configuration import RepositoryConfig


def config_schema(taxonomy: Taxonomy) -> dict[str, Any]:
    """The schema, with the axes, labels and families of a taxonomy as the only keys."""
    schema = RepositoryConfig.model_json_schema(by_alias=True, mode="validation")
    axes = schema["properties"]["axes"]
    value = axes.pop("additionalProperties")
    axes["properties"] = {
        axis.id: {**value, "title": axis.name, "description": axis.question, **_keys_of(axis)}
        for axis in taxonomy.axes.values()
    }
    axes["additionalProperties"] = False
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
