"""The launcher that a report's commands tell."""

from __future__ import annotations

import pytest

from distriage.facts.environment import find_facts


@pytest.mark.parametrize(
    ("line", "launcher"),
    [
        ("deepspeed --num_gpus 8 train.py", "deepspeed"),
        ("$ deepspeed train.py --deepspeed_config ds.json", "deepspeed"),
        ("python -m torch.distributed.launch train.py", "torchrun"),
        ("accelerate launch train.py", "accelerate"),
        ("colossalai run --nproc_per_node 4 train.py", "colossalai"),
        ("horovodrun -np 4 python train.py", "horovodrun"),
        ("'horovodrun = horovod.runner.launch:run'", None),
        ("docker run --gpus all vllm/vllm-openai:v0.9.1 \\\n  --model m", "vllm"),
        ("docker pull vllm/vllm-openai:v0.9.1", None),
        ("/opt/bin/mpirun  -np 4 python train.py", "mpirun"),
        ("/opt/intel/mpi/bin/mpiexec.hydra -n 4 python train.py", "mpirun"),
        ("started with `/opt/openmpi/bin/mpirun`", "mpirun"),
        ("-- Found MPI: /usr/bin/mpiexec (found version 3.1)", None),
        ("-- MPIEXEC: /opt/bin/mpiexec\n-- compiling", None),
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
