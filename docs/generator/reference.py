"""Reference pages: command line, settings, configurations, HTTP, Python, all read from the code."""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from distriage.base.validation import Strict


def reference_pages() -> dict[str, str]:
    """Page of the site -> Markdown."""
    return {
        "reference/cli.md": _command_line(),
        "reference/training.md": _training_configuration(),
        "reference/http.md": _http(),
        "reference/verdict.md": _verdict(),
        "reference/python.md": _PYTHON,
    }


def _command_line() -> str:
    import typer
    from typer.cli import get_docs_for_click

    from distriage.commands.app import build_app

    command = typer.main.get_command(build_app())
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="distriage", title="Command line")
    return text.replace("$ distriage [OPTIONS]", "$ distriage [OPTIONS]").rstrip() + "\n"


def _training_configuration() -> str:
    from distriage_training.config import Config

    return (
        "# Configuration of a training run\n\nA TOML file for `distriage train`, `export` and `evaluate`. "
        "Paths are relative to the file.\n\n" + "\n".join(_models(Config, alias=False))
    )


def _verdict() -> str:
    from distriage.answer.verdict import FailedRecord, Verdict

    return (
        "# Verdict\n\nWhat `distriage classify --json` prints, and `/v1/classify` answers for each report. Schema: "
        "`schemas/verdict.schema.json`.\n\n"
        + "\n".join([*_models(Verdict, alias=False), *_models(FailedRecord, alias=False)])
    )


Model = type[BaseModel] | type[Strict]


def _fields(model: Model) -> Mapping[str, FieldInfo]:
    """Name -> field, as pydantic has it, of a model or a `Strict`."""
    if issubclass(model, BaseModel):
        return model.model_fields
    hints, found = get_type_hints(model, include_extras=True), {}
    for field in dataclasses.fields(model):
        given: dict[str, Any] = dict(field.metadata)
        for name in ("default", "default_factory"):
            if (value := getattr(field, name)) is not dataclasses.MISSING:
                given[name] = value
        found[field.name] = FieldInfo.from_annotated_attribute(hints[field.name], Field(**given))
    return found


def _models(model: Model, *, alias: bool, seen: set[type] | None = None) -> Iterator[str]:
    """A section for the model and for each model inside it."""
    seen = set() if seen is None else seen
    if model in seen:
        return
    seen.add(model)
    yield f"## {model.__name__}\n\n{_summary(model)}\n"
    yield _table(model, lambda name: f"`{(_fields(model)[name].alias if alias else None) or name}`")
    for field in _fields(model).values():
        for inner in _inner(field.annotation):
            yield from _models(inner, alias=alias, seen=seen)


def _inner(annotation: Any) -> Iterator[Model]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel | Strict):
        yield annotation
    for argument in get_args(annotation):
        yield from _inner(argument)


def _table(model: Model, shown: Any, headings: Iterable[str] = ("key", "type", "default", "meaning")) -> str:
    described = _attributes(model)
    rows = [list(headings), ["---"] * 4]
    for name, field in _fields(model).items():
        if not field.exclude:
            meaning = field.description or described.get(name, "")
            rows.append([shown(name), f"`{_type(field.annotation)}`", _default(field), meaning])
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows) + "\n"


def _attributes(model: Model) -> Mapping[str, str]:
    """Name -> meaning, from the `Attributes` of the docstring; one entry may name several."""
    _, _, section = (inspect.getdoc(model) or "").partition("\nAttributes:\n")
    entries = re.findall(r"^    (\w[\w, ]*): (.*(?:\n {8}.*)*)", section, re.MULTILINE)
    return {name: " ".join(meaning.split()) for names, meaning in entries for name in re.split(r",\s*", names)}


def _summary(model: Model) -> str:
    return (inspect.getdoc(model) or "").partition("\n\nAttributes:")[0]


_NAMES = {bool: "true or false", str: "text", int: "whole number", float: "number", Path: "path"}


