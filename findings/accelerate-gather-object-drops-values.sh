#!/usr/bin/env bash
# accelerate.utils.gather_object() of a dictionary returns its keys; the values are lost.
#
# Guess: a list with each process's dictionary, as torch.distributed.all_gather_object() fills; its documentation
# names lists, tuples and dictionaries.
# Seen on 2026-11-30 with Accelerate 1.15.0 and PyTorch 2.13.0 (CPU, gloo): the keys of all processes, one after the
# other, without a word; a string becomes its letters, a list of dictionaries is whole, and one process alone gets the
# dictionary back.
# Who meets it: evaluation that gathers its metrics by name, written and tried in one process
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q accelerate==1.15.0 torch==2.13.0 numpy==2.4.6

cat >program.py <<'EOF'
from accelerate import Accelerator
from accelerate.utils import gather_object

accelerator = Accelerator(cpu=True)
rank = accelerator.process_index
for gathered in ({"loss": rank}, [{"loss": rank}], "ab"):
    print(f"{accelerator.num_processes}, rank {rank}: {gather_object(gathered)}")
accelerator.end_training()
EOF
OMP_NUM_THREADS=1 venv/bin/python program.py >seen
OMP_NUM_THREADS=1 venv/bin/torchrun --standalone --nproc-per-node 2 --log-dir logs --redirects 3 program.py
cat logs/*/attempt_0/*/stdout.log | sort -s -k 3,3n >>seen
cat seen
diff seen - <<'EOF'
1, rank 0: {'loss': 0}
1, rank 0: [{'loss': 0}]
1, rank 0: ab
2, rank 0: ['loss', 'loss']
2, rank 0: [{'loss': 0}, {'loss': 1}]
2, rank 0: ['a', 'b', 'a', 'b']
2, rank 1: ['loss', 'loss']
2, rank 1: [{'loss': 0}, {'loss': 1}]
2, rank 1: ['a', 'b', 'a', 'b']
EOF
