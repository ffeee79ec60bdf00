from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.model.taxonomy import default_taxonomy
from distriage_serving.configuration.draft import LEAST_ISSUES, TheirLabel, draft, observe
from distriage_serving.configuration.file import parse_config
from distriage_serving.configuration.model import RepositoryConfig

from support.command_line import Command, assert_one_line
from support.github import GitHub
from support.past_issues import REPOSITORY, past_issue, write_history

TAXONOMY = default_taxonomy()


def names(config: RepositoryConfig) -> dict[str, str | None]:
    return {label: item.name for axis in config.axes.values() for label, item in axis.labels.items()}


def drafted(*labels: TheirLabel) -> RepositoryConfig:
    return parse_config(draft("o/r", labels, TAXONOMY), "draft", TAXONOMY)


def test_labels_are_found_by_name_then_by_description() -> None:
    config = drafted(
        TheirLabel("kind/bug"),
        TheirLabel("enhancement"),
        TheirLabel("C-runtime-hang"),
        TheirLabel("area: x", "a memory leak"),
        TheirLabel("wontfix", "This will not be worked on"),
        TheirLabel("debugging"),
        TheirLabel("help wanted"),
        TheirLabel("not a bug"),
    )
    assert names(config) == {
        "bug": "kind/bug",
        "feature": "enhancement",
        "runtime-hang": "C-runtime-hang",
        "memory-growth": "area: x",
    }
    assert config.only_listed and not config.create_labels


def test_of_two_labels_for_one_of_ours_the_plainer_name_wins_and_the_other_is_named() -> None:
    text = draft("o/r", [TheirLabel("bug (needs a look)"), TheirLabel("Bug")], TAXONOMY)
    assert '      bug: "Bug"\n' in text and '# also possible, "bug (needs a look)"' in text


def test_no_label_of_ours_is_a_valid_draft_too() -> None:
    assert drafted(TheirLabel("zebra")).axes == {} == drafted().axes


@given(st.lists(st.tuples(st.text(max_size=60), st.text(max_size=60)), max_size=6))
def test_whatever_labels_are_called_the_draft_is_valid(texts: list[tuple[str, str]]) -> None:
    labels = [TheirLabel(f"bug {name}", about) for name, about in texts]
    labels += [TheirLabel(name, f"hang {about}") for name, about in texts]
    named = names(drafted(*labels))
    assert set(named.values()) <= {label.name for label in labels}


def test_what_the_model_says_of_issues_counts_where_it_stands_out() -> None:
    slow, hang = [("symptom", "low-throughput")], [("symptom", "runtime-hang")]
    marked = [(("slow-ish", "area-7", "all"), slow)] * LEAST_ISSUES
    labels = [TheirLabel("slow-ish"), TheirLabel("area-7"), TheirLabel("all")]
    everywhere = draft("o/r", labels, TAXONOMY, observe(iter(marked)))
    assert '"area-7": the model' not in everywhere  # it says the same of all issues
    text = draft("o/r", labels, TAXONOMY, observe(iter([*marked, *[(("all",), hang)] * (3 * LEAST_ISSUES)])))
    assert f"the model agrees on {LEAST_ISSUES} of the {LEAST_ISSUES} issues that have it" in text
    assert names(parse_config(text, "draft", TAXONOMY)) == {"low-throughput": "slow-ish"}
    assert '# also possible, "area-7": the model says low-throughput of 10 of the 10 issues' in text
    few = observe(iter([*marked[1:], *[(("all",), hang)] * (3 * LEAST_ISSUES)]))
    assert "area-7" not in draft("o/r", labels, TAXONOMY, few).split("# Labels that")[0]


