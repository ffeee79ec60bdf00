#!/usr/bin/env bash
# Lightning splits the draws of each process among the processes: with a random sampler of one's own samples go missing.
#
# Guess: a SubsetRandomSampler is split over the processes as shuffle=True is, each sample once.
# Seen on 2026-11-30 with Lightning 2.6.6 and PyTorch 2.13.0 (CPU, gloo, two processes): Trainer and Fabric wrap the
# sampler and each process takes every second index of its own permutation, so without a common seed an epoch reads
# about a quarter of the samples twice and never reads another quarter. Nothing is raised or warned. With shuffle=True,
# or after seed_everything(), every sample comes once.
# Who meets it: cross-validation by SubsetRandomSampler, and samplers that balance or weigh, over many processes
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q lightning==2.6.6 torch==2.13.0 numpy==2.4.6

cat >program.py <<'EOF'
import lightning
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, SubsetRandomSampler

SAMPLES = list(range(200))


def report(name, mine):
    everyone = [None, None]
    dist.all_gather_object(everyone, mine)
    read = everyone[0] + everyone[1]
    if dist.get_rank() == 0:
        result = "each sample once" if sorted(read) == SAMPLES else "some twice, others never"
        print(f"seen: {name}: {len(read)} reads, {result}", flush=True)


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.read = []

    def training_step(self, batch):
        self.read += batch.tolist()
        return self.weight.sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def loader(**options):
    return DataLoader(SAMPLES, batch_size=10, **options)


OPTIONS = dict(accelerator="cpu", devices=2, strategy="ddp")
fabric = lightning.Fabric(**OPTIONS)
fabric.launch()
for seed in (None, 0):
    if seed is not None:
        lightning.seed_everything(seed)
    for name, options in (
        ("shuffle=True", {"shuffle": True}),
        ("SubsetRandomSampler", {"sampler": SubsetRandomSampler(SAMPLES)}),
    ):
        name += " with seed_everything" if seed is not None else ""
        batches = fabric.setup_dataloaders(loader(**options))
        report("Fabric, " + name, [sample for batch in batches for sample in batch.tolist()])
        model = Model()
        quiet = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
        lightning.Trainer(max_epochs=1, **quiet, **OPTIONS).fit(model, loader(**options))
        report("Trainer, " + name, model.read)
dist.destroy_process_group()
EOF
OMP_NUM_THREADS=1 venv/bin/torchrun --standalone --nproc-per-node 2 program.py >out 2>errors || { cat errors; exit 1; }
sed -n 's/^seen: //p' out >seen
cat seen
diff seen - <<'EOF'
Fabric, shuffle=True: 200 reads, each sample once
Trainer, shuffle=True: 200 reads, each sample once
Fabric, SubsetRandomSampler: 200 reads, some twice, others never
Trainer, SubsetRandomSampler: 200 reads, some twice, others never
Fabric, shuffle=True with seed_everything: 200 reads, each sample once
Trainer, shuffle=True with seed_everything: 200 reads, each sample once
Fabric, SubsetRandomSampler with seed_everything: 200 reads, each sample once
Trainer, SubsetRandomSampler with seed_everything: 200 reads, each sample once
EOF
