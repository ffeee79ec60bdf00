#!/usr/bin/env bash
# ReduceOp.AVG on gloo: works on floats, fails on integers.
#
# Guess: gloo refuses AVG, which the documentation gives to NCCL.
# Seen on 2026-11-29 with PyTorch 2.13.0 (CPU, gloo): floats are averaged; for an int32 tensor the error says nothing
# of the operation: `result type Float can't be cast to the desired output type Int`.
# Who meets it: tests on a CPU of code that averages counters on GPUs
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
for dtype in (torch.float32, torch.int32):
    x = torch.tensor([dist.get_rank() * 2], dtype=dtype)
    try:
        dist.all_reduce(x, dist.ReduceOp.AVG)
        print(dist.get_rank(), x.tolist())
    except RuntimeError as error:
        print(dist.get_rank(), error)
dist.destroy_process_group()
EOF
OMP_NUM_THREADS=1 venv/bin/torchrun --standalone --nproc-per-node 2 --log-dir logs --redirects 3 program.py
cat logs/*/attempt_0/*/stdout.log | sort >seen
cat seen
diff seen - <<'EOF'
0 [1.0]
0 result type Float can't be cast to the desired output type Int
1 [1.0]
1 result type Float can't be cast to the desired output type Int
EOF
