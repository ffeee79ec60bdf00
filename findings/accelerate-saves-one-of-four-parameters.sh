#!/usr/bin/env bash
# After vector_to_parameters() Accelerate's save_model() and save_state() store the first parameter alone.
#
# Guess: tensors that lie side by side in one storage are stored each for itself, or refused.
# Seen on 2026-11-30 with Accelerate 1.15.0 and PyTorch 2.13.0 (CPU): torch.nn.utils.vector_to_parameters() makes all
# parameters views of one vector. Accelerate takes them for one shared tensor, stores the first and says of the others
# "Removed shared tensor ... This should be OK". load_checkpoint_in_model() reads that file without a word, with
# strict=True too, and leaves the others as they were initialised; load_state() raises, when the training is gone.
# safetensors' save_model() refuses the model, and save_pretrained() of transformers stored all of it.
# Who meets it: federated and local-SGD training, and averaging of weights as one flat vector, before a checkpoint
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q accelerate==1.15.0 torch==2.13.0 safetensors==0.8.0 numpy==2.4.6

cat >program.py <<'EOF'
import accelerate
import torch
from safetensors.torch import load_file, save_model
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def network():
    return torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))


def equal(one, other):
    return [torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True)]


model = network()
print("parameters:", [name for name, _ in model.named_parameters()])
vector_to_parameters(parameters_to_vector(model.parameters()).detach(), model.parameters())
accelerator = accelerate.Accelerator(cpu=True)
accelerator.save_model(model, "model")
print("save_model:", list(load_file("model/model.safetensors")))
for strict in (False, True):
    fresh = network()
    accelerate.load_checkpoint_in_model(fresh, "model", strict=strict)
    print(f"loaded with strict={strict}, equal:", equal(model, fresh))

prepared = accelerator.prepare(model)
accelerator.save_state("state")
print("save_state:", list(load_file("state/model.safetensors")))
try:
    accelerator.load_state("state")
    print("load_state: no error")
except RuntimeError:
    print("load_state: RuntimeError")
try:
    save_model(model, "refused.safetensors")
    print("safetensors: saved")
except RuntimeError:
    print("safetensors: RuntimeError")
EOF
export OMP_NUM_THREADS=1
venv/bin/python program.py >seen 2>errors || { cat errors; exit 1; }
grep -o 'This should be OK' errors | uniq >>seen
cat seen
diff seen - <<'EOF'
parameters: ['0.weight', '0.bias', '1.weight', '1.bias']
save_model: ['0.weight']
loaded with strict=False, equal: [True, False, False, False]
loaded with strict=True, equal: [True, False, False, False]
save_state: ['0.weight']
load_state: RuntimeError
safetensors: RuntimeError
This should be OK
EOF
