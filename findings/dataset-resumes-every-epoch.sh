#!/usr/bin/env bash
# After load_state_dict() of a datasets.IterableDataset every later pass starts at the checkpoint too.
#
# Guess: the first pass is the rest of the interrupted one, the next ones are whole.
# Seen on 2026-11-30 with datasets 5.2.0, torchdata 0.11.0 and PyTorch 2.13.0 (CPU): all passes leave out what stood
# before the checkpoint, and of a state saved at the end of a pass all are empty, without a word; so too under
# StatefulDataLoader with num_workers=0, while with one worker they are whole. set_epoch() with another number than
# the checkpoint's ends it.
# Who meets it: runs of several epochs over a stream that resume from a checkpoint and do not call set_epoch(), which
# is documented for reshuffling
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q datasets==5.2.0 torchdata==0.11.0 torch==2.13.0 numpy==2.4.6 pyarrow==26.0.1

cat >program.py <<'EOF'
from datasets import Dataset
from torchdata.stateful_dataloader import StatefulDataLoader


def stream():
    return Dataset.from_dict({"row": range(6)}).to_iterable_dataset(num_shards=2)


def resume(name, make, seen):
    first = make()
    rows = iter(first)
    for _ in range(seen):
        next(rows)
    if seen == 6:
        assert not list(rows)
    second = make()
    second.load_state_dict(first.state_dict())
    print(f"{name}, saved after {seen}:", [[int(row["row"]) for row in second] for _ in range(3)])


for seen in (4, 6):
    resume("dataset", stream, seen)
    for workers in (0, 1):
        resume(
            f"loader, {workers} workers",
            lambda: StatefulDataLoader(stream(), batch_size=None, num_workers=workers),
            seen,
        )
EOF
HF_HOME="$work" OMP_NUM_THREADS=1 venv/bin/python program.py 2>errors >seen || { cat errors; exit 1; }
cat seen
diff seen - <<'EOF'
dataset, saved after 4: [[4, 5], [4, 5], [4, 5]]
loader, 0 workers, saved after 4: [[4, 5], [4, 5], [4, 5]]
loader, 1 workers, saved after 4: [[4, 5], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]]
dataset, saved after 6: [[], [], []]
loader, 0 workers, saved after 6: [[], [], []]
loader, 1 workers, saved after 6: [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]]
EOF
