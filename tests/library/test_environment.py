"""Facts that a report states about where it ran."""

from __future__ import annotations

import re
from itertools import product
from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.environment import EnvironmentFacts, find_facts
from distriage.recipe.lines import folded
from distriage.versions import FRAMEWORKS

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


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        pytest.param(
            COLLECT_ENV,
            {
                "framework": "DeepSpeed",
                "framework_version": "0.12.6",
                "torch": "2.1.2+cu121",
                "python": "3.10.12",
                "cuda": "12.1",
                "nccl": "2.18.1",
                "driver": "535.129.03",
                "gpu_model": "A100-SXM4-80GB",
                "gpu_count": 4,
                "os": "Ubuntu 22.04.3 LTS",
            },
            id="collect_env",
        ),
        pytest.param(
            DS_REPORT,
            {"framework": "DeepSpeed", "framework_version": "0.10.3", "torch": "2.0.1+cu118", "cuda": "11.8"},
            id="ds_report",
        ),
        pytest.param(NVIDIA_SMI, {"driver": "525.105.17", "cuda": "12.0", "gpu_model": "V100-SXM2"}, id="nvidia-smi"),
        pytest.param(
            PROSE,
            {
                "framework": "Megatron-LM",
                "framework_version": "0.6.0",
                "torch": "2.3",
                "cuda": "12.4",
                "nccl": "2.20.5",
                "driver": "550.54.15",
                "gpu_model": "H100",
                "gpu_count": 8,
                "nodes": 2,
                "os": "Ubuntu 20.04",
                "launcher": "torchrun",
            },
            id="prose",
        ),
        pytest.param(
            (
                "环境：colossalai 0.3.5，torch 2.0.1，CUDA 11.7，单机 8 张 A800，Ubuntu 20.04。运行 colossalai run "
                "--nproc_per_node 8 train.py 卡住"
            ),
            {
                "framework": "Colossal-AI",
                "framework_version": "0.3.5",
                "torch": "2.0.1",
                "cuda": "11.7",
                "gpu_model": "A800",
                "gpu_count": 8,
                "nodes": 1,
                "os": "Ubuntu 20.04",
                "launcher": "colossalai",
            },
            id="Chinese, one machine",
        ),
        pytest.param(
            "2个节点，每节点8卡 910B，deepspeed==0.9.5，python 3.8.10",
            {
                "framework": "DeepSpeed",
                "framework_version": "0.9.5",
                "python": "3.8.10",
                "gpu_model": "910B",
                "gpu_count": 8,
                "nodes": 2,
            },
            id="Chinese, two nodes",
        ),
        pytest.param(
            "4x MI250X, torch 2.1.0+rocm5.6, Horovod 0.28.1, mpirun -np 8",
            {
                "framework": "Horovod",
                "framework_version": "0.28.1",
                "torch": "2.1.0+rocm5.6",
                "gpu_model": "MI250X",
                "gpu_count": 4,
                "launcher": "mpirun",
                "rocm": "5.6",
            },
            id="ROCm",
        ),
        pytest.param(
            "vllm serve meta/x --tensor-parallel-size 4\nvLLM 0.6.3.post1 on RTX 4090",
            {
                "framework": "vLLM",
                "framework_version": "0.6.3.post1",
                "gpu_model": "RTX 4090",
                "gpu_count": 4,
                "launcher": "vllm",
            },
            id="serving",
        ),
        pytest.param(
            "torch 2.4.0.dev20240601+cu124",
            {"torch": "2.4.0.dev20240601+cu124", "cuda": "12.4"},
            id="CUDA from the wheel's tag",
        ),
        pytest.param("It hangs.", {}, id="nothing"),
        pytest.param(
            "cuda:0 is busy, my torch.cuda call and 12.1 seconds, train_v2.3.py", {}, id="numbers that are no versions"
        ),
    ],
)
def test_facts_are_read_as_they_stand(body: str, facts: dict[str, str | int]) -> None:
    assert find_facts("It fails", body).stated() == facts


