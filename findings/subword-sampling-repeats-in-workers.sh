#!/usr/bin/env bash
# Subword sampling of tokenizers and sentencepiece draws the same in all DataLoader workers, and in every epoch again.
#
# Guess: workers draw differently, as PyTorch gives each worker a seed of its own.
# Seen on 2026-11-30 with tokenizers 0.23.3, sentencepiece 0.2.3 and PyTorch 2.13.0 (CPU): both keep a random state
# of their own that a fork copies and no seed of the worker reaches. Once the tokenizer has drawn in the main process,
# be it one trial line, the n-th draws of all workers are equal, and each epoch forks anew from that same state: four
# segmentations for sixteen draws. Before a first use in the main process, all sixteen differ. Nothing is warned.
# Who meets it: training with BPE dropout or subword regularisation in workers, after one sample was tokenised to look
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q tokenizers==0.23.3 sentencepiece==0.2.3 torch==2.13.0 numpy==2.4.6

cat >program.py <<'EOF'
import sentencepiece
import tokenizers
import torch
from torch.utils.data import DataLoader

text = " ".join(f"every worker of the training reads and splits line {line} of the text" for line in range(9))
with open("text", "w") as file:
    file.write((text + "\n") * 20)
bpe = tokenizers.Tokenizer(tokenizers.models.BPE(dropout=0.5))
bpe.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
bpe.train(["text"], tokenizers.trainers.BpeTrainer(vocab_size=200, show_progress=False))
bpe.model.dropout = 0.5
sentencepiece.SentencePieceTrainer.train(
    input="text", model_prefix="sp", vocab_size=60, hard_vocab_limit=False, minloglevel=2
)
pieces = sentencepiece.SentencePieceProcessor(model_file="sp.model")
draws = {
    "tokenizers": lambda: str(bpe.encode(text).ids),
    "sentencepiece": lambda: str(pieces.encode(text, enable_sampling=True, alpha=0.1, nbest_size=-1)),
}


class Samples(torch.utils.data.Dataset):
    def __init__(self, draw):
        self.draw = draw

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.utils.data.get_worker_info().id, torch.rand(1).item(), self.draw()


for name, draw in draws.items():
    for used in (False, True):
        if used:
            draw()
        loader = DataLoader(Samples(draw), batch_size=None, num_workers=2)
        epochs = [list(loader) for _ in range(2)]
        samples = sum(epochs, [])
        by_worker = [[drawn for worker, _, drawn in samples if worker == number] for number in (0, 1)]
        print(
            f"{name}, {'used' if used else 'not used'} before the workers start:",
            len({drawn for _, _, drawn in samples}),
            "segmentations of",
            len(samples),
            f"(torch.rand: {len({number for _, number, _ in samples})});",
            "workers equal" if by_worker[0] == by_worker[1] else "workers differ",
        )
EOF
export TOKENIZERS_PARALLELISM=false OMP_NUM_THREADS=1
venv/bin/python program.py >seen 2>errors || { cat errors; exit 1; }
cat seen
diff seen - <<'EOF'
tokenizers, not used before the workers start: 16 segmentations of 16 (torch.rand: 16); workers differ
tokenizers, used before the workers start: 4 segmentations of 16 (torch.rand: 16); workers equal
sentencepiece, not used before the workers start: 16 segmentations of 16 (torch.rand: 16); workers differ
sentencepiece, used before the workers start: 4 segmentations of 16 (torch.rand: 16); workers equal
EOF
