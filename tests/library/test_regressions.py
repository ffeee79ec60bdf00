"""The plain sentence that says which release worked, in a product's own tracker."""

from __future__ import annotations

import pytest

from distriage.facts.environment import find_facts
from distriage.facts.regressions import is_regression

OURS = "vllm-project/vllm#1"
LISTED = "\n\n```\nvllm==0.8.5\n```"


def pairs(body: str, identifier: str = OURS) -> list[tuple[str, str]]:
    found = find_facts("", body, identifier).comparisons
    return [(one.works, one.fails) for one in found if one.fact == "framework_version" and is_regression(one)]


@pytest.mark.parametrize(
    ("sentence", "works"),
    [
        ("It worked fine in 0.8.4.", "0.8.4"),
        ("Everything was stable on v0.8.2, for months.", "0.8.2"),
        ("This does not happen with 0.8.4.", "0.8.4"),
        ("There were no such errors in version 0.8.3.", "0.8.3"),
        ("The same command with 0.8.4 works.", "0.8.4"),
        ("Downgrading to 0.8.4 solves it.", "0.8.4"),
        ("We rolled back from 0.8.5 to 0.8.4 and the hang disappeared.", "0.8.4"),
        ("Last known good version: 0.8.4", "0.8.4"),
        ("It used to work in 0.8.4.", "0.8.4"),
        ("The image vllm/vllm-openai:v0.8.4 works.", "0.8.4"),
    ],
)
def test_a_plain_sentence_gives_the_release_that_worked(sentence: str, works: str) -> None:
    assert pairs(sentence + LISTED) == [(works, "0.8.5")]


@pytest.mark.parametrize(
    "sentence",
    [
        "After upgrading from 0.8.4 to 0.8.5 the server hangs.",
        "Since the update from v0.8.4 to v0.8.5 it crashes.",
        "Throughput regressed from 0.8.4 to 0.8.5.",
    ],
)
def test_an_upgrade_gives_both_releases(sentence: str) -> None:
    assert pairs(sentence) == [("0.8.4", "0.8.5")]


@pytest.mark.parametrize(
    "sentence",
    [
        "It should work in 0.8.4.",
        "I hope that it works in 0.8.4.",
        "It never worked in 0.8.4.",
        "It works in 0.8.4 only if the cache is empty.",
        "Same problem: 0.8.4 works no better.",
        "Both 0.8.4 and 0.8.5 were tried; it worked in neither.",
        "Would it work with 0.8.4?",
        "With --gpu-memory-utilization 0.9 it crashes, 0.8 works.",  # a setting's
        "A learning rate of 0.01 diverges, 0.001 is fine.",
        "At a temperature of 0.7 it crashes, but 0.0 works.",
        "flashinfer 0.2.3 is fine; since 0.2.5 it crashes.",
        "It worked fine in 0.9.0.",  # a later one: fixed, no regression
        "It worked with 0.85 of the memory.",
        "It works in 0.8.4 and 0.8.5.",
        "It works in 7.7.7.",  # no release
    ],
)
def test_a_wish_a_condition_a_denial_and_another_number_give_none(sentence: str) -> None:
    assert pairs(sentence + LISTED) == []


def test_elsewhere_a_number_needs_a_name() -> None:
    assert pairs("It worked fine in 0.8.4." + LISTED, "someone/something#1") == []