@pytest.mark.parametrize("name", list(FRAMEWORKS))
def test_every_framework_is_known_with_its_version(name: str) -> None:
    facts = find_facts("", f"It fails with {name} 1.2.3")
    assert (facts.framework, facts.framework_version) == (FRAMEWORKS[name], "1.2.3")


@pytest.mark.parametrize(
    ("line", "launcher"),
    [
        ("deepspeed --num_gpus 8 train.py", "deepspeed"),
        ("$ deepspeed train.py --deepspeed_config ds.json", "deepspeed"),
        ("python -m torch.distributed.launch train.py", "torchrun"),
        ("accelerate launch train.py", "accelerate"),
        ("colossalai run --nproc_per_node 4 train.py", "colossalai"),
        ("horovodrun -np 4 python train.py", "horovodrun"),
        ("srun -N 2 python train.py", "srun"),
        ("ray job submit -- python train.py", "ray"),
        ("launched with: deepspeed --hostfile hosts train.py", "deepspeed"),
        ("NCCL_DEBUG=INFO deepspeed --hostfile hosts train.py", "deepspeed"),
        ("CUDA_VISIBLE_DEVICES=0,1 deepspeed train.py", "deepspeed"),
        ("运行命令：deepspeed --num_gpus 8 train.py", "deepspeed"),
        ("I run `deepspeed --num_gpus=8 train.py`", "deepspeed"),
        ("nohup deepspeed -H hosts train.py", "deepspeed"),
        ("deepspeed \\\n  --num_gpus 8 train.py", "deepspeed"),
        ("pip install deepspeed --upgrade", None),
        ("python train.py --deepspeed --include x", None),
        ("it stops in deepspeed (runtime/utils.py)", None),
        ("python -m sglang.launch_server --tp 2", "sglang"),
        ("I use deepspeed and it fails", None),
    ],
)
def test_launchers_are_told_by_their_command(line: str, launcher: str | None) -> None:
    assert find_facts("", line).launcher == launcher


@pytest.mark.parametrize(
    ("title", "body", "framework", "version"),
    [
        ("Megatron-LM with DeepSpeed", "DeepSpeed 0.14 hangs", "Megatron-LM", None),
        ("[vLLM] hang", "", "vLLM", None),
        ("It hangs", "Ray 2.9 with vLLM 0.8.5, and vLLM alone", "vLLM", "0.8.5"),
        ("[Bug]: vLLM 0.8.5 crashes with Ray", 'File "/dist-packages/ray/_private/worker.py"\n' * 4, "vLLM", "0.8.5"),
        ("It hangs", "DeepSpeed 0.15\n" + 'File "/site-packages/accelerate/x.py"\n' * 4, "DeepSpeed", "0.15"),
        ("It hangs", 'File "C:\\site-packages\\accelerate\\x.py"', "Accelerate", None),
        ("It hangs", 'File "/site-packages/ray/_private/worker.py"', "Ray", None),
        (
            "It hangs",
            "We use DDP to accelerate training; it should accelerate it, but cannot accelerate",
            "PyTorch DDP",
            None,
        ),
        ("It hangs", "Why does accelerate 0.33 hang", "Accelerate", "0.33"),
        ("It hangs", "I had to accelerate launch it", "Accelerate", None),
        ("DDP hangs", "Lightning 2.1, strategy ddp, ddp and ddp", "Lightning", "2.1"),
        ("FSDP hangs", "DeepSpeed 0.14 does not, commit 3c1f2b0a", "PyTorch FSDP", None),
        ("FSDP hangs, DeepSpeed does not", "DeepSpeed 0.14", "PyTorch FSDP", None),
        ("Lightning with DDP hangs", "DDP, DDP", "Lightning", None),
        ("It hangs", "With FSDP and FSDP; DeepSpeed 0.14 does not", "DeepSpeed", "0.14"),
    ],
)
def test_the_framework_is_the_first_of_the_title_else_what_is_named_most(
    title: str, body: str, framework: str, version: str | None
) -> None:
    facts = find_facts(title, body)
    assert (facts.framework, facts.framework_version) == (framework, version)