def test_a_name_that_the_models_answers_contradict_counts_for_nothing() -> None:
    growth, hang = [("symptom", "memory-growth")], [("symptom", "runtime-hang")]
    marked = [(("module: memory usage", "Usage"), growth)] * LEAST_ISSUES
    said = observe(iter([*marked, *[(("hang", "crash"), hang)] * (3 * LEAST_ISSUES)]))
    labels = [TheirLabel("module: memory usage"), TheirLabel("crash"), TheirLabel("rare crash")]
    text = draft("o/r", labels, TAXONOMY, said)
    assert "module: memory usage" in draft("o/r", labels, TAXONOMY).split("question:")[1].split("\n")[0]
    assert names(parse_config(text, "draft", TAXONOMY)) == {
        "memory-growth": "module: memory usage",
        "native-crash": "rare crash",  # of the other one's issues the model never says so
    }


def test_a_repository_gets_a_draft_that_passes_the_check(command: Command, github: GitHub, tmp_path: Path) -> None:
    github.define(REPOSITORY, "bug", "hang", "stale")
    done = command("config", "init", REPOSITORY)
    assert done.code == 0, done.err
    file = tmp_path / "distriage.yml"
    file.write_text(done.out, encoding="utf-8")
    assert "\nsuggestions: what the model is not sure of is suggested" in command("config", "check", file).out
    assert names(parse_config(done.out, "draft", TAXONOMY)) == {"bug": "bug", "runtime-hang": "hang"}
    assert all(request.method == "GET" for request in github.requests)


def test_labels_that_the_repository_lacks_are_named(command: Command, github: GitHub, tmp_path: Path) -> None:
    github.define(REPOSITORY, "Stuck")
    file = tmp_path / "distriage.yml"
    text = "create-labels: false\nneeds-triage: look\naxes: {symptom: {labels: {runtime-hang: stuck, native-crash: c}}}"
    file.write_text(text, encoding="utf-8")
    done = command("config", "check", file, "--repository", REPOSITORY)
    never = "and `create-labels` is off, so the label is never set"
    assert done.code == 0
    assert done.err.splitlines() == [
        f"warning: the repository has no label {name!r}, {never}" for name in ("c", "look")
    ]
    file.write_text(text.replace("false", "true"), encoding="utf-8")
    assert command("config", "check", file, "--repository", REPOSITORY).err == ""
    assert command("config", "check", file).err == ""


def test_labels_and_issues_come_from_files(command: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.json"
    theirs = [{"name": "area-1", "description": None}, {"name": "topic: bug fixes"}]  # this one of pull requests alone
    labels.write_text(json.dumps(theirs), encoding="utf-8")
    memory, hang = ("memory exhausted exhausted", ["area-1"]), ("it hangs", ["x"])
    items = [past_issue(n, *(hang if n % 4 else memory)) for n in range(60)]
    history = write_history(tmp_path / "issues.jsonl", items)
    done = command("config", "init", "--labels", labels, "--issues", history, "--model", keyword_bundle)
    assert done.code == 0 and 'oom: "area-1"' in done.out and "bug" not in done.out
    assert "the model says oom of 15 of the 15 issues that have it, and of 25% of all" in done.out


def test_issues_of_another_repository_say_nothing(command: Command, github: GitHub, tmp_path: Path) -> None:
    github.define("other/place", "bug")
    history = write_history(tmp_path / "issues.jsonl", [past_issue(1, "It hangs", ["bug"])])
    done = command("config", "init", "other/place", "--issues", history)
    assert_one_line(done, f"the history of {REPOSITORY}", "other/place")


@pytest.mark.parametrize(
    ("content", "expected"), [("{", "not JSON"), ("{}", "expected a list"), ("[{}]", "entry 0"), ("[1]", "entry 0")]
)
def test_a_file_that_holds_no_labels_is_refused_in_one_line(
    command: Command, tmp_path: Path, content: str, expected: str
) -> None:
    file = tmp_path / "labels.json"
    file.write_text(content, encoding="utf-8")
    assert_one_line(command("config", "init", "--labels", file), str(file), expected)
    assert_one_line(command("config", "init", "--labels", tmp_path / "none"), "none", "cannot be read")
    assert_one_line(command("config", "init"), "one of both")
    assert_one_line(command("config", "init", "nonsense"), "owner/repo")
