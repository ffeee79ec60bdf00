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
        ("Version 0.8.3 had no such problem.", "0.8.3"),
        ("NaN with TP=2 (0.8.4 fine)", "0.8.4"),
        ("Throughput dropped by 22% compared to 0.8.4.", "0.8.4"),
        ("It got slower than with v0.8.4.", "0.8.4"),
        ("同样的命令用 0.8.4版本训练是正常的。", "0.8.4"),
        ("With torch 2.7.1 it hangs as well, but it worked in 0.8.4.", "0.8.4"),
        ("We run it with flashinfer 0.2.5.\n\nIt worked in 0.8.4.", "0.8.4"),  # which has no 0.8.4 yet
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
        "从 0.8.4 升级到 0.8.5 之后卡住",
        "Upgraded from 0.8.4 to 0.8.5 and every answer is empty.",
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
        "0.8.4 也不正常",
        "It works in 0.8.4 only if the cache is empty.",
        "Same problem: 0.8.4 works no better.",
        "Both 0.8.4 and 0.8.5 were tried; it worked in neither.",
        "Would it work with 0.8.4?",
        "With --gpu-memory-utilization 0.9 it crashes, 0.8 works.",  # a setting's
        "A learning rate of 0.01 diverges, 0.001 is fine.",
        "At a temperature of 0.7 it crashes, but 0.0 works.",
        "flashinfer 0.2.3 is fine; since 0.2.5 it crashes.",
        "It hangs with flashinfer v0.4, it works with 0.3.1.",
        "With NIXL 0.6.0 it crashes. It works with 0.5.1.",
        "The mooncake-transfer-engine 0.3.6 fails to connect, no problem with 0.3.5.",
        "After upgrading flashinfer it crashes. It works with 0.2.3.",
        "Since the flashinfer upgrade it crashes. It works with 0.2.3.",
        "After upgrading from 0.2.3 to 0.2.5 of the flashinfer plugin it crashes.",
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


@pytest.mark.parametrize(
    ("title", "body", "identifier"),
    [
        ("DDP hang", "With torch 2.8.0 the job hangs. With 2.7.1 it works fine. Ray 2.49.1.", "ray-project/ray#1"),
        ("DDP hang with torch 2.8.0", "With 2.7.1 it works fine. Ray 2.49.1.", "ray-project/ray#1"),
        ("DDP hang", "Since we updated torch it hangs. It worked in 2.7.1. Ray 2.49.1", "ray-project/ray#1"),
        ("DDP hang", "We upgraded from 2.7.1 to 2.8.0 and it hangs. Ray 2.49.1", "ray-project/ray#1"),
        ("Crash of aws-ofi-nccl v1.16.3, works with 1.14.2", "NCCL 2.27.7", "NVIDIA/nccl#1"),
        ("Hang with UCX 1.18.0, no such problem with 1.16.0", "NCCL 2.25.1", "NVIDIA/nccl#1"),
        ("Hang with an older plugin, no such problem with 1.16.0", "NCCL 2.25.1", "NVIDIA/nccl#1"),
        ("Pods stuck with JobSet v0.10.0, works with 0.8.1", "Trainer 2.1.0", "kubeflow/trainer#1"),
        ("Wrong with triton 3.5.0, works with 2.2.0", "flash-attn 2.8.3", "Dao-AILab/flash-attention#1"),
        ("DDP hang", "torch 2.8.0 hangs on Ray 2.49.1. With 2.7.1 it works.", "ray-project/ray#1"),
        (
            "DDP hang",
            "With torch 2.8.0 it hangs. So on all nodes. With 2.7.1 it works. Ray 2.49.1",
            "ray-project/ray#1",
        ),
        (
            "Hang",
            "Lightning 2.5.5. With torch 2.5.1 it hangs. With 2.4.1 it works.",
            "Lightning-AI/pytorch-lightning#1",
        ),
        ("Hang", "With torch 2.4.1 it hangs. 2.3.1 is fine. Lightning 2.3.3", "Lightning-AI/pytorch-lightning#1"),
        ("Crash", "vLLM 0.11.0 with NIXL 0.6.0 crashes. It works with 0.5.1.", "vllm-project/vllm#1"),
        (
            "Crash",
            "vLLM 0.8.5. After upgrading flashinfer to 0.2.5 it crashes. It works with 0.2.3.",
            "vllm-project/vllm#1",
        ),
        ("Hang", "NCCL 2.27.7 hangs with aws-ofi-nccl v1.16.3. Works with 1.14.2", "NVIDIA/nccl#1"),
        ("Crash", "The store-plugin 0.6.0 crashes. It works with 0.5.1. vLLM 0.11.0", "vllm-project/vllm#1"),
        ("Crash", "vLLM 0.11.0. The store-plugin 0.6.0 crashes. It works with 0.5.1.", "vllm-project/vllm#1"),
        ("GRPO with vLLM 0.11.0 hangs, works with 0.10.2", "trl 0.24.0", "huggingface/trl#1"),
        ("NaN with deepspeed 0.18.0, worked with 0.17.5", "trl 0.24.0", "huggingface/trl#1"),
    ],
)
def test_a_release_of_another_thing_gives_none(title: str, body: str, identifier: str) -> None:
    assert not any(one.fact == "framework_version" for one in find_facts(title, body, identifier).comparisons)