def test_a_framework_in_letters_that_only_case_folding_knows_is_read() -> None:
    assert find_facts("", "f\u017fdp hangs").framework == "PyTorch FSDP"


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
    ("text", "model"),
    [
        ("on 3090 cards, then on an A100", "3090"),
        ("on an A100, then on 3090 cards", "A100"),
        ("step 3090, then on an A100", "A100"),
        ("two GH200, step 2080", "GH200"),
        ("309024G", "3090"),
    ],
)
def test_the_gpu_that_is_named_first_counts(text: str, model: str) -> None:
    assert find_facts("", text).gpu_model == model


def test_the_largest_count_is_taken() -> None:
    facts = find_facts("", "On 1 node with 2 GPUs it works, on 16 nodes with 8 GPUs it hangs.")
    assert (facts.nodes, facts.gpu_count) == (16, 8)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("on 8 A100", 8),
        ("4 nodes x 8 H100 each", 8),
        ("with 4 NVIDIA RTX 2080 Ti", 4),
        ("8xV100", 8),
        ("4 * RTX 4090", 4),
        ("16 GPUs", 16),
        ("2 V100 GPUs", 2),
        ("8-GPU node", 8),
        ("8张A800", 8),
        ("--num_gpus=4", 4),
        ("--nproc-per-node 2", 2),
        ("CUDA 12 A100", None),
        ("torch 2.1 A100", None),
        ("my 4090 RTX 4090", None),
        ("0 A100", None),
        ("1024 A100", 1024),
        ("in 2024 A100", None),
        ("1,024 GPUs", 1024),
        ("16,384 H100 GPUs", 16_384),
        ("2 nodes/16 GPUs", 16),
        ("A100x8", 8),
        ("4x RTX 6000 GPUs", 4),
        ("Quadro RTX 8000 GPU", None),
        ("8 RTX PRO 6000 GPUs", 8),
        ("needs 1.5x GPU memory", None),
        ("2x GPU memory, 10 GPU-hours, 90 GPU utilization", None),
        ("ZeRO 3 GPU", None),
        ("Python 3 GPU", None),
        ("#SBATCH --gpus-per-node=8", 8),
        ("GPUS_PER_NODE=8", 8),
        ("#SBATCH --gres=gpu:8", 8),
        ("#SBATCH --gres=gpu:a100:4", 4),
        ("num_processes: 8", 8),
        ("rerun your script specifying `--num_processes=1`", None),
        ("跑到 step 500 卡住", None),
        ("5000 张图片", None),
        ("100 张 照片", None),
        ("ZeRO-3 卡住", None),
        ("zero3 卡在 0%", None),
        ("加载到 8/8 卡住", None),
        ("vllm 0.6.3 卡死", None),
        ("训练到 1200 卡住了", None),
        ("第 3 张卡", None),
        ("P40 卡", None),
        ("2机/16卡", 16),
        ("十六张 A100", 16),
        ("两机十六卡", 16),
        ("三十二卡", 32),
        ("十张卡", 10),
        ("九卡", 9),
        ("一百二十八卡", None),
        ("几十张卡", None),
        ("第十六张卡", None),
        ("双十一卡", None),
    ],
)
def test_how_gpus_are_counted(text: str, count: int | None) -> None:
    assert find_facts("", text).gpu_count == count


