#!/usr/bin/env bash
# F.mse_loss() of a sharded DTensor: the loss is right, its gradient is too large by the number of ranks.
#
# Guess: the value and the gradient of the same loss of whole tensors, or an error.
# Seen on 2026-11-30 with PyTorch 2.13.0 (CPU, gloo): evenly sharded over N ranks, mse_loss, smooth_l1_loss, huber_loss
# and binary_cross_entropy give N times the gradient; l1_loss, binary_cross_entropy_with_logits, reduction="sum" and
# the same mean squared error written out give the right one. Sharded unevenly, the loss is wrong as well. Nothing is
# raised or logged.
# Who meets it: models under tensor parallelism that keep their output as a DTensor and regress or distil on it
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q torch==2.13.0 numpy==2.4.6

cat >program.py <<'EOF'
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

dist.init_process_group("gloo")
ranks = dist.get_world_size()
mesh = init_device_mesh("cpu", (ranks,))
losses = {
    "mse_loss": F.mse_loss,
    "smooth_l1_loss": F.smooth_l1_loss,
    "huber_loss": F.huber_loss,
    "binary_cross_entropy": F.binary_cross_entropy,
    "l1_loss": F.l1_loss,
    "binary_cross_entropy_with_logits": F.binary_cross_entropy_with_logits,
    "mse_loss, sum": lambda output, target: F.mse_loss(output, target, reduction="sum"),
    "((output - target) ** 2).mean()": lambda output, target: ((output - target) ** 2).mean(),
}
values, target = torch.linspace(0.1, 0.6, 6), torch.ones(6)
for name, loss_of in losses.items():
    whole = values.clone().requires_grad_()
    loss = loss_of(whole, target)
    loss.backward()
    sharded = distribute_tensor(values, mesh, [Shard(0)]).requires_grad_()
    sharded_loss = loss_of(sharded, distribute_tensor(target, mesh, [Shard(0)]))
    sharded_loss.backward()
    right = "right" if torch.allclose(sharded_loss.full_tensor(), loss) else "wrong"
    times = {round(float(ratio), 3) for ratio in sharded.grad.full_tensor() / whole.grad}
    print(f"{ranks} ranks, {name}: loss {right}, gradient x {times}")
five = [distribute_tensor(tensor[:5], mesh, [Shard(0)]) for tensor in (values, target)]
loss, right = F.mse_loss(*five).full_tensor(), F.mse_loss(values[:5], target[:5])
print(f"{ranks} ranks, mse_loss of five values: {loss:.4f} instead of {right:.4f}")
dist.destroy_process_group()
EOF
export OMP_NUM_THREADS=1
for ranks in 2 3; do
    venv/bin/torchrun --standalone --nproc-per-node $ranks --log-dir logs$ranks --redirects 3 program.py
    cat logs$ranks/*/attempt_0/0/stdout.log >>seen
done
cat seen
diff seen - <<'EOF'
2 ranks, mse_loss: loss right, gradient x {2.0}
2 ranks, smooth_l1_loss: loss right, gradient x {2.0}
2 ranks, huber_loss: loss right, gradient x {2.0}
2 ranks, binary_cross_entropy: loss right, gradient x {2.0}
2 ranks, l1_loss: loss right, gradient x {1.0}
2 ranks, binary_cross_entropy_with_logits: loss right, gradient x {1.0}
2 ranks, mse_loss, sum: loss right, gradient x {1.0}
2 ranks, ((output - target) ** 2).mean(): loss right, gradient x {1.0}
2 ranks, mse_loss of five values: 0.4758 instead of 0.5100
3 ranks, mse_loss: loss right, gradient x {3.0}
3 ranks, smooth_l1_loss: loss right, gradient x {3.0}
3 ranks, huber_loss: loss right, gradient x {3.0}
3 ranks, binary_cross_entropy: loss right, gradient x {3.0}
3 ranks, l1_loss: loss right, gradient x {1.0}
3 ranks, binary_cross_entropy_with_logits: loss right, gradient x {1.0}
3 ranks, mse_loss, sum: loss right, gradient x {1.0}
3 ranks, ((output - target) ** 2).mean(): loss right, gradient x {1.0}
3 ranks, mse_loss of five values: 0.4667 instead of 0.5100
EOF
