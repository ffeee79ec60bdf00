"""Facts that a report states about where it ran."""

from __future__ import annotations

import re
from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.base.texts import folded
from distriage.facts.environment import EnvironmentFacts, find_facts

COLLECT_ENV = """Collecting environment information...
PyTorch version: 2.1.2+cu121
Is debug build: False
CUDA used to build PyTorch: 12.1
ROCM used to build PyTorch: N/A

OS: Ubuntu 22.04.3 LTS (x86_64)
GCC version: (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0
CMake version: version 3.27.9
Libc version: glibc-2.35

Python version: 3.10.12 (main, Nov 20 2023, 15:14:05) [GCC 11.4.0] (64-bit runtime)
Python platform: Linux-5.15.0-91-generic-x86_64-with-glibc2.35
Is CUDA available: True
CUDA runtime version: 12.1.105
GPU models and configuration:
GPU 0: NVIDIA A100-SXM4-80GB
GPU 1: NVIDIA A100-SXM4-80GB
GPU 2: NVIDIA A100-SXM4-80GB
GPU 3: NVIDIA A100-SXM4-80GB

Nvidia driver version: 535.129.03
cuDNN version: Probably one of the following:
/usr/lib/x86_64-linux-gnu/libcudnn.so.8.9.7

Versions of relevant libraries:
[pip3] numpy==1.26.3
[pip3] nvidia-nccl-cu12==2.18.1
[pip3] torch==2.1.2
[pip3] deepspeed==0.12.6
"""
DS_REPORT = """--------------------------------------------------
DeepSpeed C++/CUDA extension op report
--------------------------------------------------
async_io ............... [NO] ....... [NO]
fused_adam ............. [NO] ....... [OKAY]
--------------------------------------------------
DeepSpeed general environment info:
torch install path ............... ['/opt/conda/lib/python3.10/site-packages/torch']
torch version .................... 2.0.1+cu118
deepspeed install path ........... ['/opt/conda/lib/python3.10/site-packages/deepspeed']
deepspeed info ................... 0.10.3, unknown, unknown
torch cuda version ............... 11.8
nvcc version ..................... 11.8
deepspeed wheel compiled w. ...... torch 2.0, cuda 11.8
"""
NVIDIA_SMI = """+-----------------------------------------------------------------------------+
| NVIDIA-SMI 525.105.17   Driver Version: 525.105.17   CUDA Version: 12.0     |
|   0  Tesla V100-SXM2...  On   | 00000000:00:1B.0 Off |                    0 |
"""
PROSE = """I run Megatron-LM v0.6.0 with PyTorch 2.3 and CUDA 12.4 on 2 nodes with 8x H100 each, NCCL 2.20.5,
driver 550.54.15, Ubuntu 20.04.

torchrun --nproc_per_node=8 --nnodes 2 pretrain_gpt.py
"""


def test_what_folding_makes_lower_stands_where_it_stood_and_matches_as_without_case() -> None:
    every = "".join(map(chr, range(0x110000)))
    lower = folded(every)
    assert len(lower) == len(every), "places that are found in the folded text are places of the text"
    changed = {letter: low for letter, low in zip(every, lower, strict=True) if letter != low}
    ascii_now = {letter: low for letter, low in changed.items() if low.isascii()}
    assert {*ascii_now, *ascii_lowercase} == set(re.findall("[a-z]", every, re.I))
    assert all(re.match(low, letter, re.I) for letter, low in ascii_now.items())
    assert all(bool(re.match(r"\w", letter)) == bool(re.match(r"\w", low)) for letter, low in changed.items())


