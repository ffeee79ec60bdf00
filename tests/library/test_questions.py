"""What is asked for, since a report does not say it; and which numbers are taken for facts."""

from __future__ import annotations

import pytest

from distriage.environment import EnvironmentFacts, find_facts, find_versions
from distriage.questions import missing_facts
from distriage.taxonomy import default_taxonomy

ALL = EnvironmentFacts(
    "DeepSpeed", "0.14.2", "2.3.0", "3.10", "12.1", "2.20.5", "550.54", "A100", 8, 2, "Ubuntu 22.04", "torchrun"
)


@pytest.mark.parametrize(
    ("stage", "asked"),
    [
        (None, ["framework_version", "torch", "gpu_model", "gpu_count"]),
        ("build-import", ["framework_version", "torch", "cuda", "os"]),
        ("communication-setup", ["framework_version", "torch", "nccl", "gpu_count", "nodes", "launcher"]),
        ("data-model-preparation", ["framework_version", "torch", "gpu_count"]),
        ("training-evaluation", ["framework_version", "torch", "gpu_model", "gpu_count"]),
        ("inference", ["framework_version", "gpu_model", "gpu_count"]),
    ],
)
def test_each_stage_asks_for_what_it_needs(stage: str | None, asked: list[str]) -> None:
    assert [
        question.fact for question in missing_facts(EnvironmentFacts(), has_error=True, sure=[stage or ""])
    ] == asked
    assert missing_facts(ALL, has_error=True, sure=[stage or ""]) == []


def test_every_stage_of_the_taxonomy_has_its_own_questions() -> None:
    common = missing_facts(EnvironmentFacts(framework="x"), has_error=True)
    stages = default_taxonomy().axis("stage").label_ids
    differing = [
        stage
        for stage in stages
        if missing_facts(EnvironmentFacts(framework="x"), has_error=True, sure=[stage or ""]) != common
    ]
    assert differing == [stage for stage in stages if stage != "training-evaluation"]


def test_a_missing_error_is_asked_for_first() -> None:
    questions = missing_facts(ALL, has_error=False, sure=["inference"])
    assert [(question.fact, question.text) for question in questions] == [
        ("error", "What is the complete error message or traceback?")
    ]
    assert missing_facts(EnvironmentFacts(), has_error=False)[0].fact == "error"


@pytest.mark.parametrize("framework", ["PyTorch FSDP", "PyTorch DDP"])
def test_parts_of_pytorch_have_no_version_of_their_own(framework: str) -> None:
    assert [
        question.fact
        for question in missing_facts(EnvironmentFacts(framework=framework), has_error=True, sure=["build-import"])
    ] == ["torch", "cuda", "os"]


def test_every_question_is_one_sentence() -> None:
    for stage in (None, *default_taxonomy().axis("stage").label_ids):
        for question in missing_facts(EnvironmentFacts(), has_error=False, sure=[stage or ""]):
            assert question.text[0].isupper() and "?" in question.text and "\n" not in question.text


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("Page 3090 missing", None),
        ("step 5080 loss 0.2", None),
        ("train.py:1080", None),
        ("[4050/5004] eta 0:12", None),
        ("see #1070", None),
        ("t4 = time()", None),
        ("layer L100 to L400", None),
        ("RTX 3090", "RTX 3090"),
        ("3090 GPUs", "3090"),
        ("8x3090", "3090"),
        ("on one 4090", "4090"),
        ("GPU: 3090", "3090"),
        ("两张 3090", "3090"),
        ("2080ti", "2080ti"),
        ("on a T4", "T4"),
        ("8xa100", "a100"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
    ],
)
def test_a_gpu_is_read_only_where_the_words_speak_of_one(text: str, model: str | None) -> None:
    facts = find_facts("", text)
    assert facts.gpu_model == model
    asked = [question.fact for question in missing_facts(facts, has_error=True)]
    assert ("gpu_model" in asked) == (model is None)


def test_versions_alone_are_those_of_all_facts() -> None:
    body = "DeepSpeed version 0.14.2, torch==2.3.1, python 3.11, 8 A100"
    facts = find_facts("It hangs", body).stated()
    wanted = {name: value for name, value in facts.items() if name in {"framework", "framework_version", "torch"}}
    assert find_versions("It hangs", body) == wanted
    assert len(wanted) == 3
    assert find_versions("It hangs", "") == {}


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("torch 11.6 with DeepSpeed", {"framework": "DeepSpeed"}),  # somebody's CUDA: torch has no such release
        ("torch 11.6, torch 2.3.1", {"torch": "2.3.1"}),
        ("two 3090 cards", {"gpu_model": "3090"}),
        ("2x 3090, two 3090 cards", {"gpu_model": "3090", "gpu_count": 2}),
        ("4090卡", {"gpu_model": "4090"}),
        ("8张4090卡", {"gpu_model": "4090", "gpu_count": 8}),
        ("1024 GPUs", {"gpu_count": 1024}),
    ],
)
def test_a_number_is_taken_for_what_it_is(text: str, stated: dict[str, object]) -> None:
    assert find_facts("", text).stated() == stated
