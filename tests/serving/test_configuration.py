"""Reading `.github/distriage.yml`: what it says, and every mistake with its line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage_serving.configuration.file import dump_config, merge_configs, parse_document
from distriage_serving.configuration.lines import YamlLineError, read_yaml
from distriage_serving.configuration.model import (
    AxisConfig,
    RepositoryConfig,
    render_template,
)
from distriage_serving.configuration.names import resolve
from distriage_serving.configuration.problems import RepositoryConfigError
from distriage_serving.judging.judge import required

from support.configurations import COMPLETE, TAXONOMY, parse, problems


def written(text: str) -> dict[str, Any]:
    """A valid configuration as it is written."""
    return parse_document(text, "distriage.yml", TAXONOMY)


def test_a_complete_configuration_says_what_it_says() -> None:
    config = parse(COMPLETE)
    symptom = config.axis("symptom")
    assert symptom is not None and config.axis("fix") is None and config.axis("cause") is None
    names = resolve(config, TAXONOMY)
    labels, families = names.axes["symptom"].labels, names.axes["symptom"].families
    wanted = ("runtime-hang", "device-out-of-memory", "memory-growth")
    assert [labels[label].name for label in wanted] == ["hang", "OOM", "failure/memory-growth"]
    assert (families["memory"].name, families["setup"].name) == ("memory trouble", "failure/setup")
    assert names.meanings("HANG") == {("symptom", "runtime-hang"), ("symptom", "setup-hang")}
    assert names.meanings("Memory Trouble") == {("symptom", None)}
    assert names.meanings("fix: tuning") == frozenset()  # this axis is off
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
        (
            "mode: best\nmod: x\n",
            2,
            ("unknown key `mod`", "did you mean `mode`?", "known: mode, axes, only-listed, needs-triage"),
        ),
        (
            "axes:\n  symptomm: true\n",
            2,
            ("unknown axis `symptomm`", "did you mean `symptom`?", "kind, distributed, stage"),
        ),
        ("axes:\n  stage:\n    labels:\n      hang: x\n", 4, ("unknown label `hang` of axis stage", "build-import")),
        (
            "axes:\n  stage:\n    label: {}\n",
            3,
            ("unknown key `axes.stage.label`", "known: enabled, mode, threshold, prefix"),
        ),
        (
            "axes:\n  symptom:\n    families:\n      labels: {memry: x}\n",
            4,
            ("unknown family `memry`", "did you mean `memory`?"),
        ),
        ("axes:\n  stage:\n    families: true\n", 3, ("axis stage has no families",)),
        (
            "axes:\n  symptom:\n    labels:\n      runtime-hang:\n        nam: x\n",
            5,
            ("labels.runtime-hang.nam", "known: enabled, name, color"),
        ),
        (
            "axes:\n  symptom:\n    mode: fast\n",
            3,
            ("`axes.symptom.mode`", "expected best, balanced or precise, found 'fast'"),
        ),
        ("\ndry-run: yes\n", 2, ("`dry-run`: expected true or false, found 'yes'",)),
        ("ignore:\n  titles:\n    - ok\n    - ''\n", 4, ("`ignore.titles.1`: expected some text, found ''",)),
        ("axes:\n  stage: off\n", 2, ("`axes.stage`: expected true, false or a table", "found 'off'")),
        ("axes: [stage]\n", 1, ("`axes`: expected a table: keys below, indented, found a list",)),
        ("axes:\n  symptom:\n    labels: {runtime-hang: [x]}\n", 3, ("expected a name, true, false or a table",)),
        ("needs-triage: []\n", 1, ("expected a name, true, false or a table, found an empty list",)),
        ("ignore: true\n", 1, ("expected a table with authors, labels or titles, found true",)),
        ("ignore: {titles: x}\n", 1, ("`ignore.titles`: expected a list, such as [one, two], found 'x'",)),
        ("axes:\n  stage:\n    threshold: high\n", 3, ("expected a number from 0.5 to 1, such as 0.8", "'high'")),
        ("axes:\n  stage:\n    threshold: 0.4\n", 3, ("expected a number from 0.5 to 1", "'0.4'")),
        ("axes:\n  stage:\n    threshold: nan\n", 3, ("expected a number from 0.5 to 1",)),
        (
            "axes:\n  stage:\n    mode: best\n    threshold: 0.8\n",
            4,
            ("`mode` and `threshold` exclude each other",),
        ),
        ("axes:\n  stage:\n    labels:\n      inference: ' x'\n", 4, ("one line without spaces around it",)),
        ("comment: '" + "x" * 9000 + "'\n", 1, ("`comment`: expected at most 8,000 characters",)),
        ("ignore:\n  title: [x]\n", 2, ("unknown key `ignore.title`", "known: authors, labels, titles")),
        (
            "axes:\n  symptom:\n    color: red\n",
            3,
            ("`axes.symptom.color`: expected six hexadecimal digits, such as d93f0b, found 'red'",),
        ),
        ("axes:\n  cause:\n    prefix: " + "x" * 45, 3, ("at most 50 characters",)),
        (
            'axes:\n  stage:\n    prefix: "x\\u202E"\n',
            3,
            ("`axes.stage.prefix`", "U+202E is one, right-to-left override"),
        ),
        ('axes:\n  symptom:\n    families:\n      prefix: "x\\e[31m"\n', 4, ("U+001B is one, a control character",)),
        ('axes: {stage: {labels: {inference: "a\\u200Bb"}}}', 1, ("U+200B is one, zero width space",)),
        ('axes: {stage: {labels: {inference: {description: "a\\tb"}}}}', 1, ("U+0009 is one",)),
        ('axes: {kind: {labels: {bug: {enabled: false, type: "B\\Lx"}}}}', 1, ("U+2028 is one, line separator",)),
        ("comment: |\n  {{ title }}\n", 1, ("unknown placeholder `{{ title }}`", "questions")),
        ("- a\n", 1, ("expected a table of settings, found a list",)),
        ("mode: best\nmode: best\n", 2, ("`mode` stands twice",)),
        ("a: &x 1\n", 1, ("anchors are not supported",)),
        ("a: *x\n", 1, ("aliases are not supported",)),
        ("mode: {a: b}\n", 1, ("found a table",)),
        ("mode: !!python/object/apply:os.system [id]\n", 1, ("tags",)),
        ("mode: best\n---\nmode: best\n", 2, ("a second document",)),
        ("mode: [\n", 2, ("not valid YAML",)),
        ("mode: best\n\tx: y\n", 2, ("not valid YAML",)),
        ("mode: best\n# \x07\n", 2, ("control character",)),
        (f"%YAML {'1' * 5000}.1\n---\nmode: best\n", 1, ("not valid YAML",)),  # a job that raised would be a dead one
        ('mode: "\\UFFFFFFFF"\n', 1, ("not valid YAML",)),
        ('mode: "\\U00110000"\n', 1, ("not valid YAML",)),
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


def test_all_mistakes_are_reported_at_once_and_in_order() -> None:
    text = "mod: x\nmode: fast\naxes:\n  symptom:\n    labels: {runtime-hung: x}\n    color: red\n"
    text += "comment: '{{ x }}'\nignore: 1\n"
    assert [problem.split(":")[1] for problem in problems(text)] == ["1", "2", "5", "6", "7", "8"]


def test_of_thousands_of_mistakes_the_first_ten_are_named() -> None:
    with pytest.raises(RepositoryConfigError) as caught:
        parse("\n".join(f"x{number}: 1" for number in range(2000)))
    assert len(caught.value.problems) == 2000
    assert str(caught.value).endswith("; and 1,990 more") and len(str(caught.value)) < 5000


@given(st.text(max_size=200) | st.text(alphabet="ab:-[]{}&*!|>'\"#%@`? \n\t,~", max_size=60))
def test_reading_yaml_ends_in_data_or_in_an_error_with_a_line(text: str) -> None:
    try:
        document = read_yaml(text)
    except YamlLineError as error:
        assert (
            1
            <= error.line
            <= text.count("\n")
            + text.count("\r")
            + text.count("\x85")
            + text.count("\u2028")
            + text.count("\u2029")
            + 1
        )
    else:
        json.dumps(document.value)


def test_the_repository_wins_over_the_organization_key_by_key() -> None:
    organization = written(
        "mode: precise\naxes:\n  symptom: {prefix: x/, labels: {runtime-hang: hang, native-crash: crash}}\n  "
        "stage: true\ndry-run: true\nignore: {titles: [a]}\n"
    )
    repository = written(
        "axes:\n  symptom:\n    labels: {native-crash: false}\n  stage: false\ndry-run: false\nignore: {titles: [b]}\n"
    )
    merged = merge_configs(organization, repository, TAXONOMY)
    symptom = merged.axis("symptom")
    assert symptom is not None
    assert (merged.mode, merged.dry_run, symptom.prefix, symptom.labels["runtime-hang"].name) == (
        "precise",
        False,
        "x/",
        "hang",
    )
    assert not symptom.labels["native-crash"].enabled
    assert merged.axis("stage") is None
    assert merged.ignore.titles == ["b"]


def test_a_comment_of_the_organization_can_be_switched_off() -> None:
    assert merge_configs(written("comment: true"), written("comment: false"), TAXONOMY).comment is None
    assert merge_configs(written("comment: hello"), written(""), TAXONOMY).comment == "hello"


@pytest.mark.parametrize(
    ("organization", "repository"),
    [
        ("axes: {symptom: false}\nneeds-triage: false", "axes: {symptom: {prefix: s/}}\nneeds-triage: look"),
        ("axes: {symptom: {prefix: x/}}\nneeds-triage: {color: ffffff}", "axes: {symptom: true}\nneeds-triage: look"),
        ("axes: {symptom: {prefix: x/, labels: {runtime-hang: hang}}}\nneeds-triage: look", "axes: {symptom: false}"),
        ("axes: {symptom: {families: false}}", "axes: {symptom: {families: {prefix: s/}}}"),
        ("axes: {symptom: {labels: {runtime-hang: false}}}", "axes: {symptom: {labels: {runtime-hang: hang}}}"),
        ("axes: {symptom: {labels: {runtime-hang: hang}}}", "axes: {symptom: {labels: {runtime-hang: {type: Bug}}}}"),
    ],
)
def test_what_is_no_table_in_both_files_is_replaced(organization: str, repository: str) -> None:
    merged = merge_configs(written(organization), written(repository), TAXONOMY)
    assert merged.axes == parse(repository).axes
    assert merged.needs_triage == parse(repository if "triage" in repository else organization).needs_triage


def test_merging_over_nothing_changes_nothing() -> None:
    assert merge_configs(written(""), written(COMPLETE), TAXONOMY) == parse(COMPLETE)
    assert merge_configs(written(COMPLETE), written(""), TAXONOMY) == parse(COMPLETE)


@pytest.mark.parametrize("axis", TAXONOMY.axes)
def test_every_default_name_fits_into_a_label(axis: str) -> None:
    config = RepositoryConfig(axes={axis: AxisConfig()})
    assert max(map(len, resolve(config, TAXONOMY).axes[axis].folded)) <= 50


@given(st.text(max_size=40))
def test_a_value_is_never_taken_for_a_placeholder(value: str) -> None:
    assert (
        render_template("<{{ axes }}>", {"axes": value + "{{ axes }}", "labels": "", "model": "", "questions": ""})
        == f"<{value}{{{{ axes }}}}>"
    )


def test_a_long_definition_is_cut_between_words() -> None:
    names = resolve(parse(""), TAXONOMY).axes["stage"]
    for label in TAXONOMY.axes["stage"].labels:
        said = names.labels[label.id].description
        assert 80 < len(said) <= 100 and label.definition.startswith(f"{said.removesuffix(' …')} ")
    chinese = TAXONOMY.axes["stage"].labels[0].model_copy(update={"definition": "安" * 101})
    axis = TAXONOMY.axes["stage"].model_copy(update={"labels": (chinese,)})
    taxonomy = TAXONOMY.model_copy(update={"axes": {**TAXONOMY.axes, "stage": axis}})
    assert len(resolve(parse(""), taxonomy).axes["stage"].labels[chinese.id].description) == 100


def test_a_threshold_is_a_number_and_takes_the_place_of_a_mode() -> None:
    text = "axes:\n  symptom:\n    threshold: 0.8\n"
    text += (
        "    labels: {runtime-hang: {mode: precise}, native-crash: {threshold: 1}, memory-growth: {threshold: 0.5}}\n"
    )
    config = parse(text)
    labels = ("poor-convergence", "runtime-hang", "native-crash", "memory-growth")
    assert [required(config, "symptom", label) for label in labels] == [0.8, "precise", 1.0, 0.5]
    assert required(config, "stage", "inference") == "balanced"
    assert RepositoryConfig.model_validate(dump_config(config)) == config


def test_of_mode_and_threshold_the_repository_s_own_counts() -> None:
    with_threshold, with_mode = (
        written(f"axes: {{symptom: {{{key}}}}}") for key in ("threshold: 0.8", "mode: precise")
    )
    assert required(merge_configs(with_threshold, with_mode, TAXONOMY), "symptom", "runtime-hang") == "precise"
    assert required(merge_configs(with_mode, with_threshold, TAXONOMY), "symptom", "runtime-hang") == 0.8


def test_what_is_valid_alone_and_not_together_is_refused() -> None:
    named = written(f"axes: {{distributed: {{prefix: {'x' * 48}, labels: {{true: one, false: other}}}}}}")
    unnamed = written("axes: {distributed: {labels: {true: {name: ~}}}}")
    with pytest.raises(RepositoryConfigError, match=r"merged over the organization's:1: the prefix makes"):
        merge_configs(named, unnamed, TAXONOMY)


def test_words_of_yaml_are_truth_values_in_all_their_spellings() -> None:
    assert read_yaml("[true, True, TRUE, false, False, FALSE, null, Null, NULL, ~, '', 'true', tRUE]").value == [
        *(True, True, True, False, False, False, None, None, None, None),
        *("", "true", "tRUE"),
    ]
    assert not parse("axes: {stage: {families: {enabled: False}}}").axes["stage"].families.enabled
