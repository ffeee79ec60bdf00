#!/usr/bin/env bash
# Lightning's Trainer does not start where mpi4py lies beside it without an MPI library.
#
# Guess: mpi4py is not touched unless MPI is asked for.
# Seen on 2026-11-29 with Lightning 2.6.6 and mpi4py 4.1.2: the wheel of mpi4py installs without an MPI; looking for a
# launcher then ends `fit` with `RuntimeError: cannot load MPI library`, on CPU and with `devices=2`.
# Who meets it: users whose requirements bring mpi4py along
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q torch==2.13.0 numpy==2.4.6 lightning==2.6.6 mpi4py==4.1.2

cat >program.py <<'EOF'
import lightning

try:
    lightning.Trainer(accelerator="cpu", devices=2, logger=False, enable_checkpointing=False)
    print("started")
except RuntimeError as error:
    print(str(error).splitlines()[0])
EOF
venv/bin/python program.py 2>/dev/null | tail -1 >seen
cat seen
diff seen - <<'EOF'
cannot load MPI library
EOF
