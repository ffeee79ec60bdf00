#!/usr/bin/env bash
# Orbax takes a checkpoint whose metric is NaN for the best, and deletes the best ones for it.
#
# Guess: NaN counts as no metric, or as the worst.
# Seen on 2026-11-30 with Orbax 0.12.8 and JAX 0.10.2 (CPU): with best_fn and max_to_keep=1 a NaN displaces the loss of
# 0.1 and then yields to 0.3; with max_to_keep=2 a run that diverges has only its two checkpoints of NaN left. The same
# with best_mode "max". Where all are kept, best_step() is the first after the NaN, not the best. Nothing is raised.
# Who meets it: runs that keep the best checkpoints by validation loss, as soon as one evaluation gives NaN
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q orbax-checkpoint==0.12.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6

cat >program.py <<'EOF'
import os
import tempfile

import numpy
import orbax.checkpoint as ocp

NAN = float("nan")
for mode, keep, losses in (
    ("min", 1, (0.5, 0.1, 0.3)),
    ("min", 1, (0.5, 0.1, NAN)),
    ("min", 1, (0.5, 0.1, NAN, 0.3)),
    ("min", 2, (0.5, 0.1, NAN, NAN)),
    ("max", 2, (0.5, 0.9, NAN, NAN)),
    ("min", None, (0.5, 0.1, NAN, 0.3)),
):
    options = ocp.CheckpointManagerOptions(max_to_keep=keep, best_fn=lambda metrics: metrics["loss"], best_mode=mode)
    with ocp.CheckpointManager(tempfile.mkdtemp(dir=os.getcwd()), options=options) as manager:
        for step, loss in enumerate(losses):
            manager.save(step, args=ocp.args.StandardSave({"w": numpy.ones(1)}), metrics={"loss": loss})
        manager.wait_until_finished()
        kept = [losses[step] for step in sorted(manager.all_steps())]
        print(mode, losses, "keep", keep, "-> kept", kept, "best", losses[manager.best_step()])
EOF
venv/bin/python program.py >seen 2>errors || { cat errors; exit 1; }
cat seen
diff seen - <<'EOF'
min (0.5, 0.1, 0.3) keep 1 -> kept [0.1] best 0.1
min (0.5, 0.1, nan) keep 1 -> kept [nan] best nan
min (0.5, 0.1, nan, 0.3) keep 1 -> kept [0.3] best 0.3
min (0.5, 0.1, nan, nan) keep 2 -> kept [nan, nan] best nan
max (0.5, 0.9, nan, nan) keep 2 -> kept [nan, nan] best nan
min (0.5, 0.1, nan, 0.3) keep None -> kept [0.5, 0.1, nan, 0.3] best 0.3
EOF
