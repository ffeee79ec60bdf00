from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from pydantic import ValidationError

from distriage.base.types import IssueReport, Mode
from distriage.classifier import Classifier
from distriage.facts.compatibility.known_bad import Combination, combinations, known_bad
from distriage.facts.compatibility.misfits import listed
from distriage.facts.environment import EnvironmentFacts, facts_of, find_facts
from distriage.facts.projects import projects
from distriage.segments import split

EVERY_SUBJECT = (
    "error 803, no kernel image, device_id, gradients, torch.compile hangs, "
    "cuda_launch_blocking, zero-2, accelerate, cuda out of memory"
)


EXAMPLES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "known_bad.jsonl").read_text(encoding="utf-8").splitlines()
]


def sources(text: str = EVERY_SUBJECT, **facts: str) -> list[str]:
    found = known_bad(EnvironmentFacts(**facts), IssueReport("", text))  # type: ignore[arg-type]
    return [item.source.rpartition("/")[2] for item in found]


def sources_of(text: str) -> list[str]:
    return [item.source.rpartition("/")[2] for item in known_bad(find_facts("", text), IssueReport("", text))]


def test_there_are_at_least_forty_each_with_its_source_and_no_two_alike() -> None:
    assert len(combinations()) >= 40
    assert len({item.problem for item in combinations()}) == len(combinations())
    assert all(item.problem.endswith(".") and item.remedy.endswith(".") for item in combinations())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["problem"])
def test_a_problem_is_seen_where_its_versions_and_its_words_are(example: dict[str, str]) -> None:
    def found(text: str) -> list[str]:
        segments = split("", text)
        facts = facts_of(segments, example.get("issue", ""))
        packages = {name: version for name, (version, _) in listed(facts, segments).items()}
        said = known_bad(facts, IssueReport("", text), packages)
        return [item.problem for item in said if item.problem.startswith(example["problem"])]

    assert len(found(example["seen"])) == 1
    assert found(example["unseen"]) == []


def test_each_problem_has_its_example() -> None:
    assert len({example["problem"] for example in EXAMPLES}) == len(combinations())
    assert all(any(item.problem.startswith(one["problem"]) for one in EXAMPLES) for item in combinations())


def test_a_combination_names_only_facts_that_reports_state() -> None:
    for item in combinations():
        assert item.when.model_dump(exclude_none=True).keys() <= {field.name for field in fields(EnvironmentFacts)}
        assert item.when.framework in {None, *projects().all}


