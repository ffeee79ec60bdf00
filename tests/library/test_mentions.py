"""Which numbers, branches and commits of a report may be the product's version, and which of several is chosen."""

from __future__ import annotations

import pytest

from distriage.facts.environment import find_facts
from distriage.facts.projects import projects
from distriage.facts.release.likeliest import chosen
from distriage.facts.release.mentions import Mention, mentions
from distriage.facts.release.names import names_of
from distriage.facts.release.places import Of
from distriage.facts.scanning import Source, passages
from distriage.segments import Kind, split


def read(title: str, body: str, tracker: str = "acme/wizard#1") -> list[Mention]:
    _, stated, output = passages(split(title, body))
    return mentions(stated, output, names_of(projects().tracker_of(tracker)))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("v1.2.3 and 2.0rc1+cu121", ["1.2.3", "2.0rc1+cu121"]),
        ("branch r1.13, rc3.8", ["r1.13", "rc3.8"]),
        ("0.1.dev7393+gb1c1fe3", ["commit b1c1fe3"]),
        ("tool:1.4.0-gpu and tool_0.9.0.1_20250605", ["1.4.0", "0.9.0.1"]),
        ("main (41fc758e), nightly of 2024-05-06", ["commit 41fc758e", "nightly 2024-05-06"]),
        ("at 82c86ce242eebcd8dd7d36f953cb9e6dc0fbbe5b", ["commit 82c86ce242eebcd8dd7d36f953cb9e6dc0fbbe5b"]),
        ("main.py of the main process, tool[dev], /master/x, llava-v1.5-7b, deadbeef, 12345678", []),
    ],
)
def test_numbers_branches_and_commits_are_mentions(text: str, values: list[str]) -> None:
    assert [one.value for one in read("", text)] == values


def test_a_log_is_read_only_where_it_speaks_of_a_version() -> None:
    log = "```\n12:00:01 loss 0.25 after 1.5 s\n12:00:02 wizard version 0.6.1\n12:00:03 took 2.5 s\n```"
    assert [one.value for one in read("", log)] == ["0.6.1"]


def test_the_words_around_a_version_are_measured() -> None:
    (one,) = read("", "### Environment\n\nWizard version: 0.6.1\n")
    assert one.of is Of.NUMBER and one.source == Source(Kind.FORM, 3)
    assert {"own", "own, sign label", "just after version", "then end", "3 parts", "in form"} <= one.measures.keys()
    assert not {"other", "glued", "v"} & one.measures.keys()


def test_of_versions_that_are_alike_the_longest_is_chosen_and_of_others_none() -> None:
    def mention(value: str, line: int = 2, of: Of = Of.NUMBER) -> Mention:
        return Mention(of, value, Source(Kind.PROSE, line))

    def values(*found: tuple[float, Mention]) -> list[str]:
        return [one.value for one in chosen(found)]

    assert values() == values((0.4, mention("1.2"))) == []
    assert values((0.9, mention("1.2")), (0.7, mention("1.2.1"))) == ["1.2.1"]
    assert values((0.9, mention("1.2")), (0.7, mention("1.3"))) == ["1.2", "1.3"]  # unknown which
    assert values((0.9, mention("1.2", line=0)), (0.7, mention("1.3"))) == ["1.2"]  # of the title
    assert values((0.9, mention("commit 41fc758e", of=Of.COMMIT)), (0.7, mention("1.3"))) == ["1.3"]
    assert values((0.9, mention("1.2")), (0.3, mention("1.3"))) == ["1.2"]


def test_a_number_that_works_is_left_out_where_another_fails() -> None:
    def chosen_of(text: str) -> list[str]:
        return [one.value for one in chosen([(0.9, mention) for mention in read("", text)])]

    assert chosen_of("Works in 0.6.2, broken since 0.6.3.") == chosen_of("0.6.3 fails, 0.6.2 works.") == ["0.6.3"]
    assert (
        chosen_of("0.6.3 doesn't work, 0.6.2 does.") == chosen_of("Fine with 0.6.2, with 0.6.3 it hangs.") == ["0.6.3"]
    )
    assert chosen_of("It works in v0.6.2.") == ["0.6.2"]
    assert chosen_of("Works in 0.6.2 with one GPU. With two, 0.6.2 fails; numpy is 1.26.4.") == ["0.6.2", "1.26.4"]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("The fix landed on main, I can rebase my PR onto it.", []),
        ("Will you take a pull request against the latest master?", []),
        ("I reverted commit 1a2b3c4d.", []),
        ("No problem with master, only with the last release.", []),
        ("It is not fixed on main.", ["main"]),
        ("It does not work on main, I am at commit 1a2b3c4d.", ["main", "commit 1a2b3c4d"]),
    ],
)
def test_a_branch_or_commit_that_is_not_in_use_is_no_mention(text: str, values: list[str]) -> None:
    assert [one.value for one in read("", text)] == values


@pytest.mark.parametrize(
    ("tracker", "text", "name"),
    [
        ("ray-project/ray", "xarray 2024.1.0", "word"),
        ("ray-project/ray", "Ray 2.9.0", "own"),
        ("huggingface/trl", "ctrl 3.1.2", "word"),
        ("EleutherAI/lm-evaluation-harness", "LM evaluation harness 0.4.3", "own"),
        ("acme/wizard", "Docker version: 24.0.7", "other"),
        ("acme/wizard", "Docker image 24.0.7", "no name"),
        ("acme/wizard", "installed with pip (0.6.3)", "no name"),
        ("acme/wizard", "1.0 of our app", "other"),
        ("acme/wizard", "git: 1a2b3c4d", "no name"),
    ],
)
def test_a_name_before_a_version_is_the_products_or_anothers(tracker: str, text: str, name: str) -> None:
    (one,) = read("", text, f"{tracker}#1")
    assert {"own", "other", "no name", "own part", "word", "short word"} & one.measures.keys() == {name}


def test_elsewhere_only_a_commit_needs_no_name() -> None:
    assert find_facts("", "Megatron hangs\n- commit 3c1f2b0a").framework_version == "commit 3c1f2b0a"
    assert find_facts("", "Megatron hangs\n- version: 0.9.1").framework_version is None
    assert find_facts("", "It hangs\n- version: 0.9.1", "nvidia/megatron-lm#1").framework_version == "0.9.1"
