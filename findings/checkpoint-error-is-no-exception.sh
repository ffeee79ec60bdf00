#!/usr/bin/env bash
# `except Exception` does not catch a failed load of torch.distributed.checkpoint.
#
# Guess: CheckpointException is an Exception.
# Seen on 2026-11-29 with PyTorch 2.13.0 (CPU): it derives from BaseException, like KeyboardInterrupt, so `try: load()
# except Exception: start anew` ends the program.
# Who meets it: launch scripts that fall back on a fresh start
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q torch==2.13.0 numpy==2.4.6

cat >program.py <<'EOF'
import warnings

import torch
import torch.distributed.checkpoint as checkpoint

warnings.simplefilter("ignore")
checkpoint.save({"w": torch.zeros(4)}, checkpoint_id="saved")
try:
    checkpoint.load({"w": torch.zeros(5)}, checkpoint_id="saved")
except Exception as error:
    print("Exception", type(error).__name__)
except BaseException as error:
    print("BaseException", type(error).__name__)
EOF
venv/bin/python program.py 2>/dev/null >seen
cat seen
diff seen - <<'EOF'
BaseException CheckpointException
EOF
