#!/usr/bin/env bash
# item() and if on a sharded DTensor: some reductions are of all ranks, some of this rank alone.
#
# Guess: a reduction of a DTensor gives the same number on every rank.
# Seen on 2026-11-29 with PyTorch 2.13.0 (CPU, gloo): sum, mean, max, norm and any give each rank the number of its
# own shard, without a warning; std and argmax of the same tensor give the global one. `if x.isnan().any()` then takes
# another branch on each rank. `.full_tensor()` before `.item()` gives the global number.
# Who meets it: users of FSDP2 and tensor parallelism who log a loss or skip a step on a NaN
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q torch==2.13.0 numpy==2.4.6

cat >program.py <<'EOF'
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

dist.init_process_group("gloo")
x = distribute_tensor(torch.arange(8.0), init_device_mesh("cpu", (2,)), [Shard(0)])
print(
    dist.get_rank(),
    *(f"{name}={getattr(x, name)().item():g}" for name in ("sum", "mean", "max", "argmax", "std")),
    f"any={bool((x > 6).any())}",
    f"full={x.sum().full_tensor().item():g}",
)
dist.destroy_process_group()
EOF
OMP_NUM_THREADS=1 venv/bin/torchrun --standalone --nproc-per-node 2 --log-dir logs --redirects 3 program.py
cat logs/*/attempt_0/*/stdout.log | sort >seen
cat seen
diff seen - <<'EOF'
0 sum=6 mean=1.5 max=3 argmax=7 std=2.44949 any=False full=28
1 sum=22 mean=5.5 max=7 argmax=7 std=2.44949 any=True full=28
EOF