@pytest.mark.parametrize(
    ("body", "identifier", "pair"),
    [
        ("NCCL 2.27.7 hangs. It worked with 2.26.2.", "NVIDIA/nccl#1", ("2.26.2", "2.27.7")),
        ("Ray 2.49.1, torch 2.8.0. It worked in 2.48.0.", "ray-project/ray#1", ("2.48.0", "2.49.1")),
        ("Version 0.8.2 crashes. It worked in 0.8.1.", "Lightning-AI/pytorch-lightning#1", ("0.8.1", "0.8.2")),
        ("UCX 2.0.0 crashes; it worked in 1.18.1.", "openucx/ucx#1", ("1.18.1", "2.0.0")),
        ("vLLM 0.8.5 and tokenizers 0.21.1. The server ran fine with 0.8.4.", OURS, ("0.8.4", "0.8.5")),
        ("vLLM 0.8.5\n- fastapi 0.115.12\n- uvicorn 0.34.0\n\nIt hangs. It worked in 0.8.4.", OURS, ("0.8.4", "0.8.5")),
        ("I deploy vLLM 0.8.5 with helm chart 0.9.1. It worked fine in 0.8.4.", OURS, ("0.8.4", "0.8.5")),
        ("vLLM 0.8.5 on host 0.0.0.0 hangs. TP=2 worked fine in 0.8.4.", OURS, ("0.8.4", "0.8.5")),
        ("Since the driver upgrade it hangs. It worked in 0.8.4. vLLM 0.8.5", OURS, ("0.8.4", "0.8.5")),
        ("vLLM 0.11.0 with NIXL 0.6.0 crashes. It works with 0.10.2.", OURS, ("0.10.2", "0.11.0")),
        ("deepspeed 0.14.2, peft 0.15.0. It worked in 0.14.0.", "deepspeedai/DeepSpeed#1", ("0.14.0", "0.14.2")),
        ("accelerate 1.6.0, numpy 1.26.4. It worked in 1.5.2.", "huggingface/accelerate#1", ("1.5.2", "1.6.0")),
        ("TRL 0.16.1, deepspeed 0.16.5. It worked in 0.15.2.", "huggingface/trl#1", ("0.15.2", "0.16.1")),
        ("jax 0.4.30, flax 0.8.5. psum worked in 0.4.28.", "jax-ml/jax#1", ("0.4.28", "0.4.30")),
        ("lightning 2.2.1, torch 2.2.1. It worked in 2.1.2.", "Lightning-AI/pytorch-lightning#1", ("2.1.2", "2.2.1")),
        ("verl 0.4.0, vllm 0.8.5. It worked in 0.3.1.", "verl-project/verl#1", ("0.3.1", "0.4.0")),
        (
            "After the update from 2.0.1 to 2.1.0 it hangs. I use TF 2.0 as on TF 1.",
            "tensorflow/tensorflow#1",
            ("2.0.1", "2.1.0"),
        ),
        ("vLLM 0.8.5.\nWe use a chart 0.9.1. It worked in 0.8.4.", OURS, ("0.8.4", "0.8.5")),
        ("I use tfe version 0.5.2. In 0.4.0 it works fine.", "tf-encrypted/tf-encrypted#1", ("0.4.0", "0.5.2")),
    ],
)
def test_a_release_of_the_product_counts_beside_others(body: str, identifier: str, pair: tuple[str, str]) -> None:
    assert pairs(body, identifier) == [pair]


@pytest.mark.parametrize(
    ("title", "body", "identifier", "found"),
    [
        (
            "",
            "PyTorch 2.5.1, NCCL 2.21.5. It worked in 2.4.1.",
            "pytorch/pytorch#1",
            ("framework_version", "2.4.1", "2.5.1"),
        ),
        (
            "",
            "openrlhf 0.6.4 with vllm 0.8.5 hangs, 0.6.1 works.",
            "OpenRLHF/OpenRLHF#1",
            ("framework_version", "0.6.1", "0.6.4"),
        ),
        (
            "",
            "openrlhf 0.6.4 hangs with vllm 0.8.5; works with 0.8.2",
            "OpenRLHF/OpenRLHF#1",
            ("vLLM", "0.8.2", "0.8.5"),
        ),
        ("vllm 0.11.0 hangs, 0.8.5 is fine", "verl 0.6.0", "verl-project/verl#1", ("vLLM", "0.8.5", "0.11.0")),
        (
            "",
            "openrlhf 0.8.5 hangs with vllm 0.8.5, works with vllm 0.8.4",
            "OpenRLHF/OpenRLHF#1",
            ("vLLM", "0.8.4", "0.8.5"),
        ),
    ],
)
def test_a_release_that_worked_is_of_one_thing(
    title: str, body: str, identifier: str, found: tuple[str, str, str]
) -> None:
    assert [(one.fact, one.works, one.fails) for one in find_facts(title, body, identifier).comparisons] == [found]
