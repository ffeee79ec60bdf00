#!/usr/bin/env bash
# After going back to an earlier step Orbax skips the saves up to the old last step: a restart gets the old branch.
#
# Guess: a step that is there already is written anew, or an error is raised.
# Seen on 2026-11-30 with Orbax 0.12.8 and JAX 0.10.2 (CPU): a run with the steps 0 to 3 is taken up again at step 1,
# with other data, as one does after a spike of the loss. Its saves of the steps 2 and 3 return False and write nothing;
# latest_step() stays 3, which holds the weights of the run that was given up, and a restart before step 4 goes on from
# those. From step 4 on the new weights are saved into the same series. Only save(force=True) raises.
# Who meets it: whoever goes back to an earlier checkpoint in the same directory, and is preempted soon after
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q orbax-checkpoint==0.12.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6

cat >program.py <<'EOF'
import os

import numpy
import orbax.checkpoint as ocp

folder = os.path.join(os.getcwd(), "checkpoints")


def weights(value):
    return ocp.args.StandardSave({"w": numpy.full(1, value)})


with ocp.CheckpointManager(folder) as manager:
    for step in range(4):
        manager.save(step, args=weights(float(step)))
    manager.wait_until_finished()

with ocp.CheckpointManager(folder) as manager:
    value = float(manager.restore(1)["w"][0])
    print("restored 1:", value)
    for step in (2, 3):
        value += 100
        print("save", step, value, manager.save(step, args=weights(value)))
    manager.wait_until_finished()
    try:
        manager.save(3, args=weights(value), force=True)
    except Exception as error:
        print("forced:", type(error).__name__)

with ocp.CheckpointManager(folder) as manager:
    latest = manager.latest_step()
    print("after a restart:", latest, manager.restore(latest)["w"].tolist())
    for step in (4, 5):
        value += 100
        print("save", step, value, manager.save(step, args=weights(value)))
    manager.wait_until_finished()
    print({step: manager.restore(step)["w"].tolist() for step in sorted(manager.all_steps())})
EOF
venv/bin/python program.py >seen 2>errors || { cat errors; exit 1; }
cat seen
diff seen - <<'EOF'
restored 1: 1.0
save 2 101.0 False
save 3 201.0 False
forced: StepAlreadyExistsError
after a restart: 3 [3.0]
save 4 301.0 True
save 5 401.0 True
{0: [0.0], 1: [1.0], 2: [2.0], 3: [3.0], 4: [301.0], 5: [401.0]}
EOF
