from __future__ import annotations

import json
import time

import jsonschema
import pytest
from conftest import REPOSITORY, Command, assert_one_line
from distriage_serving import wildcard
from distriage_serving.repo_config import (
    AxisConfig,
    LabelConfig,
    RepositoryConfig,
    RepositoryConfigError,
    axis_names,
    family_name,
    label_name,
    merge_configs,
    parse_config,
    render_template,
)
from distriage_serving.repo_config_schema import config_schema
from distriage_serving.yaml_lines import YamlLineError, read_yaml
from hypothesis import given
from hypothesis import strategies as st

from distriage.taxonomy import default_taxonomy

TAXONOMY = default_taxonomy()
SCHEMA_FILE = REPOSITORY / "schemas" / "distriage-config.schema.json"
COMPLETE = """
mode: precise
axes:
  stage: true
  symptom:
    mode: balanced
    prefix: "failure/"
    color: d93f0b
    labels:
      runtime-hang: hang
      setup-hang: hang
      native-crash: false
      device-out-of-memory: {name: OOM, color: "#FF0000", description: Out of memory, mode: best}
    families:
      labels:
        memory: memory trouble
  distributed:
    color: 000000
    labels:
      true: distributed
      false: false
  fix: false
needs-triage: needs-triage
comment: |
  Thank you.
  {{ axes }} {{questions}} {{ labels }} {{ model }}
ask-for-environment: true
create-labels: false
dry-run: true
ignore:
  authors: ["*[bot]", alice]
  labels: [wontfix]
  titles: ["[RFC]*"]
"""


def parse(text: str) -> RepositoryConfig:
    return parse_config(text, "distriage.yml", TAXONOMY)


def problems(text: str) -> list[str]:
    with pytest.raises(RepositoryConfigError) as caught:
        parse(text)
    assert all("\n" not in str(problem) for problem in caught.value.problems)
    return [str(problem) for problem in caught.value.problems]


def test_a_complete_configuration_says_what_it_says() -> None:
    config = parse(COMPLETE)
    symptom = config.axis("symptom")
    assert symptom is not None and config.axis("fix") is None and config.axis("cause") is None
    axis = TAXONOMY.axes["symptom"]
    names = [label_name(axis, symptom, label) for label in ("runtime-hang", "device-out-of-memory", "memory-growth")]
    assert names == ["hang", "OOM", "failure/memory-growth"]
    assert (family_name(axis, symptom, "memory"), family_name(axis, symptom, "setup")) == ("memory trouble", "failure/setup")
    assert not symptom.labels["native-crash"].enabled
    assert symptom.labels["device-out-of-memory"].color == "ff0000"
    distributed = config.axis("distributed")
    assert distributed is not None and distributed.color == "000000"
    assert (distributed.labels["true"].name, distributed.labels["false"].enabled) == ("distributed", False)
    assert config.needs_triage.name == "needs-triage"


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}", "\n\n"])
def test_an_empty_configuration_labels_stage_and_symptom(text: str) -> None:
    config = parse(text)
    assert config == RepositoryConfig()
    assert set(config.axes) == {"stage", "symptom"}
    assert not config.needs_triage.enabled and config.comment is None


