"""How many GPUs and nodes a report speaks of."""

from __future__ import annotations

from itertools import product

import pytest

from distriage.environment import find_facts


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
