"""What is advised and asked fits the device, the system, the framework and the stage of a report."""

from __future__ import annotations

import pytest

from distriage.answer.playbooks import checks_for
from distriage.answer.questions import missing_facts
from distriage.base.types import IssueReport
from distriage.facts.environment import find_facts
from distriage.facts.situation import Platform, Situation
from distriage.model.taxonomy import default_taxonomy
from distriage.reading.report import read

TAXONOMY = default_taxonomy()


def read_as(text: str) -> Situation:
    return read(IssueReport("It fails", text)).situation


@pytest.mark.parametrize(
    ("text", "platform"),
    [
        ("8 A100, CUDA 12.1", Platform.NVIDIA),
        ("It hangs.", Platform.NVIDIA),
        ("MI300X with ROCm 6.2", Platform.ROCM),
        ("RuntimeError: HIP error: invalid device function", Platform.ROCM),
        ("ROCM used to build PyTorch: N/A\nHIP runtime version: N/A\nIs XPU available: False", Platform.NVIDIA),
        ("Ascend 910B with torch_npu 2.1.0", Platform.NPU),
        ("昇腾 上训练卡住", Platform.NPU),
        ("FSDP on TPU v4-32", Platform.TPU),
        ("File transformers/utils.py, in is_torch_xla_available", Platform.NVIDIA),
        ("8 Gaudi2 with SynapseAI 1.18", Platform.HPU),
        ("import intel_extension_for_pytorch fails", Platform.XPU),
        ("one Intel Max 1550 GPU", Platform.XPU),
        ("two Radeon RX 7900 XTX", Platform.ROCM),
        ("Apple M2 Max", Platform.MACOS),
        ("M3 Max, 64 GB", Platform.MACOS),
        ("RX 7900 XTX", Platform.ROCM),
        ("Windows 11 with WSL2, RTX 3090", Platform.NVIDIA),
        ("a chip error on Intel architecture, output v2", Platform.NVIDIA),
        ("macOS 15.3, M3", Platform.MACOS),
        ("with my MacBook Air", Platform.MACOS),
        ("every node has a MAC address", Platform.NVIDIA),
        ("from macOS I start a job with CUDA 12.1", Platform.NVIDIA),
        ("Windows 11, RTX 4070", Platform.WINDOWS),
        ("WSL2 on Windows 11, RTX 3090", Platform.NVIDIA),
        ("On 8 H100 it is slower than on a TPU v4 with libtpu", Platform.NVIDIA),
    ],
)
def test_the_platform_is_what_the_report_speaks_of(text: str, platform: Platform) -> None:
    assert read_as(text).platform is platform


@pytest.mark.parametrize(
    ("text", "symptom", "part"),
    [
        ("CUDA error with HIP error on 2 MI300X", "native-crash", "`AMD_SERIALIZE_KERNEL=3`"),
        (
            "ROCm 6.2: hipcc fails for cpu_adam of torch",
            "extension-build-failure",
            "`hipcc --version` with `torch.version.hip`",
        ),
        ("NCCL error on 8 MI300X with ROCm 6.2", "collective-communication-error", "rccl-tests' `all_reduce_perf`"),
        (
            "RuntimeError: aclnn error on 8 Ascend 910B",
            "collective-communication-error",
            "`all_reduce_test`",
        ),
        (
            "Windows 11, torch.distributed on 2 nodes: rank 1 gets connection refused by MASTER_ADDR",
            "network-connection-failure",
            "`Test-NetConnection M",
        ),
        ("8 ranks of train.py on a TPU v4-32 wait", "runtime-hang", "--pid PID` twice on each process"),
    ],
)
def test_a_command_is_called_what_it_is_called_there(text: str, symptom: str, part: str) -> None:
    (check, *_) = checks_for(TAXONOMY, {"symptom": symptom}, read_as(text).at(frozenset(), several=True))
    assert part in check


@pytest.mark.parametrize(
    ("text", "stage", "serving"),
    [
        ("vllm 0.8.5", None, True),
        ("vllm 0.8.5", "communication-setup", True),
        ("rollouts with vllm 0.8.5", "training-evaluation", False),
        ("DeepSpeed 0.14", None, False),
        ("DeepSpeed 0.14", "inference", True),
    ],
)
def test_it_serves_at_inference_and_with_a_server_that_does_not_train(
    text: str, stage: str | None, serving: bool
) -> None:
    assert (
        read_as(text).at(TAXONOMY.axis("stage").label(stage).means if stage else frozenset(), several=None).serving
        is serving
    )


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("It fails on v0.14.", True),
        ("It fails (v0.14), too.", True),
        ("It fails with 0.14.2.", True),
        ("DeepSpeed v0.14 fails.", True),
        ("It fails in the latest image.", True),
        ("It fails in the latest docker image.", True),
        ("It fails with the newest package.", True),
        ("It fails on branch `oss`.", True),
        ("It fails on several branches (master, ours).", True),
        ("It fails on master.", True),
        ("I pulled from the main today.", True),
        ("It fails in nvcr.io/nvidia/nemo:25.04.", True),
        ("It fails in nvcr.io/nvidia/pytorch:25.04-py3.", False),
        ("Docker v24.0 and wandb", False),
        ("Ubuntu v22.04, in a container", False),
        ("Kernel v5.15 and Slurm v23.02", False),
        ("The latest checkpoint has the state of rank 0.", False),
        ("It loses the current optimizer state.", False),
        ("The main training code ends.", False),
        ("The current exit code is 1.", False),
        ("With the latest NCCL package it fails.", False),
        ("It takes another branch (see below).", False),
        ("They wait for the address of the master.", False),
        ("They reach the store on the master.", False),
        ("It fails on the main thread.", False),
    ],
)
def test_only_the_product_s_own_release_is_its_version(text: str, stated: bool) -> None:
    known = read(IssueReport("It fails", text, "deepspeedai/DeepSpeed#1"))
    assert ("framework_version" in known.facts.stated().keys() | known.situation.stated) is stated


@pytest.mark.parametrize(
    ("text", "symptom", "asked"),
    [
        ("torch_npu", "extension-build-failure", ""),
        ("torch_npu, CANN 8.0.RC3, Ascend 910B", "native-crash", ""),
        ("libtpu", "native-crash", ""),
        ("habana", "native-crash", ""),
        ("RuntimeError of MI300X with rocm", "native-crash", ""),
        ("macOS 15.3", "install-failure", ""),
        ("not working on my Mac, no CUDA", "install-failure", ""),
        ("with my MacBook Pro and mps", "native-crash", ""),
        ("horovod with tensorflow", "low-throughput", ""),
        ("horovod with tensorflow 2.12, 8 V100", "low-throughput", ""),
        ("psum of jax 0.4.30, a TPU v5e-8", "model-partition-failure", ""),
        ("psum of jax, a TPU v5e-8", "low-throughput", "Which version of JAX?"),
        ("an ajax call of a notebook, 8 V100", "low-throughput", ""),
    ],
)
def test_only_what_there_is_on_a_platform_is_asked_for(text: str, symptom: str, asked: str) -> None:
    facts, situation = find_facts("", text), read_as(text)
    questions = missing_facts(
        facts, has_error=True, likely=TAXONOMY.labels_of({"symptom": symptom}), situation=situation
    )
    anywhere = {"framework_version", "launcher"}
    own = [item.question for item in questions if item.fact not in anywhere and "PyTorch" not in item.question]
    assert "torch_npu 2" not in text or not any("PyTorch" in item.question for item in questions)
    assert [text.partition("?")[0] + "?" for text in own[:1]] == ([asked] if asked else [])
