#!/usr/bin/env bash
# all_reduce(MAX) and (MIN) on gloo: whether a NaN survives depends on its rank and its place.
#
# Guess: NaN is the result wherever one rank has it, as of torch.maximum(), or nowhere.
# Seen on 2026-11-30 with PyTorch 2.13.0 (CPU, gloo): of one element only rank 0's NaN is kept; of four elements that
# are NaN on one of two ranks, whichever, two come out as NaN on both and two as the other rank's number. SUM keeps all.
# Who meets it: checks that all ranks have a finite loss or gradient, by the largest of them, tried on CPUs
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q torch==2.13.0 numpy==2.4.6

cat >program.py <<'EOF'
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
for size in (1, 4):
    for name in ("MAX", "MIN", "SUM"):
        for sick in range(2):
            loss = torch.full((size,), float("nan") if rank == sick else 1.0)
            dist.all_reduce(loss, getattr(dist.ReduceOp, name))
            print(f"rank {rank}, {name} of {size}, NaN on rank {sick}: {loss.tolist()}")
print(f"rank {rank}, torch.maximum: {torch.maximum(torch.tensor(1.0), torch.tensor(float('nan'))).item()}")
dist.destroy_process_group()
EOF
OMP_NUM_THREADS=1 venv/bin/torchrun --standalone --nproc-per-node 2 --log-dir logs --redirects 3 program.py
cat logs/*/attempt_0/0/stdout.log >seen
sed 's/^rank 1/rank 0/' logs/*/attempt_0/1/stdout.log | diff seen - # both ranks see the same
cat seen
diff seen - <<'EOF'
rank 0, MAX of 1, NaN on rank 0: [nan]
rank 0, MAX of 1, NaN on rank 1: [1.0]
rank 0, MIN of 1, NaN on rank 0: [nan]
rank 0, MIN of 1, NaN on rank 1: [1.0]
rank 0, SUM of 1, NaN on rank 0: [nan]
rank 0, SUM of 1, NaN on rank 1: [nan]
rank 0, MAX of 4, NaN on rank 0: [nan, nan, 1.0, 1.0]
rank 0, MAX of 4, NaN on rank 1: [1.0, 1.0, nan, nan]
rank 0, MIN of 4, NaN on rank 0: [nan, nan, 1.0, 1.0]
rank 0, MIN of 4, NaN on rank 1: [1.0, 1.0, nan, nan]
rank 0, SUM of 4, NaN on rank 0: [nan, nan, nan, nan]
rank 0, SUM of 4, NaN on rank 1: [nan, nan, nan, nan]
rank 0, torch.maximum: nan
EOF