def test_every_condition_on_a_version_is_a_specifier() -> None:
    for item in combinations():
        for fact, wanted in item.when.model_dump(exclude_none=True, exclude={"framework", "gpu_model"}).items():
            assert str(SpecifierSet(wanted)), fact


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({"cuda": "12.4", "driver": "470.82.01"}, ["minor-version-compatibility.html"]),
        ({"cuda": "12.4", "driver": "525.60.13"}, []),
        ({"cuda": "12.4"}, []),
        ({"torch": "2.7.0+cu126"}, ["153960"]),
        ({"torch": "2.7"}, []),
        ({"torch": "2.7.1"}, []),
        ({"framework": "DeepSpeed", "framework_version": "0.14.0", "torch": "2.4.1"}, ["5337"]),
        ({"framework": "DeepSpeed", "framework_version": "0.14.0", "torch": "2.4.0a0+07cecf4168.nv24.05"}, []),
        ({"framework": "Ray", "framework_version": "0.14.0", "torch": "2.4.1"}, []),
        ({"framework": "DeepSpeed", "framework_version": "0.18.2"}, ["7718"]),
        ({"framework": "DeepSpeed", "framework_version": "0.18.3"}, []),
        ({"gpu_model": "NVIDIA GeForce RTX 5090", "cuda": "12.4"}, ["150733"]),
        ({"gpu_model": "RTX 5000 Ada", "cuda": "12.4"}, []),
        ({"gpu_model": "H100 80GB", "cuda": "11.7"}, ["110153"]),
        ({"nccl": "2.16.5+cuda12.0"}, ["97843"]),
        ({"nccl": "unknown-nightly"}, []),
        ({"nccl": "2.17"}, []),  # 2.17.1 is good
        ({"nccl": "2.14"}, ["97843"]),  # whatever its third number is
        ({"framework": "DeepSpeed", "framework_version": "0.17"}, []),
        ({"framework": "DeepSpeed", "framework_version": "0.18"}, []),
    ],
)
def test_a_combination_holds_only_where_every_fact_is_stated_and_in_range(
    facts: dict[str, str], found: list[str]
) -> None:
    assert sources(**facts) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("DeepSpeed 0.14.0 works. After the upgrade to DeepSpeed 0.16.4 with torch 2.5.1+cu124 it hangs", []),
        ("It worked with torch 2.7.0. After the upgrade to torch 2.8.0 it hangs", []),
        ("It does not happen with NCCL 2.29.2, only with 2.29.7", []),
        ("I downgraded from DeepSpeed 0.18.1 to DeepSpeed 0.16.2", []),
        ("The old machine had CUDA 12.1 and a 3090; the new one has an RTX 5090 with torch 2.7.1+cu128", []),
        ("RTX 5090, CUDA 12.1: no kernel image", ["150733"]),
        ("DeepSpeed 0.14.0 with torch 2.4.1, `pip list`: deepspeed==0.14.0, torch==2.4.1+cu121", ["5337"]),
        ("RCCL 2.16.5", []),
        ("DeepSpeed commit 0a12345 with torch 2.4.1", []),
    ],
)
def test_nothing_is_said_of_a_release_that_may_be_the_one_that_works(text: str, found: list[str]) -> None:
    assert sources_of(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("torch 2.7.0 is slow", []),
        ("vLLM 0.9.1 with torch 2.7.0 hangs", []),
        ("torch 2.7.0, device_id: the second all_reduce hangs", ["153960"]),
        ("Python 3.12, torch 2.3.1: DDP is slow", []),
        ("Python 3.12, torch 2.3.1: torch.compile fails", ["120233"]),
        ("NCCL 2.14.3 crashes", []),
        ("NCCL 2.14.3 with CUDA_LAUNCH_BLOCKING=1", ["97843"]),
        ("DeepSpeed 0.17.6, ZeRO-3", []),
        ('DeepSpeed 0.17.6, {"stage": 2}: wrong gradients', ["7718"]),
        ("Nvidia driver version: 470.82.01, CUDA 12.4", []),
        ("Error 803. Nvidia driver version: 470.82.01, CUDA 12.4", ["minor-version-compatibility.html"]),
        ("Is CUDA available: True\nNvidia driver version: 470.82.01, CUDA 12.4", []),
        ("torch==2.7.0 works fine, 2.8.0 hangs", []),
        ("torch 2.7.0 hangs with device_id, with 2.6.0 it works", ["153960"]),
        ("NCCL 2.29.2 hangs. Downgrading to NCCL 2.28.9 solves it", ["174338"]),
        ("With DeepSpeed 0.1.dev7393+gb1c1fe3 and torch 2.4.1", []),
        ("RTX 5090, torch 2.6.0+cu124: no kernel image", ["150733"]),
    ],
)
def test_a_problem_is_named_only_to_who_may_have_it_and_once(text: str, found: list[str]) -> None:
    assert sources_of(text) == found


def test_words_are_written_as_the_text_is_compared() -> None:
    words = [word for item in combinations() for word in (*item.mentions, *item.also, *item.unless)]
    assert words
    assert words == [word.lower() for word in words]


def test_a_wrong_entry_is_refused() -> None:
    entry = {"problem": "P.", "remedy": "R.", "source": "https://example.org/1"}
    Combination.model_validate({**entry, "when": {"torch": "<2"}})
    with pytest.raises(ValidationError):
        Combination.model_validate({**entry, "when": {"colour": "red"}})
    with pytest.raises(ValidationError):
        Combination.model_validate({**entry, "when": {}, "source": "somewhere"})


def test_a_verdict_names_the_known_problem_of_the_versions_in_the_report(tiny_classifier: Classifier) -> None:
    report = IssueReport("Loss differs", "With deepspeed 0.17.6 and ZeRO-2 the grad norm is too low.")
    verdict = tiny_classifier.classify(report, Mode.BALANCED)
    assert [item.source.rpartition("/")[2] for item in verdict.known_problems] == ["7718"]


def test_a_verdict_names_two_listed_versions_that_do_not_fit_with_their_places(tiny_classifier: Classifier) -> None:
    body = "It crashes at once.\n\n```\n[pip3] nvidia-nccl-cu12==2.25.1\n[pip3] torch==2.6.0\n[pip3] numpy==1.26.4\n```"
    problem = tiny_classifier.classify(IssueReport("Worker died", body), Mode.BALANCED).known_problems[0]
    assert problem.problem == "torch 2.6.0 comes with NCCL 2.21.5; here it is 2.25.1."
    assert problem.remedy == "Install `nvidia-nccl-cu12==2.21.5`."
    assert problem.source == "https://pypi.org/project/torch/2.6.0/"
    assert problem.mismatch is not None
    assert (problem.mismatch.at.line, problem.mismatch.found_at.line) == (5, 4)
