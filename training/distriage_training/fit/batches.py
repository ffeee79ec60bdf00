"""The reports of a batch, and their padding."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Sampler

from distriage_training.corpus.records import UNLABELLED

WIDTHS = 32  # tokens


class BucketSampler(Sampler[int]):
    """Draws each epoch's share of every source, and batches reports of similar length, in random order.

    Padding costs as much as text; on this corpus buckets halve the tokens of an epoch.

    Args:
        lengths, sources: Of the reports.
        sample: Source -> share of its reports drawn in an epoch; 1 by default.
    """

    def __init__(
        self, lengths: Sequence[int], sources: Sequence[str], batch_size: int, sample: Mapping[str, float], seed: int
    ) -> None:
        self.lengths = lengths
        self.longest = max(lengths)
        self.batch = batch_size
        self.seed = seed
        self.epoch = 0
        by_source: dict[str, list[int]] = {}
        for i, source in enumerate(sources):
            by_source.setdefault(source, []).append(i)
        self.shares = [
            (rows, max(1, round(len(rows) * sample.get(source, 1.0)))) for source, rows in sorted(by_source.items())
        ]

    def __len__(self) -> int:
        return sum(count for _, count in self.shares)

    def set_epoch(self, epoch: int) -> None:
        """Called by the Trainer; each epoch draws and shuffles anew, the same way in a resumed run."""
        self.epoch = epoch

    def generator(self, row: int) -> np.random.Generator:
        """The random draws for one report in this epoch.

        They depend on seed, epoch and report alone: batches are fetched ahead of the steps, so PyTorch's random state
        in a checkpoint is not that of the next batch.
        """
        return np.random.default_rng((self.seed, self.epoch, row))

    def __iter__(self) -> Iterator[int]:
        rng = random.Random(f"{self.seed} {self.epoch}")
        rows = [row for members, count in self.shares for row in rng.sample(members, count)]
        rng.shuffle(rows)
        chunk = self.batch * 50
        batches = []
        for start in range(0, len(rows), chunk):
            part = sorted(rows[start : start + chunk], key=lambda row: self.lengths[row])
            batches += [part[i : i + self.batch] for i in range(0, len(part), self.batch)]
        last = batches.pop()  # the short batch stays last, so that batch borders hold
        rng.shuffle(batches)
        return iter([row for batch in [*batches, last] for row in batch])


def pad(rows: Sequence[Mapping[str, Any]], limit: int) -> dict[str, Tensor]:
    """`input_ids` and `attention_mask` [reports, tokens] of reports that become one batch.

    A width is a multiple of `WIDTHS`, or `limit`: each new shape costs memory that PyTorch does not give back on CPUs,
    and odd widths are slow in bf16.

    Args:
        limit: The longest report of all, in tokens.
    """
    longest = max(len(row["input_ids"]) for row in rows)
    width = max(longest, min(-(-longest // WIDTHS) * WIDTHS, limit))
    input_ids = torch.zeros(len(rows), width, dtype=torch.long)
    attention_mask = torch.zeros(len(rows), width, dtype=torch.long)
    for i, row in enumerate(rows):
        ids = torch.as_tensor(row["input_ids"])
        input_ids[i, : len(ids)] = ids
        attention_mask[i, : len(ids)] = 1
    return {"input_ids": input_ids, "attention_mask": attention_mask}


class Collator:
    """Pads a batch (`pad`) and masks a share of the tokens while the model trains.

    Args:
        mask_token: No masking if None.
        special: Ids that are never masked.
    """

    def __init__(self, sampler: BucketSampler, share: float, mask_token: int | None, special: Sequence[int]) -> None:
        self.sampler = sampler
        self.share = share
        self.mask_token = mask_token
        self.special = torch.tensor(special, dtype=torch.long)

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
        readings = max(len(row["labels"]) for row in rows)
        labels = torch.full((len(rows), readings, len(rows[0]["labels"][0])), UNLABELLED)
        weights = torch.zeros(labels.shape)
        padded = pad(rows, self.sampler.longest)
        for i, row in enumerate(rows):
            labels[i, : len(row["labels"])] = torch.as_tensor(row["labels"])
            weights[i, : len(row["weights"])] = torch.as_tensor(row["weights"])
        if self.share and self.mask_token is not None:
            input_ids = padded["input_ids"]
            drawn = torch.ones(input_ids.shape)
            for i, row in enumerate(rows):
                length = len(row["input_ids"])
                drawn[i, :length] = torch.from_numpy(self.sampler.generator(row["row"]).random(length))
            dropped = (drawn < self.share) & ~torch.isin(input_ids, self.special)
            padded["input_ids"] = input_ids.masked_fill(dropped, self.mask_token)
        return {
            **padded,
            "labels": labels,
            "weights": weights,
            "note": torch.as_tensor([row["note"] for row in rows]),
        }
