"""Which of several statements counts, a labelled line before prose, and what is shown of a fact."""

from __future__ import annotations

import pytest

from distriage.base.types import IssueReport
from distriage.facts.environment import find_facts
from distriage.facts.known_bad import known_bad


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("torch 2.7.0 gives 3.1. After the upgrade to 2.8.0 it hangs", "2.7.0 or 2.8.0"),
        ("torch 2.7, torch 2.7.0+cu128 and torch 2.8.0 hang", "2.7.0+cu128 or 2.8.0"),
        ("torch 2.5.0, torch 2.6.0, torch 2.7.0 and torch 2.8.0 hang", "2.5.0 or 2.6.0 or others"),
        ("torch 2.7.0 hangs", "2.7.0"),
    ],
)
def test_of_an_ambiguous_fact_each_release_is_shown(text: str, shown: str) -> None:
    assert find_facts("", text).stated()["torch"] == shown


@pytest.mark.parametrize(
    ("line", "absent"),
    [
        ("NCCL version: N/A", {"nccl"}),
        ("6. NCCL version: n/a", {"nccl"}),
        ("CUDA version: N.A.", {"cuda"}),
        ("CUDA version: None", {"cuda"}),
        ("Trainer on TPU v3\nGPU models and configuration: -", set()),
        ("CUDA/cuDNN version: -", {"cuda"}),
        ("GPU models and configuration: No CUDA", {"gpu_model", "gpu_count"}),
        ("GPU model (if used): N/A", {"gpu_model", "gpu_count"}),
        ("- **CUDA/cuDNN version**: N/A", {"cuda"}),
        ("CUDA version(if there is one): None", {"cuda"}),
        ("CUDA version, if used: N/A", {"cuda"}),
        ("CUDA/cuDNN version: N/A (CPU only)", {"cuda"}),
        ("CUDA/cuDNN version: not used", {"cuda"}),
        ("  NCCL Build Version    : None", {"nccl"}),
        ("CUDA version: none (here), 12.1 (there)", set()),
        ("CUDA used to build PyTorch    : N/A", set()),
        ("Nvidia driver version: No CUDA", {"driver"}),
        ("CUDA used to build PyTorch: None", {"cuda"}),
        ("CUDA used to build PyTorch: N/A", set()),  # torch could not be imported
        ("GPU models and configuration: Could not collect", set()),
        ("gpu_ids: None", set()),
        ("the CUDA version: None of them works", set()),
        ("CUDA version: N/A\ntorch 2.4.0+cu121", set()),
    ],
)
def test_a_form_says_that_there_is_none(line: str, absent: set[str]) -> None:
    facts = find_facts("It fails", line)
    assert facts.absent == absent
    assert {fact for fact, value in facts.stated().items() if value == "none"} == absent


@pytest.mark.parametrize(
    ("text", "torch"),
    [
        ("torch 1.1 hangs.\nPyTorch version: 1.2.0", "1.2.0"),
        ("It does not occur in PyTorch 1.1 but does in PyTorch 1.2", "1.2"),
        ("PyTorch 1.1 hangs, no problem with PyTorch 1.0", "1.1"),
        ("The last release that works is torch==2.3.0, torch==2.4.0 fails", "2.4.0"),
        ("The last release that works is torch==2.3.0", None),
        ("torch 2.3.0 -> torch 2.4.0. Downgrading to 2.3.0 helps", "2.4.0"),
        ("The last working version of mine is torch 2.3.0.\n[pip3] torch==2.4.0", "2.4.0"),
        ("torch 2.3.1\n- torch: 2.4.0\n[conda] torch 2.4.0 pypi_0", "2.4.0"),
        ("PyTorch version: 2.4.0\nPyTorch version: 2.5.0", "2.4.0 or 2.5.0"),
        ("torch 2.4.1 hangs\nPyTorch version: 2.4", "2.4.1"),
        ("torch 2.14 hangs\nPyTorch version: 2.1", "2.1"),
        ("PyTorch version: N/A\nCUDA used to build PyTorch: 9.0.176", None),
        ("PyTorch version: 2.4.0\nROCM used to build PyTorch: 6.1.40091", "2.4.0"),
    ],
)
def test_a_labelled_line_comes_before_prose(text: str, torch: str | None) -> None:
    assert find_facts("It hangs", text).stated().get("torch") == torch