@pytest.mark.parametrize(
    ("text", "ambiguous"),
    [
        ("DeepSpeed 0.14.0 gives 3.1. After the upgrade to DeepSpeed 0.16.4 it hangs", {"framework_version"}),
        ("torch 2.7.0 gives 3.1. After the upgrade to 2.8.0 it hangs", {"torch"}),
        ("It does not work with torch 2.7.0, torch 2.8.0 hangs", set()),
        ("torch 2.7.0 works. After the upgrade to 2.8.0 it hangs", set()),
        ("NCCL 2.29.2 is fine, it hangs only with 2.29.7.", set()),
        ("NCCL 2.29.2 is slow, it hangs only with 2.29.7.", {"nccl"}),
        ("从 DeepSpeed 0.14.0 升级到 0.16.4", {"framework_version"}),
        (COLLECT_ENV, set()),
        (DS_REPORT, set()),
        (PROSE, set()),
        ("torch 2.1, torch==2.1.2+cu121, torch 2.1.2", set()),
        ("torch 2.7.0 with CUDA 12.6 and 2.5x the memory, only 2.5 GB left", set()),
        ("torch 2.7.0 on Ubuntu 20.04 with python 3.12", set()),
        ("CUDA 12.1 on the old machine, here torch 2.7.1+cu128", set()),
    ],
)
def test_a_fact_of_which_several_releases_are_named_is_ambiguous(text: str, ambiguous: set[str]) -> None:
    facts = find_facts("", text)
    assert facts.ambiguous.keys() == ambiguous


NOISE = st.text(st.characters(exclude_categories=()), max_size=600)


@given(NOISE)
def test_any_text_gets_an_answer(noise: str) -> None:
    assert isinstance(find_facts(noise, noise), EnvironmentFacts)


@pytest.mark.parametrize("listing", [COLLECT_ENV, DS_REPORT, PROSE], ids=["collect_env", "ds_report", "prose"])
@given(noise=NOISE)
def test_facts_stay_if_noise_follows(listing: str, noise: str) -> None:
    expected, facts = find_facts("", listing), find_facts("", f"{listing}\n\n{noise}")
    stated = [name for name in ("torch", "python", "driver") if getattr(expected, name) is not None]
    assert stated
    assert [getattr(facts, name) for name in stated] == [getattr(expected, name) for name in stated]


@pytest.mark.parametrize(
    "piece",
    [
        *("torch ", "torch: ", "1.", "cuda " * 3, "GPU 0: ", "8 x ", "nvidia ", "deepspeed", "python\t"),
        *("deepspeed \\\n", "deepspeed " + "x" * 200, "torch 2.1 to 2.1" + "a" * 90 + "%", "torch 2.1 to ", "to 2.1a"),
        *("/ray:", "vllm/vllm-", "commit ", "vllm commit abcdef", "to accelerate ", "accelerate: ", "core_r0."),
        *("torch to ", "after upgrading torch from 1.", "mpirun ", "mpirun -H a:1,b:1,", "srun -N ", "replicaspecs: "),
        *("visible_devices=0,1,", "2 x 8 ", "8 GPU node ", "x8 ", "nodes x 8 H100 each ", "deepspeed --num_gpus "),
        *(
            "nodes with ",
            "gpu 0: NVIDIA ",
            "gpu:\n- a\n",
            "cuda:\n",
            "mpirun \\\n",
            "-tp 2 \\\n",
            "-pp 2 ",
            "8 nvidia tesla ",
            "RTX ",
            "M1 ",
            "torch 2.1 works ",
            "version (e.g., 1.0",
        ),
        *(
            "torch" + " " * 79,
            "OS: ",
            "OS Platform and Distribution (",
            "cuda version: n/a\n",
            "latest a b ",
            "git clone ",
        ),
        *(
            "tf v",
            "pl 1.2",
            "last version a ",
            "last version works ",
            "[pip3] torch==1.2\n",
            "torch: 1.2\n",
            "|   0  A ",
        ),
        *("moved a b from torch 2.1 ", "between 1.2.3", "torch 2.1 instead ", "GeForce ", "mpirun    "),
        *("mpirun -H ab,cd,", "ab,cd,", "4 prefill nodes of 8 ", "accelerators: H100:", "visible_devices=1,2\n"),
        *("1,000,", "gres=gpu:a", "nnodes=1:", "十", "三十", "第 3 ", "8 张", "两 ", "дв", "resum 1 node"),
        "load load load instead of 2 nodes, was 4 nodes ",
    ],
)
def test_a_hostile_megabyte_is_read(piece: str) -> None:
    assert isinstance(find_facts(piece, piece * (1_000_000 // len(piece))), EnvironmentFacts)


def test_a_list_of_versions_may_have_any_number_of_digits() -> None:
    assert find_facts("", f"torch 2.1 and 2.{'9' * 5000} hang").torch
