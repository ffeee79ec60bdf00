"""One encoder, one head per axis, and a sparse head whose logits are added. The module that is trained and exported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from distriage_training.corpus.records import UNLABELLED
from distriage_training.fit.rationale import Rationales


class SparseHead(nn.Module):
    """Logistic regressions over hashed n-grams, one a view of the report: TF-IDF with sublinear counts, unit length,
    then one weight vector per label.

    Fitted by scikit-learn (`sparse.py`) and then fixed. Weights are int8 with a scale per label: they are read once
    per feature and their errors average out.

    Args:
        buckets: Of one view.
        labels: Of all axes together.
    """

    def __init__(self, buckets: int, labels: int, views: int = 1) -> None:
        super().__init__()
        self.register_buffer("idf", torch.zeros(views * buckets))
        self.register_buffer("weight", torch.zeros(views * buckets, labels, dtype=torch.int8))
        self.register_buffer("scale", torch.ones(views, labels))
        self.register_buffer("bias", torch.zeros(views, labels))
        self.register_buffer("view_numbers", torch.arange(views).view(1, views, 1), persistent=False)
        self.buckets = buckets
        self.idf: Tensor
        self.weight: Tensor
        self.scale: Tensor
        self.bias: Tensor
        self.view_numbers: Tensor

    def set_weights(self, view: int, weight: Tensor, rows: Tensor | None = None) -> None:
        """Quantize the weights of a view, [rows, labels].

        Args:
            rows: The buckets of these weights; all other weights are 0. All buckets, in order, if None.
        """
        largest = weight.abs().amax(0).clamp(min=1e-12)
        self.scale[view] = largest / 127
        own = self.weight[view * self.buckets : (view + 1) * self.buckets]
        own[slice(None) if rows is None else rows] = torch.round(weight / self.scale[view]).to(torch.int8)

    def forward(self, feature_ids: Tensor, feature_counts: Tensor) -> Tensor:
        """Logits [batch, views, labels] of `feature_ids` and `feature_counts` [batch, features]; count 0 is padding."""
        present = (feature_counts > 0).to(feature_counts.dtype)
        places = feature_ids.flatten()  # index_select is one Gather in ONNX, an index a slow GatherND
        idf = torch.index_select(self.idf, 0, places).view_as(feature_counts)
        weight = torch.index_select(self.weight, 0, places).view(*feature_ids.shape, -1).float()
        values = (1 + torch.log(torch.clamp(feature_counts, min=1.0))) * idf * present
        own = (feature_ids // self.buckets).unsqueeze(1) == self.view_numbers  # [batch, views, features]
        split = values.unsqueeze(1) * own.to(values.dtype)
        split = split / torch.sqrt(torch.clamp((split * split).sum(2, keepdim=True), min=1e-12))
        return (split @ weight) * self.scale + self.bias


class TriageModel(nn.Module):
    """Encoder, attention pooling per axis beside the mean, linear heads; sparse logits added with a weight per axis.

    Attributes:
        axes: Axis -> number of labels, in the order of outputs.
        rationales: The auxiliary task and its weight; only while training.
        mix: Weight of the sparse logits per axis and view [axes, views]; 0 until `calibrate.py` has fitted it on
            validation data.
    """

    def __init__(
        self,
        encoder: Any,
        axes: Mapping[str, int],
        *,
        hash_buckets: int,
        views: int = 1,
        head_dropout: float = 0.0,
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.axes = dict(axes)
        width = encoder.config.hidden_size
        self.pool = nn.Linear(width, len(self.axes))
        self.heads = nn.ModuleDict({axis: nn.Linear(2 * width, labels) for axis, labels in self.axes.items()})
        self.dropout = nn.Dropout(head_dropout)
        self.label_smoothing = label_smoothing
        self.sparse = SparseHead(hash_buckets, sum(self.axes.values()), views)
        self.register_buffer("mix", torch.zeros(len(self.axes), views))
        self.mix: Tensor
        self.rationales: Rationales | None = None
        self.rationale_weight = 0.0
        for axis, labels in self.axes.items():
            self.register_buffer(f"class_weight_{axis}", torch.ones(labels), persistent=False)

    def encode(self, input_ids: Tensor, attention_mask: Tensor | None) -> tuple[list[Tensor], Tensor, Tensor]:
        """The encoder's logits, one [batch, labels] per axis, and the mean vectors [batch, width] of its last layer and
        of the one before.

        Args:
            input_ids, attention_mask: [batch, tokens]; no mask: nothing is padded.
        """
        *_, before, hidden = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, output_hidden_states=True
        ).hidden_states
        scores = self.pool(hidden)
        if attention_mask is None:
            mean, penultimate = hidden.mean(1), before.mean(1)
        else:
            mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
            mean, penultimate = ((states * mask).sum(1) / mask.sum(1) for states in (hidden, before))
            scores = scores + (mask - 1) * 1e4
        pooled = torch.softmax(scores, dim=1).transpose(1, 2) @ hidden  # [batch, axes, width]
        logits = [head(self.dropout(torch.cat([mean, pooled[:, i]], -1))) for i, head in enumerate(self.heads.values())]
        return logits, mean, penultimate

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        labels: Tensor | None = None,
        weights: Tensor | None = None,
        note: Tensor | None = None,
    ) -> dict[str, Any]:
        """Training step of the encoder: loss and logits.

        Args:
            labels: [batch, readings, axes], `UNLABELLED` for a reading without a label on an axis.
            weights: [batch, readings, axes], weight of each label.
            note: [batch], number of each report's note for the auxiliary task.

        Returns:
            `loss`: mean over the batch of the sum over labelled axes; `logits`: one tensor per axis.
        """
        logits, mean, _ = self.encode(input_ids, attention_mask)
        if labels is None or weights is None:
            return {"logits": logits}
        loss = logits[0].new_zeros(())
        for i, (axis, output) in enumerate(zip(self.axes, logits, strict=True)):
            each = functional.cross_entropy(
                output.float().repeat_interleave(labels.shape[1], 0),
                labels[:, :, i].flatten(),
                weight=getattr(self, f"class_weight_{axis}"),
                ignore_index=UNLABELLED,
                label_smoothing=self.label_smoothing,
                reduction="none",
            )
            loss = loss + (each * weights[:, :, i].flatten()).sum() / len(labels)
        if self.rationales is not None and note is not None:
            loss = loss + self.rationale_weight * self.rationales(mean, note)
        return {"loss": loss, "logits": logits}

    def set_class_weights(self, counts: Mapping[str, Tensor], exponent: float) -> None:
        """Weigh labels by (mean count / count)^exponent, mean weight of an example 1. `counts`: axis -> [labels]."""
        for axis, count in counts.items():
            count = count.float() + 1.0
            weight = (count.mean() / count) ** exponent
            getattr(self, f"class_weight_{axis}").copy_(weight * count.sum() / (weight * count).sum())


class ExportedModel(nn.Module):
    """The graph that ships: encoder and sparse logits joined, one output per axis, and the mean vectors.

    For one report a pass: nothing is padded, so nothing is masked.
    """

    def __init__(self, model: TriageModel) -> None:
        super().__init__()
        self.model = model
        sizes = torch.tensor(list(model.axes.values()))
        self.register_buffer("mix", model.mix.T.repeat_interleave(sizes, 1))  # [views, labels]
        self.mix: Tensor

    def forward(self, input_ids: Tensor, feature_ids: Tensor, feature_counts: Tensor) -> tuple[Tensor, ...]:
        """Logits per axis [1, labels] and mean vectors [1, width] of `input_ids` [1, tokens] and [1, features]."""
        encoded, *vectors = self.model.encode(input_ids, None)
        sparse = (self.model.sparse(feature_ids, feature_counts) * self.mix).sum(1)
        extra = sparse.split(list(self.model.axes.values()), dim=1)
        return (*(dense + more for dense, more in zip(encoded, extra, strict=True)), *vectors)
