#!/usr/bin/env bash
# Accelerate's find_executable_batch_size goes on after CUDA's out of memory and stops at ROCm's.
#
# Guess: any backend's out of memory lowers the batch size, and it is halved.
# Seen on 2026-11-29 with Accelerate 1.15.0: `CUDA out of memory.` takes off a tenth each time, 12 tries from 100 to
# 28; `HIP out of memory` and `NPU out of memory`, the words of ROCm's and Ascend's builds, end the run at the first
# try.
# Who meets it: users of AMD and Ascend cards
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q torch==2.13.0 numpy==2.4.6 accelerate==1.15.0

cat >program.py <<'EOF'
from accelerate.utils import find_executable_batch_size

for words in ("CUDA out of memory.", "HIP out of memory", "NPU out of memory"):
    tried = []

    @find_executable_batch_size(starting_batch_size=100)
    def train(batch_size):
        tried.append(batch_size)
        if batch_size > 30:
            raise RuntimeError(words)

    try:
        train()
    except RuntimeError:
        pass
    print(words, tried)
EOF
venv/bin/python program.py >seen
cat seen
diff seen - <<'EOF'
CUDA out of memory. [100, 90, 81, 72, 64, 57, 51, 45, 40, 36, 32, 28]
HIP out of memory [100]
NPU out of memory [100]
EOF
