"""Which of several statements counts, a labelled line before prose, and what is shown of a fact."""

from __future__ import annotations

import pytest

from distriage.base.types import IssueReport
from distriage.facts.compatibility.known_bad import known_bad
from distriage.facts.environment import find_facts


def test_a_wide_listing_is_read() -> None:
    columns = "torch                             2.4.0\nnvidia-nccl-cu12                  2.20.5\n"
    facts = find_facts(
        "",
        f"{columns}SGLang hangs.\nsglang                            0.4.4.post1\nROCM Version                 : 6.3.4",
    )
    assert (facts.torch, facts.nccl, facts.framework_version, facts.rocm) == ("2.4.0", "2.20.5", "0.4.4.post1", "6.3.4")


def test_the_nccl_that_vllm_brings_along_is_the_one_that_runs() -> None:
    text = "vLLM Version: 0.4.2\nnvidia-nccl-cu12==2.20.5\nvllm-nccl-cu12==2.18.1.0.4.0\nCUDA out of memory"
    facts = find_facts("", text)
    assert facts.nccl == "2.18.1"
    assert known_bad(facts, IssueReport("", text)) == []


@pytest.mark.parametrize(("text", "named"), [("CUDA out of memory", 1), ("KeyError: 'wk.weight'", 0)])
def test_vllm_with_a_newer_nccl_is_warned_of_memory_alone(text: str, named: int) -> None:
    text = f"vLLM fails.\nvLLM Version: 0.4.2\nnvidia-nccl-cu12==2.20.5\n{text}"
    assert len(known_bad(find_facts("", text), IssueReport("", text))) == named


TF, RAY, MXNET = "tensorflow/tensorflow#1", "ray-project/ray#1", "apache/mxnet#1"


@pytest.mark.parametrize(
    ("identifier", "title", "body", "facts"),
    [
        ("", "x", 'File "/opt/lib/python3.7/site-packages/torch/nn.py", line 3, in f\nKeyError: 1', {"python": "3.7"}),
        ("", "x", 'File "C:\\Python38\\lib\\site-packages\\a.py", line 3, in f\nKeyError: 1', {"python": "3.8"}),
        ("", "x", "nccl (2.7.8-1+cuda11.0)", {"cuda": "11.0"}),
        ("a/b#1", "Step hangs", "One Perlmutter node with 4 GPUs.", {"gpu_count": 4, "gpus_per_node": 4, "nodes": 1}),
        ("", "x", "Two p4d.24xlarge with NCCL", {"nodes": 2}),
        ("", "x", "DDP on 2x p4d.24xlarge", {"nodes": 2}),
        ("", "x", "- OS (e.g., Linux): Linux", {"os": "Linux"}),
        ("", "x", "Host Machine OS (Windows/Linux/Mac): Ubuntu 18.04", {"os": "Ubuntu 18.04"}),
        ("", "x", "With more than one GPU it hangs.", {"gpu_count": None}),
        ("", "x", "A single GPU was fine, DDP hangs.", {"gpu_count": None}),
        ("", "x", "mpirun -n 2 train, see https://a.org/Multiple-GPUs-and-machines", {"gpu_count": None}),
        ("ray-project/ray#1", "x", "Running v0.8.1 I get this.", {"framework_version": "0.8.1"}),
        ("kubeflow/kubeflow#1", "x", "Kubeflow version: (see the bottom): 1.0.0", {"framework_version": "1.0.0"}),
        (
            "ray-project/ray#1",
            "It leaks in 0.12.1",
            "Ray 0.9 was used, then Ray 0.12.1.",
            {"framework_version": "0.12.1"},
        ),
        ("apache/mxnet#1", "x", "----------Python Info----------\nVersion      : 3.6.9", {"framework_version": None}),
        ("", "x", "```\n# torch==1.13.1\ntorch==2.1.0\n```", {"torch": "2.1.0"}),
        (TF, "x", "TensorFlow version: 2.3.0\nThere is no error under TF 2.2.0.", {"framework_version": "2.3.0"}),
        (TF, "x", "TensorFlow version: v2.2.0-rc4-8-g2b96f3662b 2.2.0", {"framework_version": "2.2.0"}),
        (RAY, "x", "### Versions / Dependencies\n\nRay 2.5x, torch 2.x", {"framework_version": None}),
        (RAY, "x", "### Versions / Dependencies\n\nmaster\n\n### Script", {"framework_version": "master"}),
        (MXNET, "x", "Env: mxnet-cu90 1.0.1 on windows", {"framework_version": "1.0.1"}),
        ("a/flock#1", "x", "Flock versions: 5.0.0", {"framework_version": "5.0.0"}),
        (
            MXNET,
            "x",
            "```\n----------MXNet Info-----------\nVersion      : 1.2.0\n----------System Info----------\n"
            "Platform     : Darwin-16.7.0-x86_64\nrelease      : 16.7.0\n```",
            {"framework_version": "1.2.0", "os": "Darwin 16.7.0"},
        ),
        ("", "x", "os:Darwin 18.7.0 x86_64", {"os": "Darwin 18.7.0 x86_64"}),
        ("", "x", "- Platform: Linux-4.15.0-213-generic-x86_64-with-glibc2.27", {"os": "Linux"}),
        ("", "x", "Python 3.6.8 (default, Jan 14 2019)\n[GCC 8.0.1] on linux\n", {"os": "Linux"}),
        ("", "x", "OS Platform and Distribution (e.g., Linux Ubuntu 18.04):\nPython version: 3.6", {"os": None}),
        ("", "x", "两台各 8 卡，NNODES=2", {"gpu_count": 16, "gpus_per_node": 8}),
        ("", "x", "vllm serve m --tensor-parallel-size 8 \\\n  --data-parallel-size 2", {"gpu_count": 16}),
        ("", "x", "serve --data-parallel-size 8 --tensor-parallel-size 8 --enable-dp-attention", {"gpu_count": 8}),
        ("", "x", "Run it on a machine with more than 1 GPU.", {"gpu_count": None}),
        ("", "x", "GPU count 填 4，tensor-parallel-size : 2", {"gpu_count": 4}),
        ("", "Roadmap (2025 Q4)", "Kernels for GB300 and 8 B200", {"gpu_model": None, "gpu_count": None}),
        ("", "x", "on a 12 GB tesla k40 GPU", {"gpu_model": "K40"}),
        ("", "x", "start with the `deepspeed` launcher", {"launcher": "deepspeed"}),
    ],
)
def test_what_readers_missed_is_stated(identifier: str, title: str, body: str, facts: dict[str, object]) -> None:
    found = find_facts(title, body, identifier)
    assert {fact: getattr(found, fact) for fact in facts} == facts


def test_of_a_title_that_moves_from_one_release_to_another_the_latter_fails() -> None:
    table = "| transformers | result |\n|---|---|\n| 4.33.2 | normal |\n| 4.35.2 | IndexError |"
    found = find_facts("ZeRO-2 breaks from 4.33.2 to 4.35.2", table, "huggingface/transformers#1")
    assert found.framework_version == "4.35.2" and [(pair.works, pair.fails) for pair in found.comparisons] == [
        ("4.33.2", "4.35.2")
    ]
