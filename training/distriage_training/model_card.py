"""The bundle's README.md: a Hugging Face model card. Pure: text from the manifest and measured figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distriage.bundle import Manifest


def model_card(manifest: Manifest, summary: Mapping[str, Any], evaluation: Mapping[str, Any] | None) -> str:
    """Write the card.

    Args:
        summary: Figures on validation, from the export.
        evaluation: The document of `distriage evaluate --split test`, or None before it has run.
    """
    provenance = manifest.provenance
    scores = (evaluation or {}).get("axes") or summary["validation"]
    split = "test" if evaluation else "validation"
    index = "\n".join(
        f"  - task: {{type: text-classification, name: {axis}}}\n"
        f"    dataset: {{type: distriage-corpus, name: Distriage corpus, split: {split}}}\n"
        f"    metrics: [{{type: accuracy, value: {row['accuracy']:.3f}}}, {{type: f1, name: macro F1, value: {row['macro_f1']:.3f}}}]"
        for axis, row in scores.items()
    )
    table = "\n".join(f"| {axis} | {row['n']} | {row['accuracy']:.3f} | {row['macro_f1']:.3f} |" for axis, row in scores.items())
    return f"""---
license: apache-2.0
language: [en, zh]
library_name: onnxruntime
pipeline_tag: text-classification
tags: [issue-triage, distributed-training, bug-classification]
base_model: {provenance.base_model}
metrics: [accuracy, f1]
model-index:
- name: {manifest.name}
  results:
{index}
---

# {manifest.name}

Reads the title and the body of an issue report and gives calibrated probabilities on the axes {", ".join(manifest.axes)} of the taxonomy
{manifest.taxonomy.name} {manifest.taxonomy.version}. One encoder ({provenance.base_model}, {provenance.base_model_license}), one head per axis, and a
sparse head over hashed n-grams of the whole report; {manifest.numeric_format}, {manifest.max_tokens} tokens.

## Intended use

Labelling and queueing new issues of distributed deep-learning frameworks. A label is meant to be applied only above its threshold in
`bundle.json`; below it the model says that it is not sure. Not meant for deciding anything about people.

## Data

{", ".join(f"{count:,} {name}" for name, count in provenance.records.items())} reports of the Distriage corpus (data hash `{provenance.data_sha256[:16]}`);
the sparse head saw {provenance.sparse_records:,} training reports (`{provenance.sparse_data_sha256[:16]}`).
Labels were chosen by language models that read each report with the annotation guide; the corpus's own page says how, and how far they agree.

## Evaluation ({split} split)

| axis | n | accuracy | macro-F1 |
|---|---|---|---|
{table}

`metrics.json` beside this page holds the figures; `distriage evaluate` prints them with baselines, agreement of annotators and intervals.

## Limits

- The corpus is no random sample of a tracker: rare failures were sought on purpose, so the frequencies in it mean nothing.
- Root cause and fix are often not in the report: an expert who sees title and body alone agrees with the whole thread on about three causes in four.
- English and Chinese only. Chinese reports are few, and the encoder's vocabulary knows Chinese by single characters.
- Text inside screenshots is not read.

## Training

{provenance.hardware}, {provenance.training_seconds / 60:.0f} minutes, seed {provenance.seed}, commit `{provenance.commit[:12]}`, {provenance.created}.
"""
