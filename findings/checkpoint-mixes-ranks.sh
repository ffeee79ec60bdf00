#!/usr/bin/env bash
# One checkpoint of torch.distributed.checkpoint mixes ranks: a BatchNorm's mean of one, its variance of another.
#
# Guess: whatever is no DTensor is rank 0's, as from torch.save() on rank 0, or each rank finds its own again.
# Seen on 2026-11-30 with PyTorch 2.13.0 (CPU, gloo): each entry comes from the rank that has least to write so far, so
# one checkpoint of a DDP model after a step holds rank 1's running_mean beside rank 0's running_var, and every rank
# loads rank 1's Python values. Nothing is raised. DefaultSavePlanner(dedup_save_to_lowest_rank=True) takes all from
# rank 0.
# Who meets it: models with BatchNorm, and whoever adds a rank's random state or place in its data to the checkpoint
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q torch==2.13.0 numpy==2.4.6

cat >program.py <<'EOF'
import copy

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch.distributed.checkpoint import DefaultSavePlanner

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
network = torch.nn.Sequential(
    torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8)
)
model = torch.nn.parallel.DistributedDataParallel(network)
torch.manual_seed(rank)
model(torch.randn(16, 4) + rank).sum().backward()

state = network.state_dict() | {"random state": torch.get_rng_state(), "samples seen": 1000 + rank}
everyone = [None, None]
dist.all_gather_object(everyone, copy.deepcopy(state))
for name, lowest in (("default", False), ("lowest", True)):
    planner = DefaultSavePlanner(dedup_save_to_lowest_rank=lowest)
    checkpoint.save(state, checkpoint_id=name, planner=planner)
    loaded = {key: torch.zeros_like(value) if torch.is_tensor(value) else 0 for key, value in state.items()}
    checkpoint.load(loaded, checkpoint_id=name)
    for key, value in loaded.items():
        value = torch.as_tensor(value)
        owners = [owner for owner in range(2) if torch.equal(torch.as_tensor(everyone[owner][key]), value)]
        if len(owners) == 1:  # where the two ranks differ
            print(f"{name}: {key} is of rank {owners[0]}")
dist.destroy_process_group()
EOF
OMP_NUM_THREADS=1 venv/bin/torchrun --standalone --nproc-per-node 2 --log-dir logs --redirects 3 program.py
cat logs/*/attempt_0/0/stdout.log >seen
diff seen logs/*/attempt_0/1/stdout.log # both ranks load the same
cat seen
diff seen - <<'EOF'
default: 1.running_mean is of rank 1
default: 1.running_var is of rank 0
default: 3.running_mean is of rank 0
default: 3.running_var is of rank 0
default: random state is of rank 0
default: samples seen is of rank 1
lowest: 1.running_mean is of rank 0
lowest: 1.running_var is of rank 0
lowest: 3.running_mean is of rank 0
lowest: 3.running_var is of rank 0
lowest: random state is of rank 0
lowest: samples seen is of rank 0
EOF
