#!/usr/bin/env bash
# An IterableDataset that nobody shuffled comes in another order from the third pass of an Accelerate loader on.
#
# Guess: without shuffle() every pass has the order of the files.
# Seen on 2026-11-30 with datasets 5.2.0, Accelerate 1.15.0 and PyTorch 2.13.0 (CPU): the prepared loader calls
# set_epoch() at each pass, and from epoch 1 on that shuffles the shards, with the epoch as seed: with three shards
# epoch 1 happens to keep their order, 2 and 3 do not. A plain DataLoader keeps it, as does a dataset of one shard.
# Who meets it: a curriculum in the order of its files, and an evaluation loader used after each epoch whose
# predictions are matched by position
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q datasets==5.2.0 accelerate==1.15.0 torch==2.13.0 numpy==2.4.6 pyarrow==26.0.1

cat >program.py <<'EOF'
from accelerate import Accelerator
from datasets import Dataset
from torch.utils.data import DataLoader

rows = Dataset.from_dict({"row": range(6)})
accelerator = Accelerator(cpu=True)
for name, shards, prepare in (
    ("DataLoader, 3 shards", 3, lambda loader: loader),
    ("Accelerate, 1 shard", 1, accelerator.prepare),
    ("Accelerate, 3 shards", 3, accelerator.prepare),
):
    loader = prepare(DataLoader(rows.to_iterable_dataset(num_shards=shards), batch_size=2))
    for _ in range(4):
        print(name, [batch["row"].tolist() for batch in loader])
EOF
HF_HOME="$work" OMP_NUM_THREADS=1 venv/bin/python program.py >seen
cat seen
diff seen - <<'EOF'
DataLoader, 3 shards [[0, 1], [2, 3], [4, 5]]
DataLoader, 3 shards [[0, 1], [2, 3], [4, 5]]
DataLoader, 3 shards [[0, 1], [2, 3], [4, 5]]
DataLoader, 3 shards [[0, 1], [2, 3], [4, 5]]
Accelerate, 1 shard [[0, 1], [2, 3], [4, 5]]
Accelerate, 1 shard [[0, 1], [2, 3], [4, 5]]
Accelerate, 1 shard [[0, 1], [2, 3], [4, 5]]
Accelerate, 1 shard [[0, 1], [2, 3], [4, 5]]
Accelerate, 3 shards [[0, 1], [2, 3], [4, 5]]
Accelerate, 3 shards [[0, 1], [2, 3], [4, 5]]
Accelerate, 3 shards [[4, 5], [0, 1], [2, 3]]
Accelerate, 3 shards [[4, 5], [2, 3], [0, 1]]
EOF