@pytest.mark.parametrize(
    ("text", "line", "parts"),
    [
        ("mode: best\nmod: x\n", 2, ("unknown key `mod`", "did you mean `mode`?", "known: mode, axes, needs-triage")),
        ("axes:\n  symptomm: true\n", 2, ("unknown axis `symptomm`", "did you mean `symptom`?", "kind, distributed, stage")),
        ("axes:\n  stage:\n    labels:\n      hang: x\n", 4, ("unknown label `hang` of axis stage", "build-import")),
        ("axes:\n  stage:\n    label: {}\n", 3, ("unknown key `axes.stage.label`", "known: enabled, mode, prefix")),
        ("axes:\n  symptom:\n    families:\n      labels: {memry: x}\n", 4, ("unknown family `memry`", "did you mean `memory`?")),
        ("axes:\n  stage:\n    families: true\n", 3, ("axis stage has no families",)),
        ("axes:\n  symptom:\n    labels:\n      runtime-hang:\n        nam: x\n", 5, ("labels.runtime-hang.nam", "known: enabled, name, color")),
        ("axes:\n  symptom:\n    mode: fast\n", 3, ("`axes.symptom.mode`", "'best', 'balanced' or 'precise'", "'fast'")),
        ("\ndry-run: yes\n", 2, ("`dry-run`", "boolean", "the text 'yes'")),
        ("ignore:\n  titles:\n    - ok\n    - ''\n", 4, ("`ignore.titles.1`",)),
        ("ignore:\n  title: [x]\n", 2, ("unknown key `ignore.title`", "known: authors, labels, titles")),
        ("axes:\n  symptom:\n    color: red\n", 3, ("`axes.symptom.color`", "'red'")),
        ("axes:\n  cause:\n    prefix: " + "x" * 45, 3, ("at most 50 characters",)),
        ("comment: |\n  {{ title }}\n", 1, ("unknown placeholder `{{ title }}`", "questions")),
        ("- a\n", 1, ("expected a table of settings, found a list",)),
        ("mode: best\nmode: best\n", 2, ("`mode` stands twice",)),
        ("a: &x 1\n", 1, ("anchors are not supported",)),
        ("mode: !!python/object/apply:os.system [id]\n", 1, ("tags",)),
        ("mode: best\n---\nmode: best\n", 2, ("a second document",)),
        ("mode: [\n", 2, ("not valid YAML",)),
        ("mode: best\n\tx: y\n", 2, ("not valid YAML",)),
        ("mode: best\n# \x07\n", 2, ("control character",)),
        ("? [a]\n: b\n", 1, ("a key that is a list",)),
        ("[" * 1000, 1, ("nested deeper",)),
        ("#" * 70_000, 1, ("more than 65,536 bytes",)),
    ],
)
def test_a_mistake_is_reported_with_its_line(text: str, line: int, parts: tuple[str, ...]) -> None:
    (problem,) = problems(text)
    assert problem.startswith(f"distriage.yml:{line}: "), problem
    for part in parts:
        assert part in problem


def test_all_mistakes_are_reported_in_order() -> None:
    assert [problem.split(":")[1] for problem in problems("mod: x\nmode: fast\ncolour: x\nignore: 1\n")] == ["1", "2", "3", "4"]


@given(st.text(max_size=200) | st.text(alphabet="ab:-[]{}&*!|>'\"#%@`? \n\t,~", max_size=60))
def test_reading_yaml_ends_in_data_or_in_an_error_with_a_line(text: str) -> None:
    try:
        document = read_yaml(text)
    except YamlLineError as error:
        assert 1 <= error.line <= text.count("\n") + text.count("\r") + text.count("\x85") + text.count("\u2028") + text.count("\u2029") + 1
    else:
        json.dumps(document.value)


# ---------------------------------------------------------------- merging


def test_the_repository_wins_over_the_organization_key_by_key() -> None:
    organization = parse(
        "mode: precise\naxes:\n  symptom: {prefix: x/, labels: {runtime-hang: hang, native-crash: no}}\n  stage: true\ndry-run: true\nignore: {titles: [a]}\n"
    )
    repository = parse("axes:\n  symptom:\n    labels: {native-crash: false}\n  stage: false\ndry-run: false\nignore: {titles: [b]}\n")
    merged = merge_configs(organization, repository, TAXONOMY)
    symptom = merged.axis("symptom")
    assert symptom is not None
    assert (merged.mode, merged.dry_run, symptom.prefix, symptom.labels["runtime-hang"].name) == ("precise", False, "x/", "hang")
    assert not symptom.labels["native-crash"].enabled
    assert merged.axis("stage") is None
    assert merged.ignore.titles == ["b"]


