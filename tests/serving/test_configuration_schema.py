"""The schema of the configuration, the commands around it, and its page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from distriage_serving.configuration.lines import read_yaml
from distriage_serving.configuration.model import (
    AxisConfig,
    FamiliesConfig,
    IgnoreConfig,
    LabelConfig,
    RepositoryConfig,
    config_schema,
)

from support.checkout import REPOSITORY
from support.command_line import Command, assert_one_line
from support.configurations import COMPLETE, TAXONOMY, parse, problems

SCHEMA_FILE = REPOSITORY / "schemas" / "distriage-config.schema.json"


def test_the_published_schema_is_the_generated_one() -> None:
    assert json.loads(SCHEMA_FILE.read_text(encoding="utf-8")) == config_schema(TAXONOMY), (
        "distriage config schema > schemas/distriage-config.schema.json"
    )


def test_the_schema_is_valid_and_accepts_what_the_parser_accepts() -> None:
    schema = config_schema(TAXONOMY)
    jsonschema.Draft202012Validator.check_schema(schema)
    for text in (
        COMPLETE,
        "axes: {symptom: {families: true}}",
        "{}",
        "comment: true",
        "needs-triage: {name: x, color: 'abcdef'}",
        "only-listed: true",
        "axes: {symptom: {only-listed: false}}",
    ):
        jsonschema.validate(read_yaml(text).value, schema, jsonschema.Draft202012Validator)


@pytest.mark.parametrize(
    "text",
    [
        "mod: x",
        "mode: fast",
        "axes: {symptomm: true}",
        "axes: {stage: {labels: {hang: x}}}",
        "axes: {symptom: {families: {labels: {memry: x}}}}",
        "dry-run: 'yes'",
        "ignore: {titles: ['']}",
    ],
)
def test_the_schema_refuses_what_the_parser_refuses(text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(read_yaml(text).value, config_schema(TAXONOMY), jsonschema.Draft202012Validator)
    assert problems(text)


def test_check_says_valid(command: Command, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("config") / "distriage.yml"
    file.write_text(COMPLETE, encoding="utf-8")
    finished = command("config", "check", file)
    assert (finished.code, finished.err) == (0, "")
    first, *lines = finished.out.splitlines()
    assert first.endswith("distriage.yml: valid")
    assert "symptom: 33 labels may be set, 3 of them named here" not in lines
    assert [line.partition(":")[0] for line in lines] == ["distributed", "stage", "symptom", "needs-triage", "comment"]


def test_check_says_how_many_labels_would_be_created(
    command: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Newcomer 2.5."""
    file = tmp_path_factory.mktemp("config") / "distriage.yml"
    file.write_text("axes: {symptom: {labels: {runtime-hang: C-hang, native-crash: false}}}\n", encoding="utf-8")
    (line,) = command("config", "check", file).out.splitlines()[1:]
    total = len(TAXONOMY.axes["symptom"].label_ids) - 1
    assert line.startswith(
        f"symptom: {total} labels may be set, 1 of them named here; the other {total - 1} are created"
    )
    file.write_text("only-listed: true\naxes: {symptom: {labels: {runtime-hang: C-hang}}}\n", encoding="utf-8")
    (line,) = command("config", "check", file).out.splitlines()[1:]
    assert line == "symptom: 1 label may be set, 1 of them named here"


def test_check_is_against_the_labels_of_the_default_model(
    command: Command, tmp_path: Path, keyword_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the server reads the file; the packaged taxonomy may be newer than the model."""
    monkeypatch.setattr("distriage.model.shipped.model_folders", lambda: (tmp_path, tmp_path))
    file = tmp_path / "distriage.yml"
    file.write_text("axes: {stage: {labels: {inference: serving}}}\n", encoding="utf-8")
    assert command("config", "check", file).code == 0, "no model is installed"
    assert_one_line(command("config", "check", file, "--model", "toy"), "model 'toy': no such directory")
    (tmp_path / "toy").symlink_to(keyword_bundle)
    (tmp_path / "DEFAULT").write_text("toy\n", encoding="utf-8")
    assert "stage" in command("config", "check", file).err


def test_check_ends_with_2_and_one_line_an_error(
    command: Command, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    file = tmp_path_factory.mktemp("config") / "distriage.yml"
    file.write_text("mod: x\n\nmode: fast\n", encoding="utf-8")
    finished = command("config", "check", file)
    assert (finished.code, finished.out) == (2, "")
    assert [line.split(": ")[0] for line in finished.err.splitlines()] == [f"{file}:1", f"{file}:3"]
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    marked = command("config", "check", file).out.splitlines()
    assert [line.startswith("::error title=Distriage,file=") for line in marked] == [True, True]
    assert ",line=3::" in marked[1]


def test_problems_hold_no_escape_sequence_of_the_file(
    command: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("config") / "distriage.yml"
    file.write_text('"\\e]0;x\\a": 1\n', encoding="utf-8")
    finished = command("config", "check", file)
    assert finished.code == 2 and "unknown key ` ]0;x `" in finished.err


def test_check_of_a_missing_or_binary_file_is_one_line(
    command: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("config")
    assert_one_line(command("config", "check", folder / "none.yml"), "none.yml", "cannot be read")
    (folder / "x.yml").write_bytes(b"\xff\xfe\x00")
    assert_one_line(command("config", "check", folder / "x.yml"), "not valid UTF-8")


def test_schema_command_prints_the_schema(command: Command) -> None:
    assert json.loads(command("config", "schema").out) == config_schema(TAXONOMY)


def test_label_config_needs_no_name() -> None:
    assert LabelConfig() == LabelConfig(enabled=True, name=None)


PAGE = (REPOSITORY / "docs" / "configuration.md").read_text(encoding="utf-8")
SECTIONS = {
    "## Keys": RepositoryConfig,
    "### An axis": AxisConfig,
    "### A label": LabelConfig,
    "### Issues to ignore": IgnoreConfig,
}


def rows(section: str) -> dict[str, list[str]]:
    """Key -> cells of its row."""
    text = PAGE.partition(f"\n{section}\n")[2].split("\n#")[0]
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return {row[0].strip("`"): row for row in cells}


@pytest.mark.parametrize("section", SECTIONS)
def test_every_key_has_its_row_with_an_example_that_is_valid(section: str) -> None:
    model, found = SECTIONS[section], rows(section)
    assert list(found) == [field.alias for field in model.model_fields.values()]
    for key, (_, default, meaning, example) in found.items():
        assert default and len(meaning) > 10
        value = read_yaml(example.strip("`")).value
        assert isinstance(value, dict) and list(value) == [key]
        inside = {
            RepositoryConfig: value,
            AxisConfig: {"axes": {"symptom": value}},
            LabelConfig: {"axes": {"symptom": {"labels": {"runtime-hang": value}}}},
            IgnoreConfig: {"ignore": value},
        }
        RepositoryConfig.model_validate(inside[model])


def test_the_page_s_examples_are_valid_and_families_have_the_keys_that_it_says() -> None:
    whole, types = map(parse, re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
    kind = types.axis("kind")
    assert whole.axis("symptom") is not None and kind is not None and kind.labels["bug"].type == "Bug"
    assert [field.alias for field in FamiliesConfig.model_fields.values()] == ["enabled", "prefix", "labels"]
    assert "with `enabled`, `prefix` and `labels`" in PAGE
