#!/usr/bin/env bash
# Ray's log shows one worker's figures and drops those of the others as repetitions.
#
# Guess: lines that differ in a number are different lines.
# Seen on 2026-11-29 with Ray 2.60.0: deduplication leaves words with digits out of the comparison, so `loss 2.0` and
# `loss 3.0` of two workers are one line, `[repeated 2x across cluster]`. The figure of one of them stands nowhere in
# the output.
# Who meets it: readers of a training log pasted from `ray job logs` or a driver
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q ray==2.60.0

cat >program.py <<'EOF'
import time

import ray

ray.init(num_cpus=3, include_dashboard=False)


@ray.remote
def step(worker):
    time.sleep(0.5 * worker)
    print(f"loss {worker + 1}.0", flush=True)
    time.sleep(2)


ray.get([step.remote(worker) for worker in range(3)])
time.sleep(8)
EOF
venv/bin/python program.py >seen 2>&1
grep -o 'loss [0-9.]*' seen | sort -u
test "$(grep -o 'loss [0-9.]*' seen | sort -u | wc -l)" -eq 2
grep -o 'repeated 2x across cluster' seen