@pytest.mark.parametrize("statement", ["a single node", "one machine", "单机"])
def test_a_single_node_is_stated_in_words(statement: str) -> None:
    assert find_facts("", f"I train on {statement}.").nodes == 1


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("vLLM 0.8.5 server", None),
        ("vLLM 0.8.5 server, 2 nodes", 2),
        ("Ubuntu 22.04 server, 1 node", 1),
        ("CentOS 7.9 servers", None),
        ("ZeRO-3 nodes", None),
        ("stage 3 machines", None),
        ("HTTP 500 server error", None),
        ("500 server errors", None),
        ("#SBATCH --nodes=4", 4),
        ("nnodes: 4", 4),
        ("NNODES=4", 4),
        ("num_nodes=4", 4),
        ("num_machines: 2", 2),
        ("--nnodes=1:4", 4),
        ("with one node it is fine, across nodes it hangs", None),
        ("单机没问题，多机卡住", None),
        ("第 3 台", None),
        ("十六台机器", 16),
        ("有 3 机会", None),
        ("8 узлов", 8),
    ],
)
def test_how_nodes_are_counted(text: str, nodes: int | None) -> None:
    assert find_facts("", text).nodes == nodes


def test_every_chinese_number_is_read_whole_or_not_at_all() -> None:
    signs = "一二两双三四五六七八九十百第"
    for said in map("".join, [*product(signs, repeat=2), *product(signs, repeat=3), *product(signs, repeat=4)]):
        facts = find_facts("", f"{said}卡")
        assert facts.gpu_count is None or 2 <= facts.gpu_count <= 99


@pytest.mark.parametrize(
    ("text", "fact", "value"),
    [
        ("- PyTorch version (GPU?): 2.4.1+cu121 (True)", "torch", "2.4.1+cu121"),
        ("vllm/vllm-openai:v0.6.3", "framework_version", "0.6.3"),
        ("rayproject/ray:2.9.0-gpu", "framework_version", "2.9.0"),
        ("pytorch/pytorch:2.3.0-cuda12.1-cudnn8-devel", "torch", "2.3.0"),
        ("pytorch/pytorch:2.3.0-cuda12.1-cudnn8-devel", "cuda", "12.1"),
        ("vLLM API server version 0.6.3.post1", "framework_version", "0.6.3.post1"),
        ("RCCL 2.21.5", "nccl", "RCCL 2.21.5"),
        ("Megatron-LM, branch core_r0.9.0", "framework_version", "0.9.0"),
        ("Megatron-LM commit ID: 3c1f2b0a", "framework_version", "commit 3c1f2b0a"),
        ("Megatron hangs\n- commit 3c1f2b0a", "framework_version", "commit 3c1f2b0a"),
        ("Megatron hangs at line 3 of train.py, which is of that script's commit 3c1f2b0a", "framework_version", None),
        ("CUDA 12.1 on the old machine, here torch 2.7.1+cu128", "cuda", "12.8"),
        ("A100x8", "gpu_model", "A100"),
        ("sliding windows", "os", None),
        ("larger windows of 4096", "os", None),
        ("on windows", "os", "windows"),
        ("在 windows 上", "os", "windows"),
        ("windows 11", "os", "windows 11"),
        ("Windows", "os", "Windows"),
    ],
)
def test_the_spellings_of_templates_and_images_are_read(text: str, fact: str, value: str | None) -> None:
    assert find_facts("", text).stated().get(fact) == value


@pytest.mark.parametrize(
    ("text", "ambiguous"),
    [
        ("DeepSpeed 0.14.0 works. After the upgrade to DeepSpeed 0.16.4 it hangs", {"framework_version"}),
        ("torch 2.7.0 works. After the upgrade to 2.8.0 it hangs", {"torch"}),
        ("NCCL 2.29.2 is fine, it hangs only with 2.29.7.", {"nccl"}),
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
    assert facts.ambiguous == ambiguous
    assert "ambiguous" not in facts.stated()


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
        *("1,000,", "gres=gpu:a", "nnodes=1:", "十", "三十", "第 3 ", "8 张", "两 ", "дв"),
    ],
)
def test_a_hostile_megabyte_is_read(piece: str) -> None:
    assert isinstance(find_facts(piece, piece * (1_000_000 // len(piece))), EnvironmentFacts)
