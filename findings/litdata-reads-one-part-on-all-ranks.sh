#!/usr/bin/env bash
# A litdata StreamingDataset made before init_process_group() reads the same part on all ranks; the rest is never read.
#
# Guess: under torchrun it finds its rank as it finds the number of ranks, or reads all while there is no process group.
# Seen on 2026-11-30 with litdata 0.2.76 and PyTorch 2.13.0 (CPU, gloo, two processes): without a process group it
# takes the number of ranks from WORLD_SIZE, which torchrun sets, and the rank from GLOBAL_RANK, which torchrun does
# not set, so each rank has the part of rank 0. It stays so where the loader is made and read after
# init_process_group(). Nothing is raised or warned, and len() is as expected. With RANK copied to GLOBAL_RANK, or
# made after it, every item is read.
# Who meets it: scripts that make their data before the process group, and inference by torchrun that needs no group
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q litdata==0.2.76 torch==2.13.0 numpy==2.4.6

cat >write.py <<'EOF'
import litdata


def item(number):
    return number


if __name__ == "__main__":
    litdata.optimize(fn=item, inputs=list(range(12)), output_dir="data", chunk_size=3, num_workers=1)
EOF
cat >program.py <<'EOF'
import os
from pathlib import Path

import litdata
import torch.distributed as dist

rank = os.environ["RANK"]


def read(dataset):
    return [int(batch) for batch in litdata.StreamingDataLoader(dataset, batch_size=1)]


early = litdata.StreamingDataset("data")
lines = [f"no process group, rank {rank}: {read(litdata.StreamingDataset('data'))}"]
os.environ["GLOBAL_RANK"] = rank
lines.append(f"with GLOBAL_RANK, rank {rank}: {read(litdata.StreamingDataset('data'))}")
del os.environ["GLOBAL_RANK"]
dist.init_process_group("gloo")
lines.append(f"made before the group and read after, rank {rank}: {read(early)}")
lines.append(f"made after, rank {rank}: {read(litdata.StreamingDataset('data'))}")
Path("seen." + rank).write_text("\n".join(lines) + "\n")
dist.destroy_process_group()
EOF
export OMP_NUM_THREADS=1
venv/bin/python write.py >out 2>&1 || { cat out; exit 1; }
venv/bin/torchrun --standalone --nproc-per-node 2 program.py >out 2>&1 || { cat out; exit 1; }
sort seen.0 seen.1 >seen
cat seen
diff seen - <<'EOF'
made after, rank 0: [0, 1, 2, 3, 4, 5]
made after, rank 1: [6, 7, 8, 9, 10, 11]
made before the group and read after, rank 0: [0, 1, 2, 3, 4, 5]
made before the group and read after, rank 1: [0, 1, 2, 3, 4, 5]
no process group, rank 0: [0, 1, 2, 3, 4, 5]
no process group, rank 1: [0, 1, 2, 3, 4, 5]
with GLOBAL_RANK, rank 0: [0, 1, 2, 3, 4, 5]
with GLOBAL_RANK, rank 1: [6, 7, 8, 9, 10, 11]
EOF
