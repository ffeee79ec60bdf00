#!/usr/bin/env bash
# torchdata.nodes: a checkpoint of ParallelMapper(in_order=False) leaves out the items that are still being worked on.
#
# Guess: an item that was overtaken is worked on again after load_state_dict(), as StatefulDataLoader does it.
# Seen on 2026-11-30 with torchdata 0.11.0 and PyTorch 2.13.0 (CPU): item 0 is slow, items 1 to 4 overtake it, and the
# state is taken. The interrupted loader would still bring item 0; one made anew from the state goes on at 5 and never
# does. So it is with threads and with processes, in silence. StatefulDataLoader(in_order=False) with the same delay
# brings all items. The docstring does not warn of it; meta-pytorch/data#1405 (open) calls the state not reproducible.
# Who meets it: training from checkpoints on data of uneven cost (images, audio, downloads), read with in_order=False
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q torchdata==0.11.0 torch==2.13.0 numpy==2.4.6

cat >program.py <<'EOF'
import time

from torch.utils.data import Dataset
from torchdata.nodes import IterableWrapper, Loader, ParallelMapper
from torchdata.stateful_dataloader import StatefulDataLoader


def slow(item):
    if item == 0:
        time.sleep(4)
    return item


class Items(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return slow(index)


def nodes(method, in_order):
    source = IterableWrapper(range(12))
    return Loader(ParallelMapper(source, slow, num_workers=2, in_order=in_order, method=method))


def stateful(in_order):
    return StatefulDataLoader(Items(), batch_size=None, num_workers=2, in_order=in_order)


for name, make in (
    ("threads in order", lambda: nodes("thread", True)),
    ("threads", lambda: nodes("thread", False)),
    ("processes", lambda: nodes("process", False)),
    ("StatefulDataLoader", lambda: stateful(False)),
):
    loader = make()
    iterator = iter(loader)
    before = [int(next(iterator)) for _ in range(4)]
    state = loader.state_dict()
    rest = [int(item) for item in iterator]
    resumed = make()
    resumed.load_state_dict(state)
    after = [int(item) for item in resumed]
    print(f"{name}: 0 came before the checkpoint: {0 in before}; without an interruption", end=" ")
    print(f"{sorted(before + rest) == list(range(12))}; resumed, missing {sorted({*range(12)} - {*before, *after})}")
EOF
export OMP_NUM_THREADS=1
venv/bin/python program.py >seen 2>errors || { cat errors; exit 1; }
cat seen
diff seen - <<'EOF'
threads in order: 0 came before the checkpoint: True; without an interruption True; resumed, missing []
threads: 0 came before the checkpoint: False; without an interruption True; resumed, missing [0]
processes: 0 came before the checkpoint: False; without an interruption True; resumed, missing [0]
StatefulDataLoader: 0 came before the checkpoint: False; without an interruption True; resumed, missing []
EOF
