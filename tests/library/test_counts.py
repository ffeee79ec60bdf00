"""How many GPUs and nodes a report speaks of."""

from __future__ import annotations

from itertools import product

import pytest

from distriage.facts.environment import find_facts


def test_the_largest_count_is_taken() -> None:
    facts = find_facts("", "On 1 node with 2 GPUs it works, on 16 nodes with 8 GPUs it hangs.")
    assert (facts.nodes, facts.gpus_per_node, facts.gpu_count) == (16, 8, 128)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("on 8 A100", 8),
        ("4 nodes x 8 H100 each", 32),
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
        ("horovodrun -np 8 python x.py", 8),
        ("4 x 4090 machine", 4),
        ("batch_size=32 gpus=4", 4),
        ("mpirun --allow-run-as-root -np 8 python x.py", 8),
        ("Trainer(devices=4)", 4),
        ("nvidia.com/gpu: 8", 8),
        ('nprocPerNode: "8"', 8),
        ("#SBATCH --gpus=16", 16),
        ("--gpus 4", 4),
        ("docker run --gpus all", None),
        ("--gpus 0,1,2,3", 4),
        ("deepspeed --include localhost:0,1,2,3 x.py", 4),
        ("CUDA_VISIBLE_DEVICES=0,1,2,3 python x.py", 4),
        ("CUDA_VISIBLE_DEVICES=3 python x.py", None),
        ("GPU count: 8", 8),
        ("GPU数量：8", 8),
        ("8个GPU", 8),
        ("八个GPU", 8),
        ("4x8 H100", 32),
        ("2 x 8 MI300X", 16),
        ("ngpus=8", 8),
        ("8卡在训练时卡住", 8),
        ("双机16卡在训练", 16),
        ("跑到第 300 步 卡在训练", None),
        ("跑到300卡在训练", None),
        ("2 T4", 2),
        ("8 A10G", 8),
        ("4 L4", 4),
        ("4 A30", 4),
        ("8 GB200", 8),
        ("2x 3090", 2),
        ("4x A5000", 4),
        ("Gaudi2 x 8", 8),
        ("4090D x 4", 4),
        ("8 HPUs", 8),
        ("x8 MI300X", 8),
        ("distributed.py:49 GPU available", None),
        ("8 A800 80 GPU cards", 8),
        ("Llama-3 GPU OOM", None),
        ("Llama 3 GPUs", None),
        ("step 8\nA100 machine", None),
        ("gpus: 3090", None),
        ("GPUs: 0,1", None),
    ],
)
def test_how_gpus_are_counted(text: str, count: int | None) -> None:
    assert find_facts("", text).gpu_count == count


@pytest.mark.parametrize(
    ("text", "total", "per_node", "nodes"),
    [
        ("2 nodes with 8x H100 each", 16, 8, 2),
        ("two nodes, each with 8 GPUs", 16, 8, 2),
        ("4 nodes with 2 T4 each", 8, 2, 4),
        ("4 nodes, 32 GPUs", 32, None, 4),
        ("4 nodes with 32 GPUs", 32, None, 4),
        ("2 nodes with 8 GPUs", 16, 8, 2),
        ("2 H800*8 nodes", 16, 8, 2),
        ("8 GPUs per node on 4 nodes", 32, 8, 4),
        ("4 nodes, 8 GPUs/node", 32, 8, 4),
        ("16 A800 nodes", None, None, 16),
        ("4 DGX H100 nodes (8 GPUs each)", 32, 8, 4),
        ("two 8-GPU nodes", 16, 8, 2),
        ("2 H100 nodes (8 gpus in each node)", 16, 8, 2),
        ("two nodes, eight MI250x GPUs each", 16, 8, 2),
        ("2 GPU nodes + 2 CPU nodes", None, None, 2),
        ("two clusters, 24 GPUs each", 24, None, None),
        ("3 nodes: A100 x 8", 8, None, 3),
        ("an 8-GPU node", 8, 8, None),
        ("torchrun --nproc_per_node=8 --nnodes=2", 16, 8, 2),
        ("torchrun --nproc_per_node=8", 8, 8, None),
        ("multi-node, torchrun --nproc_per_node=8", None, 8, None),
        ("deepspeed --num_gpus=4 --num_nodes=2 x.py", 8, 4, 2),
        ("Trainer(devices=4, num_nodes=2)", 8, 4, 2),
        ("trainer.n_gpus_per_node=8 trainer.nnodes=2", 16, 8, 2),
        ("每台8卡，共4台", 32, 8, 4),
        ("2机 x 8卡", 16, 8, 2),
        ("一台8卡机器", 8, 8, None),
        ("8 gpus * 2 nodes", 16, 8, 2),
        ("2机，每机 8 卡", 16, 8, 2),
        ("4 GPUs each with 24 GB", 4, None, None),
        ("4x RTX 3090 with 24GB each", 4, None, None),
        ("16 GPUs, world_size=16", 16, None, None),
    ],
)
def test_gpus_in_all_are_told_from_those_of_a_node(
    text: str, total: int | None, per_node: int | None, nodes: int | None
) -> None:
    facts = find_facts("", text)
    assert (facts.gpu_count, facts.gpus_per_node, facts.nodes) == (total, per_node, nodes)


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
        ("#SBATCH -N 4", 4),
        ("#SBATCH -N4 --ntasks-per-node=8", 4),
        ("srun -N 2 python x.py", 2),
        ("srun -n 8 python x.py", None),
        ("torchrun --standalone --nproc_per_node=4 x.py", 1),
        ("#SBATCH --nodes=2-4", 4),
        ("horovodrun -np 8 -H host1:4,host2:4 python x.py", 2),
        ("pytorchReplicaSpecs:\n  Master:\n    replicas: 1\n  Worker:\n    replicas: 3", 4),
        ("replicas: 3", None),
        ("Windows 10 machine", None),
        ("Intel Max 1550 server", None),
        ("4 x 4090 machine", None),
        ("a 4090 server with 4 GPUs per node", None),
        ("a dual 4090 machine", None),
        ("batch_size=64 gpus=8 nodes=2", None),
        ("Ubuntu 22 server", None),
        ("aarch-64 server", None),
        ("localhost:8000 server", None),
        ("04:20:27 server.py:228]", None),
        ("05,323 Node[0]", None),
        ("2 H800*8 nodes", 2),
        ("2-4 nodes", 4),
        ("-> 3\nnode-0:28", None),
        ("desired 8\n机器上", None),
    ],
)
def test_how_nodes_are_counted(text: str, nodes: int | None) -> None:
    assert find_facts("", text).nodes == nodes


def test_every_chinese_number_is_read_whole_or_not_at_all() -> None:
    signs = "一二两双三四五六七八九十百第"
    for said in map("".join, [*product(signs, repeat=2), *product(signs, repeat=3), *product(signs, repeat=4)]):
        facts = find_facts("", f"{said}卡")
        assert facts.gpu_count is None or 2 <= facts.gpu_count <= 99
