#!/usr/bin/env bash
# torch.distributed.checkpoint loads a tensor into one of any type, without a word.
#
# Guess: another dtype is refused, as another shape is.
# Seen on 2026-11-29 with PyTorch 2.13.0 (CPU): float32 weights go into bfloat16, int64 and even bool tensors: 0.123
# becomes 0 or True. Another shape, and a key that is missing, are errors.
# Who meets it: runs that resume in another precision than they were saved in
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q torch==2.13.0 numpy==2.4.6

cat >program.py <<'EOF'
import warnings

import torch
import torch.distributed.checkpoint as checkpoint

warnings.simplefilter("ignore")
checkpoint.save({"w": torch.tensor([0.123, 2.7])}, checkpoint_id="saved")
for dtype in (torch.bfloat16, torch.int64, torch.bool):
    state = {"w": torch.zeros(2, dtype=dtype)}
    checkpoint.load(state, checkpoint_id="saved")
    print(dtype, [round(float(value), 3) for value in state["w"]])
EOF
venv/bin/python program.py 2>/dev/null >seen
cat seen
diff seen - <<'EOF'
torch.bfloat16 [0.123, 2.703]
torch.int64 [0.0, 2.0]
torch.bool [1.0, 1.0]
EOF