def _type(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in {Union, types.UnionType}:
        return " or ".join(_type(item) for item in arguments if item is not type(None))
    if annotation in _NAMES:
        return _NAMES[annotation]
    if origin is dict:
        return f"table of {_type(arguments[1])}"
    if origin is None:
        return getattr(annotation, "__name__", str(annotation)).removesuffix("Config") if annotation else ""
    if getattr(origin, "__name__", "") == "Literal" or str(origin) == "typing.Literal":
        return " or ".join(map(str, arguments))
    if hasattr(annotation, "__metadata__"):
        return _type(arguments[0])
    return f"{getattr(origin, '__name__', origin)} of {', '.join(_type(item) for item in arguments if item is not ...)}"


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "" if field.default_factory is None else f"`{field.default_factory()!r}`"  # type: ignore[call-arg]
    if field.default is None:
        return "none"
    if isinstance(field.default, BaseModel) or (isinstance(field.default, dict) and field.default):
        changed = (
            field.default.model_dump(exclude_unset=True)
            if isinstance(field.default, BaseModel)
            else list(field.default)
        )
        shown = (
            ", ".join(f"{key}: {str(value).lower()}" for key, value in changed.items())
            if isinstance(changed, dict)
            else ", ".join(changed)
        )
        return f"`{shown}`" if changed else "its defaults"
    return (
        f"`{str(field.default).lower() if isinstance(field.default, bool) else field.default!s}`"
        if str(field.default)
        else "empty"
    )


def _http() -> str:
    from distriage_serving.app import create_app
    from distriage_serving.settings import Settings

    document = create_app(Settings()).openapi()
    parts = [
        "# HTTP",
        document["info"]["description"],
        "A running server has this page at `/docs` and the OpenAPI document at `/openapi.json`.",
    ]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts += [f"## {method.upper()} {path}", operation.get("description") or operation["summary"]]
            if "requestBody" in operation:
                parts.append(_body(document, operation["requestBody"]))
            rows = [("status", "when"), ("---", "---")]
            rows += [
                (status, _resolved(document, answer)["description"])
                for status, answer in operation["responses"].items()
            ]
            parts.append("\n".join(f"| {status} | {when} |" for status, when in rows))
    return "\n\n".join(parts) + "\n"


def _body(document: Mapping[str, Any], body: Mapping[str, Any]) -> str:
    """Tables of what the body may hold, one a schema."""
    schema = _resolved(document, next(iter(body["content"].values()))["schema"])
    tables = []
    for option in (_resolved(document, item) for item in schema.get("anyOf", schema.get("oneOf", [schema]))):
        if "properties" in option:
            rows = ["| key | type | meaning |", "| --- | --- | --- |"]
            rows += [
                f"| `{name}` | {_schema_type(document, value)} | {value.get('description', '')} |"
                for name, value in option["properties"].items()
            ]
            tables.append(f"Body, as `{option.get('title', 'object')}`:\n\n" + "\n".join(rows))
    return "\n\n".join(tables)


def _schema_type(document: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return _schema_type(document, _resolved(document, schema))
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_schema_type(document, item) for item in schema["anyOf"])
    inner = f" of {_schema_type(document, schema['items'])}" if "items" in schema else ""
    kind = schema.get("title") if schema.get("type", "object") == "object" else schema["type"]
    return f"{kind or 'object'}{inner}"


def _resolved(document: Mapping[str, Any], value: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in value:
        return value
    place: Any = document
    for step in value["$ref"].removeprefix("#/").split("/"):
        place = place[step]
    return place


_PYTHON = (
    """# Python

```python
import distriage

classifier = distriage.Classifier()
verdict = classifier.classify(distriage.IssueReport("NCCL timeout at step 3100", "..."), distriage.Mode.BALANCED)
symptom = verdict.axes["symptom"]
print(symptom.label if symptom.outcome is distriage.Outcome.APPLY else "not sure", verdict.checks)
```

A `Prediction` holds what the model says, a `Verdict` what Distriage says about it. Act on a label only where its
`outcome` is `apply`.

"""
    + "\n\n".join(
        f"## {module}\n\n::: {module}\n    options:\n      show_root_heading: false\n      members: [{members}]"
        for module, members in {
            "distriage": "classify",
            "distriage.base.types": "IssueReport, Mode, Outcome, Prediction, AxisScores, Decision",
            "distriage.classifier": "Classifier",
            "distriage.answer.policy": "decide",
            "distriage.answer.verdict": "Verdict, AxisVerdict, EvidenceLine, KnownProblem, MissingFact, SimilarIssue",
            "distriage.answer.findings": "Findings",
            "distriage.facts.situation": "Situation, Platform",
            "distriage.facts.environment": "EnvironmentFacts, find_facts",
            "distriage.answer.questions": "missing_facts",
            "distriage.answer.playbooks": "Playbook, playbook_of, checks_for",
            "distriage.facts.compatibility.known_bad": "Combination, known_bad",
            "distriage.model.taxonomy": "Taxonomy, Axis, Label, default_taxonomy, load_taxonomy",
            "distriage.answer.explain": "explain",
            "distriage.answer.similar": "Similar",
            "distriage.base.errors": "",
        }.items()
    ).replace("      members: []\n", "")
    + "\n"
)
