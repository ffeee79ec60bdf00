#!/usr/bin/env bash
# An Embedding's padding row is not zero after fully_shard() and reset_parameters(): writes to a part of a DTensor are
# lost.
#
# Guess: reset_parameters() leaves the row of padding_idx zero, as without FSDP2, or fails.
# Seen on 2026-11-30 with PyTorch 2.13.0 (CPU, gloo): it calls weight[padding_idx].fill_(0), which on a sharded weight
# changes a gathered copy; the row stays random, and as it gets no gradient, for good. weight[0].zero_(),
# weight[:2].mul_(2) and weight.diagonal().fill_(0) are lost as silently; weight[0] = 0 is an error, and masked_fill_()
# works.
# Who meets it: users of FSDP2 who build on the meta device and initialize after sharding
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

dist.init_process_group("gloo")
rank = dist.get_rank()


def whole(embedding):
    weight = embedding.weight
    return (weight.full_tensor() if hasattr(weight, "full_tensor") else weight).detach()


def make(shard):
    with torch.device("meta"):
        embedding = torch.nn.Embedding(4, 4, padding_idx=0)
    if shard:
        fully_shard(embedding)
    embedding.to_empty(device="cpu")
    torch.manual_seed(rank)
    embedding.reset_parameters()
    return embedding


writes = {
    "weight[0].zero_()": lambda weight: weight[0].zero_(),
    "weight[:2].mul_(2)": lambda weight: weight[:2].mul_(2),
    "weight.diagonal().fill_(0)": lambda weight: weight.diagonal().fill_(0),
    "weight[0] = 0": lambda weight: weight.__setitem__(0, 0),
    "weight.masked_fill_(weight > 0, 0)": lambda weight: weight.masked_fill_(weight > 0, 0),
}
for shard in (False, True):
    print(f"rank {rank}, sharded {shard}: padding row zero {not whole(make(shard))[0].any()}")
    for name, write in writes.items():
        embedding = make(shard)
        torch.nn.init.ones_(embedding.weight)
        try:
            with torch.no_grad():
                write(embedding.weight)
            done = "lost" if (whole(embedding) == 1).all() else "written"
        except Exception as error:
            done = type(error).__name__
        print(f"rank {rank}, sharded {shard}: {name} {done}")
dist.destroy_process_group()
EOF
OMP_NUM_THREADS=1 venv/bin/torchrun --standalone --nproc-per-node 2 --log-dir logs --redirects 3 program.py
cat logs/*/attempt_0/0/stdout.log >seen
sed 's/^rank 1/rank 0/' logs/*/attempt_0/1/stdout.log | diff seen - # both ranks see the same
cat seen
diff seen - <<'EOF'
rank 0, sharded False: padding row zero True
rank 0, sharded False: weight[0].zero_() written
rank 0, sharded False: weight[:2].mul_(2) written
rank 0, sharded False: weight.diagonal().fill_(0) written
rank 0, sharded False: weight[0] = 0 written
rank 0, sharded False: weight.masked_fill_(weight > 0, 0) written
rank 0, sharded True: padding row zero False
rank 0, sharded True: weight[0].zero_() lost
rank 0, sharded True: weight[:2].mul_(2) lost
rank 0, sharded True: weight.diagonal().fill_(0) lost
rank 0, sharded True: weight[0] = 0 NotImplementedError
rank 0, sharded True: weight.masked_fill_(weight > 0, 0) written
EOF
