"""What is asked for, since a report does not say it; and which numbers are taken for facts."""

from __future__ import annotations

import pytest

from distriage.facts.environment import EnvironmentFacts, find_facts, find_versions
from distriage.questions import missing_facts
from distriage.taxonomy import default_taxonomy

ALL = EnvironmentFacts(
    "DeepSpeed", "0.14.2", "2.3.0", "3.10", "12.1", "2.20.5", "550.54", "A100", 16, 8, 2, "Ubuntu 22.04", "torchrun"
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


@pytest.mark.parametrize(
    ("symptom", "asked"),
    [
        ("low-throughput", False),
        ("poor-convergence", False),
        ("cross-rank-inconsistency", False),
        ("incorrect-output", False),
        ("numerical-anomaly", False),
        ("memory-growth", False),
        ("unexpected-parallelism", False),
        ("runtime-hang", True),
        ("api-exception", True),
    ],
)
def test_no_error_is_asked_for_where_the_symptom_is_none(symptom: str, asked: bool) -> None:
    assert symptom in default_taxonomy().axis("symptom").label_ids
    for thin in (False, True):
        questions = missing_facts(ALL, has_error=False, thin=thin, sure=iter(["training-evaluation", symptom]))
        assert ("error" in [question.fact for question in questions]) == (asked or thin)


@pytest.mark.parametrize("symptom", ["runtime-hang", "setup-hang"])
def test_a_hang_is_asked_what_each_rank_waits_for(symptom: str) -> None:
    assert symptom in default_taxonomy().axis("symptom").label_ids
    (question,) = missing_facts(ALL, has_error=False, sure=["training-evaluation", symptom])
    assert question.fact == "error" and "py-spy dump" in question.text and "each rank's log" in question.text
    assert missing_facts(ALL, has_error=True, sure=[symptom]) == []


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
        ("2080ti", "2080Ti"),
        ("on a T4", "T4"),
        ("8xa100", "A100"),
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
    ("text", "fact", "value"),
    [
        ("PyTorch 版本 2.2.0", "torch", "2.2.0"),
        ("pytorch 的版本是 2.2.0", "torch", "2.2.0"),
        ("使用torch2.2.0训练", "torch", "2.2.0"),
        ("PyTorch バージョン 2.2.0", "torch", "2.2.0"),
        ("PyTorch 버전: 2.2.0", "torch", "2.2.0"),
        ("torch версии 2.2.0", "torch", "2.2.0"),
        ("إصدار torch هو 2.3.0", "torch", "2.3.0"),
        ("torch version is 2.1.2", "torch", "2.1.2"),
        ("CUDA版本：12.1", "cuda", "12.1"),
        ("cuda12.1", "cuda", "12.1"),
        ("on ROCm 6.0.2", "rocm", "6.0.2"),
        ("torch 2.3.0+rocm6.0", "rocm", "6.0"),
        ("NCCL 版本 2.18.3", "nccl", "2.18.3"),
        ("DeepSpeed 版本 0.14.0", "framework_version", "0.14.0"),
        ("2枚のGPUでDeepSpeed 0.14.2を使う", "framework_version", "0.14.2"),
        ("A100で学習する", "gpu_model", "A100"),
        ("8张A100", "gpu_model", "A100"),
        ("dual 4090", "gpu_model", "4090"),
        ("Ubuntu22.04", "os", "Ubuntu22.04"),
        ("two GPUs", "gpu_count", 2),
        ("I have four A100s", "gpu_count", 4),
        ("dual 3090s", "gpu_count", 2),
        ("H100 x 8", "gpu_count", 8),
        ("A100-80G*8", "gpu_count", 8),
        ("nproc_per_node=8", "gpu_count", 8),
        ("world_size=16", "gpu_count", 16),
        ("on a single GPU", "gpu_count", 1),
        ("one A100", "gpu_count", 1),
        ("on a single GPU it works, on more GPUs it hangs", "gpu_count", None),
        ("单卡可以，多卡卡住", "gpu_count", None),
        ("八卡", "gpu_count", 8),
        ("两张4090", "gpu_count", 2),
        ("第二张卡", "gpu_count", None),
        ("各8GPUの", "gpu_count", 8),
        ("A100 8장", "gpu_count", 8),
        ("8 видеокарт", "gpu_count", 8),
        ("2 картинки", "gpu_count", None),
        ("two nodes", "nodes", 2),
        ("on both servers", "nodes", 2),
        ("两台机器", "nodes", 2),
        ("第二台机器", "nodes", None),
        ("2ノード", "nodes", 2),
        ("노드는 2개", "nodes", 2),
        ("на двух узлах", "nodes", 2),
    ],
)
def test_nobody_is_asked_for_what_is_said_in_words_or_another_language(
    text: str, fact: str, value: str | int | None
) -> None:
    assert find_facts("", text).stated().get(fact) == value


def test_nobody_is_asked_for_cuda_on_a_card_that_has_none() -> None:
    facts = find_facts("", "It does not build with ROCm 6.1")
    asked = {question.fact for question in missing_facts(facts, has_error=True, sure=["build-import"])}
    assert "cuda" not in asked and "torch" in asked


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("torch 11.6 with DeepSpeed", {"framework": "DeepSpeed"}),  # somebody's CUDA: torch has no such release
        ("torch 11.6, torch 2.3.1", {"torch": "2.3.1"}),
        ("two 3090 cards", {"gpu_model": "3090", "gpu_count": 2}),
        ("2x 3090, two 3090 cards", {"gpu_model": "3090", "gpu_count": 2}),
        ("4090卡", {"gpu_model": "4090"}),
        ("8张4090卡", {"gpu_model": "4090", "gpu_count": 8}),
        ("1024 GPUs", {"gpu_count": 1024}),
    ],
)
def test_a_number_is_taken_for_what_it_is(text: str, stated: dict[str, object]) -> None:
    assert find_facts("", text).stated() == stated