@pytest.mark.parametrize(
    ("text", "torch"),
    [
        ("We upgraded PyTorch from 2.3.0 to 2.4.0 and now it hangs", "2.4.0"),
        ("I have updated my torch to 2.4.0, it hangs", "2.4.0"),
        ("When I upgrade torch to 2.4.0, it hangs", "2.4.0"),
        ("torch must be upgraded torch to 2.4.0", None),
        ("We have not upgraded torch to 2.4.0", None),
        ("We moved from torch 2.3.0 to 2.4.0 and it hangs", "2.4.0"),
        ("It hangs after I migrated our code from PyTorch 2.3.0 to PyTorch 2.4.0", "2.4.0"),
        ("A regression from torch 2.3.0 to 2.4.0", "2.4.0"),
        ("I am trying to upgrade from torch 2.3.0 to 2.4.0", "2.3.0 or 2.4.0"),
        ("Please upgrade from torch 2.3.0 to 2.4.0", "2.3.0 or 2.4.0"),
        ("torch 2.4.0 is slower than 2.3.0", "2.4.0"),
        ("I am on torch 2.4.0. It is so since 2.2.0", "2.4.0"),
        ("torch 2.3.0 works, it hangs since 2.4.0", "2.4.0"),
        ("torch 2.4.0 hangs. If I install torch 2.3.0 instead of it, everything works", "2.4.0"),
        ("torch 2.4.0 hangs. torch 2.3.0 instead does not work either", "2.4.0 or 2.3.0"),
    ],
)
def test_the_version_before_an_upgrade_or_in_a_comparison_is_not_in_use(text: str, torch: str | None) -> None:
    assert find_facts("", text).stated().get("torch") == torch


@pytest.mark.parametrize(
    ("text", "cuda"),
    [
        ("CUDA used to build PyTorch: 12.1\nIs CUDA available: False\nCUDA runtime version: No CUDA\n", "none"),
        ("Cuda compilation tools, release 9.0, V9.0.176", "9.0"),
        ("CUDA 10.1, but nvcc says: Cuda compilation tools, release 9.0, V9.0.176", "10.1 or 9.0"),
        ("CUDA used to build PyTorch: 12.1\nCUDA runtime version: 12.5.82", "12.5.82"),
        ("CUDA used to build PyTorch: 12.1\nCUDA runtime version: 12.1.105", "12.1"),
        (
            "CUDA used to build PyTorch: N/A\nROCM used to build PyTorch: 6.0.32830\nCUDA runtime version: 10.1.243",
            None,
        ),
        ("torch 2.4.0+rocm6.1, CUDA 10.1", None),
        ("* CUDA:\n\t- GPU:\n\t\t- Tesla T4\n\t- available:   True\n\t- version:   10.2", "10.2"),
        ("cudatoolkit 10.0.130", "10.0.130"),
        ("conda install pytorch-cuda=12.1", "12.1"),
        ("--index-url https://download.pytorch.org/whl/cu121", "12.1"),
        ("nvcc: cuda_12.1.r12.1/compiler.32688072_0", "12.1"),
        ("Cuda 9, cuDNN v7", "9"),
        ("CUDA/cuDNN version: 10/7", "10"),
        ("on CUDA 8 GPUs", None),
        ("CUDA 12 A100", None),
        ("cuda:10 is busy", None),
        ("CUDA 12 with CUDA 12.4", "12.4"),
    ],
)
def test_which_cuda_counts(text: str, cuda: str | None) -> None:
    assert find_facts("", text).stated().get("cuda") == cuda


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
