#!/usr/bin/env bash
# `accelerate launch --cpu --num_processes 2` starts one process.
#
# Guess: it starts two, over gloo.
# Seen on 2026-11-29 with Accelerate 1.15.0: one process runs, without RANK or WORLD_SIZE and without a warning.
# `torchrun` starts two.
# Who meets it: developers who try a distributed script on a laptop first
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q torch==2.13.0 numpy==2.4.6 accelerate==1.15.0

echo 'import os; print("process", os.environ.get("RANK"), "of", os.environ.get("WORLD_SIZE"))' >program.py
venv/bin/accelerate launch --cpu --num_processes 2 --num_machines 1 --mixed_precision no --dynamo_backend no program.py >seen 2>&1
cat seen
diff seen - <<'EOF'
process None of None
EOF
