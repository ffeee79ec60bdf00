#!/usr/bin/env bash
# Under fully_shard() a parameter's gradient hooks are never called: rows that a hook keeps still are trained.
#
# Guess: register_hook() on a sharded parameter is called with its gradient, or refused.
# Seen on 2026-11-30 with PyTorch 2.13.0 (CPU, gloo): a hook that zeroes the gradient of an embedding's old rows is not
# called, whether it was registered before fully_shard() or after, and one step changes all rows. Nothing is raised.
# register_post_accumulate_grad_hook() is called where it is registered after fully_shard(), and not where before.
# Who meets it: whoever trains only the embeddings of new tokens, masks or clips gradients, or logs them, by such hooks
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q torch==2.13.0 numpy==2.4.6

cat >program.py <<'EOF'
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

dist.init_process_group("gloo")
OLD = 3


def keep_old_rows(gradient):
    calls.append(1)
    mask = torch.arange(4) >= OLD
    return gradient * mask[:, None]


def count(parameter):
    later.append(1)


for case in ("no sharding", "hooks, then fully_shard", "fully_shard, then hooks"):
    calls, later = [], []
    torch.manual_seed(0)
    model = torch.nn.Embedding(4, 2)
    before = model.weight.detach().clone()
    if case.startswith("fully_shard"):
        fully_shard(model)
    model.weight.register_hook(keep_old_rows)
    model.weight.register_post_accumulate_grad_hook(count)
    if case.endswith("fully_shard"):
        fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model(torch.arange(4)).sum().backward()
    optimizer.step()
    after = model.weight.detach()
    after = after.full_tensor() if isinstance(after, DTensor) else after
    changed = (after != before).any(1).nonzero().flatten().tolist()
    if dist.get_rank() == 0:
        print(f"{case}: hook called {len(calls)}, post-accumulate hook {len(later)}, rows changed {changed}")
dist.destroy_process_group()
EOF
OMP_NUM_THREADS=1 venv/bin/torchrun --standalone --nproc-per-node 2 program.py >seen
cat seen
diff seen - <<'EOF'
no sharding: hook called 1, post-accumulate hook 1, rows changed [3]
hooks, then fully_shard: hook called 0, post-accumulate hook 0, rows changed [0, 1, 2, 3]
fully_shard, then hooks: hook called 0, post-accumulate hook 1, rows changed [0, 1, 2, 3]
EOF
