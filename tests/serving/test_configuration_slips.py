"""Slips in `.github/distriage.yml` that YAML accepts and that mean something else."""

from __future__ import annotations

import time

import pytest

from distriage_serving.configuration.file import merge_configs, parse_document
from distriage_serving.configuration.model import render_template
from distriage_serving.configuration.problems import RepositoryConfigError
from distriage_serving.planning.ignored import matches

from support.configurations import TAXONOMY, parse, problems


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("comment: no\n", 1, "`comment`: `no` is text here; quote it if it is meant so, else write false"),
        ("comment: On\n", 1, "`comment`: `On` is text here; quote it if it is meant so, else write true"),
        (
            "\nneeds-triage: OFF\n",
            2,
            "`needs-triage`: `OFF` is text here; quote it if it is meant so, else write false",
        ),
        (
            "axes:\n  symptom:\n    labels:\n      runtime-hang: no\n",
            4,
            "`axes.symptom.labels.runtime-hang`: `no` is text here; quote it if it is meant so, else write false",
        ),
        (
            "axes:\n  symptom:\n    color: #ff0000\n",
            3,
            "`axes.symptom.color`: expected a value; what stands behind `#` is a comment unless it is quoted",
        ),
        (
            "axes:\n  symptom:\n    prefix: #area/\n",
            3,
            "`axes.symptom.prefix`: expected a value; what stands behind `#` is a comment unless it is quoted",
        ),
        ("comment: 'By {{ issue.title }}'\n", 1, "unknown placeholder `{{ issue.title }}`; known: "),
        ("comment: 'By {{ }}'\n", 1, "unknown placeholder `{{  }}`; known: "),
        ("comment: '{{ axes'\n", 1, "`comment`: `{{ axes` has no end; expected a placeholder such as `{{ axes }}`"),
        ("comment: '{{ axes }, {{ model }}'\n", 1, "`comment`: `{{ axes` has no end; expected a placeholder such as"),
        ("comment: 3\n", 1, "`comment`: expected true, false or a Markdown template, found '3'"),
        ("suggestions: some\n", 1, "`suggestions`: expected off, perhaps or all, found 'some'"),
        (
            "owners:\n  runtime-hang: ['a b']\n",
            2,
            "`owners.runtime-hang.0`: expected a login, such as octocat, or a team, such as acme/runtime, found 'a b'",
        ),
        ("owners: {hang: [al, '@@al']}\n", 1, "`owners.hang.1`: expected a login, such as octocat, or a team,"),
        ("owners: {hang: []}\n", 1, "`owners.hang`: expected one or more in it, found an empty list"),
        (
            "axes:\n  symptom:\n    mode: precise\n    threshold: 0.8\n",
            4,
            "`axes.symptom`: `mode` and `threshold` exclude each other; expected one of them, found precise and 0.8",
        ),
        (
            "axes: {kind: {labels: {bug: Bug}}}\nneeds-triage: bug\n",
            2,
            "`bug` is also the name of bug of axis kind; expected another name",
        ),
        (
            "axes: {symptom: {families: true}}\nneeds-triage: 'symptom: memory'\n",
            2,
            "`symptom: memory` is also the name of a family of axis symptom; expected another",
        ),
    ],
)
def test_a_slip_that_yaml_accepts_is_a_mistake(text: str, line: int, message: str) -> None:
    (problem,) = problems(text)
    assert problem.startswith(f"distriage.yml:{line}: {message}"), problem


@pytest.mark.parametrize(
    "text",
    [
        "axes: {symptom: {labels: {runtime-hang: {type: WORD}}}}",
        "axes: {symptom: {labels: {runtime-hang: {name: WORD}}}}",
        "needs-triage: {description: WORD}",
        "ignore: {labels: [WORD]}",
        "axes: {symptom: {prefix: WORD}}",
    ],
)
def test_a_switch_is_no_advice_where_only_text_may_stand(text: str) -> None:
    (problem,) = problems(text.replace("WORD", "on"))
    assert problem.endswith("`on` is text here; quote it if it is meant so")
    assert problems(text.replace("WORD", "true"))
    assert parse(text.replace("WORD", "'on'"))


def test_what_github_would_fill_in_stays_as_it_is() -> None:
    comment = parse("comment: 'Run ${{ github }}, ${{axes}}: {{ axes }}, {{{model}}}'").comment
    assert comment is not None
    assert render_template(comment, {"axes": "A", "model": "M"}) == "Run ${{ github }}, ${{axes}}: A, {M}"
    spaces = " " * 200  # more than the check reads as a placeholder
    assert render_template(f"{{{{{spaces}github }}}}", {}) == f"{{{{{spaces}github }}}}"


def test_what_is_quoted_or_plainly_meant_is_none() -> None:
    config = parse("comment: 'no'\nneeds-triage: \"off\"\n")
    assert (config.comment, config.needs_triage.name) == ("no", "off")
    assert parse("comment: FALSE\n").comment is None and parse("comment: TRUE\n").comment is not None
    assert parse("axes: {symptom: {color: ~, prefix: ''}}\n").axes["symptom"].prefix == ""
    assert parse("comment: 'Run ${{ github.run_id }}: {{axes}}'").comment is not None
    assert (
        parse("axes: {symptom: true}\nneeds-triage: bug\n").needs_triage.name == "bug"
    )  # no label of ours is called so


def test_an_author_may_have_an_at_sign() -> None:
    assert parse('ignore: {authors: ["@octocat", "*[bot]"]}').ignore.authors == ["octocat", "*[bot]"]
    assert matches("octocat", "Octocat")


def test_one_name_for_two_is_found_where_it_comes_from_two_files() -> None:
    organization = parse_document("axes: {kind: {labels: {bug: bug}}}", "distriage.yml", TAXONOMY)
    repository = parse_document("needs-triage: bug", "distriage.yml", TAXONOMY)
    with pytest.raises(RepositoryConfigError, match=r"merged over the organization's:1: `bug` is also the name"):
        merge_configs(organization, repository, TAXONOMY)


def test_braces_without_end_take_no_time() -> None:
    start = time.monotonic()
    problems("comment: '" + "{{ " * 20_000 + "'")
    problems("comment: '" + "{{" + "x" * 60_000 + "'")
    for text in ("{{ " * 20_000, "{{" + " " * 60_000, "{{" + " " * 30 + "x" * 60_000, "${{ x }}" * 8_000):
        assert render_template(text, {}) == text
    assert time.monotonic() - start < 2
