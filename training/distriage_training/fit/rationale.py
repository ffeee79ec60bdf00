"""An auxiliary task while the encoder trains: find the annotator's own words for a report among others'.

A label names one of 34 boxes; the annotator's note names the decisive clue. Learning from rationales beside labels is
the idea of Hsieh et al. 2023, "Distilling step-by-step" (arXiv 2305.02301); here the encoder recognizes the note's
embedding (InfoNCE, van den Oord et al. 2018, arXiv 1807.03748) instead of writing the note. Nothing of this is
exported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from distriage_training.fit.examples import NO_NOTE

TEMPERATURE = 0.05
DISTRACTORS = 256
NOTE_TOKENS = 48


class Rationales(nn.Module):
    """Scores a report's vector against notes.

    Args:
        notes: [records, width], unit length.
    """

    def __init__(self, notes: Tensor) -> None:
        super().__init__()
        self.register_buffer("notes", notes, persistent=False)  # made anew from the corpus in a resumed run
        self.notes: Tensor
        self.project = nn.Linear(notes.shape[1], notes.shape[1])

    def forward(self, vectors: Tensor, rows: Tensor) -> Tensor:
        """Mean cross-entropy of each report's own note among the batch's notes and random others.

        Args:
            vectors: [batch, width].
            rows: [batch], number of the report's note, or `NO_NOTE`.
        """
        known = rows != NO_NOTE
        if not bool(known.any()):
            return vectors.new_zeros(())
        rows = rows[known]
        others = torch.randint(len(self.notes), (DISTRACTORS,), device=rows.device)
        found = functional.normalize(self.project(vectors[known]).float(), dim=-1)
        scores = found @ self.notes[torch.cat([rows, others])].T / TEMPERATURE
        itself = torch.cat([rows, others])[None, :] == rows[:, None]
        scores = scores.masked_fill(
            itself & ~torch.eye(len(rows), len(rows) + DISTRACTORS, dtype=torch.bool, device=rows.device), float("-inf")
        )
        return functional.cross_entropy(scores, torch.arange(len(rows), device=rows.device))


@torch.no_grad()
def embed(encoder: Any, tokenizer: Tokenizer, texts: Sequence[str], batch_size: int = 64) -> Tensor:
    """Mean of the encoder's last layer, unit length: [texts, width] in float32."""
    tokenizer.enable_truncation(NOTE_TOKENS)
    tokenizer.no_padding()
    encodings = tokenizer.encode_batch(list(texts))
    order = sorted(range(len(texts)), key=lambda i: len(encodings[i].ids))
    vectors = torch.zeros(len(texts), encoder.config.hidden_size)
    for start in range(0, len(order), batch_size):
        members = order[start : start + batch_size]
        width = max(len(encodings[i].ids) for i in members)
        ids = torch.zeros(len(members), width, dtype=torch.long)
        mask = torch.zeros(len(members), width, dtype=torch.long)
        for row, i in enumerate(members):
            ids[row, : len(encodings[i].ids)] = torch.tensor(encodings[i].ids)
            mask[row, : len(encodings[i].ids)] = 1
        hidden = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        mean = (hidden * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
        vectors[members] = functional.normalize(mean, dim=-1)
    return vectors
