#!/usr/bin/env bash
# safetensors.numpy saves an array that is not contiguous with other values than it has.
#
# Guess: it is copied first, or refused as safetensors.torch refuses it.
# Seen on 2026-11-29 with safetensors 0.8.0 and NumPy 2.4.6: a transposed array is written in the order of its memory
# under the transposed shape, and a strided one with its neighbours' values. Nothing is raised.
# Who meets it: converters of checkpoints that transpose weights
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q safetensors==0.8.0 numpy==2.4.6

cat >program.py <<'EOF'
import numpy
from safetensors.numpy import load, save

whole = numpy.arange(6.0).reshape(2, 3)
for name, array in (("transposed", whole.T), ("strided", whole[:, ::2])):
    print(name, array.tolist(), load(save({"w": array}))["w"].tolist())
EOF
venv/bin/python program.py >seen
cat seen
diff seen - <<'EOF'
transposed [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]] [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
strided [[0.0, 2.0], [3.0, 5.0]] [[0.0, 1.0], [2.0, 3.0]]
EOF
