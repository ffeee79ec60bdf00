#!/usr/bin/env bash
# ignite.distributed.broadcast() sends a Python number as a float32: a seed or a time arrives as another number.
#
# Guess: the number arrives as it was sent, as with all_reduce() and all_gather() of the same module.
# Seen on 2026-11-30 with PyTorch-Ignite 0.5.5 and PyTorch 2.13.0 (CPU, gloo, two processes): integers come back as
# floats, 16777217 as 16777216.0, and a time in seconds is off by a minute. The sending rank gets the changed number
# too, so the ranks agree with each other and no comparison of ranks shows it. Nothing is raised or warned.
# Who meets it: scripts that send a seed, a count of samples or tokens, or a start time from rank 0 to the others
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q pytorch-ignite==0.5.5 torch==2.13.0 numpy==2.4.6

cat >program.py <<'EOF'
from pathlib import Path

import ignite.distributed as idist

idist.initialize("gloo")
rank = idist.get_rank()
lines = [f"rank {rank}: broadcast {sent!r} {idist.broadcast(sent, src=0)!r}" for sent in (7, 16777217, 1764500035.5)]
lines.append(f"rank {rank}: all_gather {idist.all_gather(16777217)!r} {idist.all_gather(1764500035.5)!r}")
lines.append(f"rank {rank}: all_reduce {idist.all_reduce(16777217, 'MAX')!r} {idist.all_reduce(1764500035.5, 'MAX')!r}")
Path(f"seen.{rank}").write_text("\n".join(lines) + "\n")
idist.finalize()
EOF
export OMP_NUM_THREADS=1
venv/bin/torchrun --standalone --nproc-per-node 2 program.py >out 2>&1 || { cat out; exit 1; }
cat seen.0 seen.1 >seen
cat seen
diff seen - <<'EOF'
rank 0: broadcast 7 7.0
rank 0: broadcast 16777217 16777216.0
rank 0: broadcast 1764500035.5 1764500096.0
rank 0: all_gather [16777217, 16777217] [1764500035.5, 1764500035.5]
rank 0: all_reduce 16777217 1764500035.5
rank 1: broadcast 7 7.0
rank 1: broadcast 16777217 16777216.0
rank 1: broadcast 1764500035.5 1764500096.0
rank 1: all_gather [16777217, 16777217] [1764500035.5, 1764500035.5]
rank 1: all_reduce 16777217 1764500035.5
EOF
