#!/usr/bin/env bash
# A checkpoint converted by dcp_to_torch loses the optimizer's state: load_state_dict() takes it and Adam starts anew.
#
# Guess: after conversion and torch.load(), the dictionary is the one that was saved.
# Seen on 2026-11-30 with PyTorch 2.13.0 (CPU): the keys 0 and 1 of an optimizer's state_dict() have become "0" and "1",
# and empty dictionaries are gone. load_state_dict() accepts it without a word, keeps the strings as further entries and
# gives no parameter its moments. checkpoint.load() of the same folder restores all.
# Who meets it: whoever saves optimizer.state_dict() with torch.distributed.checkpoint and goes on from one file
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q torch==2.13.0 numpy==2.4.6

cat >common.py <<'EOF'
import torch


def fresh():
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    return model, torch.optim.Adam(model.parameters(), lr=0.1)


def step(model, optimizer):
    optimizer.zero_grad()
    model(torch.ones(1, 2)).square().sum().backward()
    optimizer.step()
EOF
cat >save.py <<'EOF'
import torch.distributed.checkpoint as checkpoint
from common import fresh, step

model, optimizer = fresh()
for _ in range(3):
    step(model, optimizer)
state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "notes": {}}
checkpoint.save(state, checkpoint_id="folder", no_dist=True)
step(model, optimizer)
print("without a break:", [round(value, 4) for value in model.weight[0].tolist()])
EOF
cat >resume.py <<'EOF'
import torch
import torch.distributed.checkpoint as checkpoint
from common import fresh, step

for name in ("folder", "file"):
    model, optimizer = fresh()
    if name == "file":
        state = torch.load("file.pt")
        print("file:", sorted(state), list(state["optimizer"]["state"]))
    else:
        step(model, optimizer)  # so that there is a state to load into
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        checkpoint.load(state, checkpoint_id="folder", no_dist=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    print(f"{name}: Adam's step", optimizer.state[model.weight].get("step"))
    step(model, optimizer)
    print(f"{name}: goes on with", [round(value, 4) for value in model.weight[0].tolist()])
EOF
export OMP_NUM_THREADS=1
venv/bin/python -W ignore save.py >seen
venv/bin/python -m torch.distributed.checkpoint.format_utils dcp_to_torch folder file.pt >/dev/null
venv/bin/python -W ignore resume.py >>seen
cat seen
diff seen - <<'EOF'
without a break: [0.0656, 0.4502]
folder: Adam's step tensor(3.)
folder: goes on with [0.0656, 0.4502]
file: ['model', 'optimizer'] ['0', '1']
file: Adam's step None
file: goes on with [0.0041, 0.3887]
EOF