def test_a_comment_of_the_organization_can_be_switched_off() -> None:
    assert merge_configs(parse("comment: true"), parse("comment: false"), TAXONOMY).comment is None
    assert merge_configs(parse("comment: hello"), parse(""), TAXONOMY).comment == "hello"


def test_merging_over_nothing_changes_nothing() -> None:
    assert merge_configs(parse(""), parse(COMPLETE), TAXONOMY) == parse(COMPLETE)
    assert merge_configs(parse(COMPLETE), parse(""), TAXONOMY) == parse(COMPLETE)


# ---------------------------------------------------------------- names, templates, patterns


@pytest.mark.parametrize("axis", TAXONOMY.axes)
def test_every_default_name_fits_into_a_label(axis: str) -> None:
    assert max(len(name) for name in axis_names(TAXONOMY.axes[axis], AxisConfig())) <= 50


@given(st.text(max_size=40))
def test_a_value_is_never_taken_for_a_placeholder(value: str) -> None:
    assert render_template("<{{ axes }}>", {"axes": value + "{{ axes }}", "labels": "", "model": "", "questions": ""}) == f"<{value}{{{{ axes }}}}>"


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("[RFC]*", "[rfc] New API", True),
        ("[RFC]*", "R", False),
        ("*[bot]", "dependabot[bot]", True),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("*", "", True),
        ("abc", "abcd", False),
        ("*a*b", "xxaxxb", True),
        ("*a*b", "xxbxxa", False),
    ],
)
def test_patterns(pattern: str, text: str, expected: bool) -> None:
    assert wildcard.matches(pattern, text) is expected


@given(st.text(alphabet="ab*?", max_size=8), st.text(alphabet="ab", max_size=10))
def test_patterns_match_as_their_definition_says(pattern: str, text: str) -> None:
    def defined(p: str, t: str) -> bool:
        if not p:
            return not t
        if p[0] == "*":
            return any(defined(p[1:], t[i:]) for i in range(len(t) + 1))
        return bool(t) and p[0] in ("?", t[0]) and defined(p[1:], t[1:])

    assert wildcard.matches(pattern, text) is defined(pattern, text)


def test_no_pattern_hangs() -> None:
    started = time.perf_counter()
    assert not wildcard.matches("*a" * 100, "a" * 99 + "b" * 100_000)
    assert time.perf_counter() - started < 2.0


# ---------------------------------------------------------------- schema and command


def test_the_published_schema_is_the_generated_one() -> None:
    assert json.loads(SCHEMA_FILE.read_text(encoding="utf-8")) == config_schema(TAXONOMY), "distriage config schema > schemas/distriage-config.schema.json"


def test_the_schema_is_valid_and_accepts_what_the_parser_accepts() -> None:
    schema = config_schema(TAXONOMY)
    jsonschema.Draft202012Validator.check_schema(schema)
    for text in (COMPLETE, "axes: {symptom: {families: true}}", "{}", "comment: true", "needs-triage: {name: x, color: 'abcdef'}"):
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
    assert finished.out.strip().endswith("distriage.yml: valid")


def test_check_ends_with_2_and_one_line_an_error(command: Command, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_check_of_a_missing_or_binary_file_is_one_line(command: Command, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("config")
    assert_one_line(command("config", "check", folder / "none.yml"), "none.yml", "cannot be read")
    (folder / "x.yml").write_bytes(b"\xff\xfe\x00")
    assert_one_line(command("config", "check", folder / "x.yml"), "not valid UTF-8")


def test_schema_command_prints_the_schema(command: Command) -> None:
    assert json.loads(command("config", "schema").out) == config_schema(TAXONOMY)


def test_label_config_needs_no_name() -> None:
    assert LabelConfig() == LabelConfig(enabled=True, name=None)
