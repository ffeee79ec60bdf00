#!/usr/bin/env bash
# Trainer's eval_loss of two processes is another number than of one; its predictions and metrics are the same.
#
# Guess: samples that only fill up the last batch are left out of the loss, as they are of the predictions.
# Seen on 2026-11-30 with transformers 5.24.0, Accelerate 1.15.0 and PyTorch 2.13.0 (CPU, gloo): five samples with the
# losses 0 to 4 in batches of 2 have the mean 2.0 in one process and 1.6 in two, where the last batch is filled up with
# sample 0 and the mean of both stands for sample 4. Predictions and compute_metrics have five samples and 2.0.
# Who meets it: whoever compares or picks checkpoints by eval_loss on small evaluation sets over many GPUs
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q transformers==5.24.0 accelerate==1.15.0 torch==2.13.0 numpy==2.4.6

cat >program.py <<'EOF'
import torch
from transformers import Trainer, TrainingArguments


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward(self, x, labels):
        return {"loss": x.mean(), "logits": x}


trainer = Trainer(
    Model(),
    TrainingArguments("out", per_device_eval_batch_size=2, use_cpu=True, disable_tqdm=True, report_to=[]),
    compute_metrics=lambda evaluated: {"mean": float(evaluated.predictions.mean())},
)
result = trainer.predict([{"x": float(sample), "labels": 0} for sample in range(5)])
print(
    trainer.args.process_index,
    "of",
    trainer.args.world_size,
    result.predictions.tolist(),
    f"loss {result.metrics['test_loss']:.3f} metric {result.metrics['test_mean']:.3f}",
)
EOF
export HF_HOME="$work" OMP_NUM_THREADS=1
venv/bin/python program.py 2>errors | grep ' of ' >seen || { cat errors; exit 1; }
venv/bin/torchrun --standalone --nproc-per-node 2 --log-dir logs --redirects 3 program.py
cat logs/*/attempt_0/*/stdout.log | grep ' of ' | sort >>seen
cat seen
diff seen - <<'EOF'
0 of 1 [0.0, 1.0, 2.0, 3.0, 4.0] loss 2.000 metric 2.000
0 of 2 [0.0, 1.0, 2.0, 3.0, 4.0] loss 1.600 metric 2.000
1 of 2 [0.0, 1.0, 2.0, 3.0, 4.0] loss 1.600 metric 2.000
EOF
