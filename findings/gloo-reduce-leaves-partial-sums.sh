#!/usr/bin/env bash
# dist.reduce() on gloo changes the tensors of the ranks that get no result.
#
# Guess: only the tensor of the destination changes.
# Seen on 2026-11-29 with PyTorch 2.13.0 (CPU, gloo): with three ranks the other two hold partial sums, in segments
# that depend on the algorithm: [5, 5, 6, 6] where rank 1 had put in 2.
# Who meets it: programs that go on to use their local value after a reduce
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
x = torch.full((4,), dist.get_rank() + 1.0)
dist.reduce(x, dst=0)
print(dist.get_rank(), x.tolist())
dist.destroy_process_group()
EOF
OMP_NUM_THREADS=1 venv/bin/torchrun --standalone --nproc-per-node 3 --log-dir logs --redirects 3 program.py
cat logs/*/attempt_0/*/stdout.log | sort >seen
cat seen
diff seen - <<'EOF'
0 [6.0, 6.0, 6.0, 6.0]
1 [5.0, 5.0, 6.0, 6.0]
2 [3.0, 3.0, 4.0, 4.0]
EOF
