#!/usr/bin/env bash
# dist.broadcast() on gloo between tensors of one size and two types copies the bytes.
#
# Guess: an error, as all_gather gives one for two types.
# Seen on 2026-11-29 with PyTorch 2.13.0 (CPU, gloo): rank 1's int32 tensor receives the bytes of rank 0's float32:
# 1065353216 where 1.0 was sent. Nothing is raised or logged.
# Who meets it: runs in which one rank loads a checkpoint in another precision
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
x = torch.ones(2, dtype=torch.float32 if dist.get_rank() == 0 else torch.int32)
dist.broadcast(x, src=0)
print(dist.get_rank(), x.tolist())
dist.destroy_process_group()
EOF
OMP_NUM_THREADS=1 venv/bin/torchrun --standalone --nproc-per-node 2 --log-dir logs --redirects 3 program.py
cat logs/*/attempt_0/*/stdout.log | sort >seen
cat seen
diff seen - <<'EOF'
0 [1.0, 1.0]
1 [1065353216, 1065353216]
EOF
