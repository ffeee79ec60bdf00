"""The bundle's README.md: a Hugging Face model card, from the manifest and measured figures."""

from __future__ import annotations

from pydantic import ValidationError

from distriage.bundle import Bundle, Manifest
from distriage.errors import BundleError
from distriage_training.measure.evaluation import BundleFigures
from distriage_training.measure.tables import markdown


def read_figures(bundle: Bundle) -> BundleFigures:
    """A bundle's metrics.json.

    Raises:
        BundleError: it does not hold the figures of an export.
    """
    file = bundle.path / "metrics.json"
    try:
        return BundleFigures.model_validate_json(file.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        raise BundleError(f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def model_card(manifest: Manifest, figures: BundleFigures) -> str:
    """Write the card: with the figures of the test split where they were recorded, else those of validation."""
    provenance = manifest.provenance
    test = figures.evaluation_test
    scores = test.axes if test is not None else figures.validation
    split = "test" if test is not None else "validation"
    index = "\n".join(
        f"  - task: {{type: text-classification, name: {axis}}}\n"
        f"    dataset: {{type: distriage-corpus, name: Distriage corpus, split: {split}}}\n"
        f"    metrics: [{{type: accuracy, value: {row.accuracy:.3f}}}, "
        f"{{type: f1, name: macro F1, value: {row.macro_f1:.3f}}}]"
        for axis, row in scores.items()
    )
    table = markdown(
        ["axis", "n", "accuracy", "macro-F1"],
        [[axis, row.n, f"{row.accuracy:.3f}", f"{row.macro_f1:.3f}"] for axis, row in scores.items()],
    )
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

Reads the title and the body of an issue report and gives calibrated probabilities on the axes
{", ".join(manifest.axes)} of the taxonomy {manifest.taxonomy.name} {manifest.taxonomy.version}.
One encoder ({provenance.base_model}, {provenance.base_model_license}), one head per axis, and a sparse head
over hashed n-grams of up to 24,000 characters; {manifest.numeric_format}, {manifest.max_tokens} tokens.

## Intended use

Labelling and queueing new issues of distributed deep-learning frameworks. Apply a label only above its threshold in
`bundle.json`; below it the model says that it is not sure. Do not use it to decide anything about people.

## Data

{", ".join(f"{count:,} {name}" for name, count in provenance.records.items())} reports of the Distriage corpus
(data hash `{provenance.data_sha256[:16]}`); the sparse head saw {provenance.sparse_records:,} training
reports (`{provenance.sparse_data_sha256[:16]}`).
Language models chose the labels by reading each report with the annotation guide; the corpus's page says how, and how
far they agree.

## Evaluation ({split} split)

{table}
`metrics.json` beside this page holds the figures; `distriage evaluate` prints them with baselines, agreement of
annotators and intervals.

## Limits

- The corpus is not a random sample of a tracker: rare failures were sought on purpose, so its frequencies mean nothing.
- Root cause and fix are often not in the report: a language model that reads title and body alone agrees with one
  that reads the whole thread on about three causes in four.
- English and Chinese only. Chinese reports are few, and the encoder knows Chinese by single characters.
- A domain gate keeps it silent on reports of other software, most of the time; docs/limits.md has the shares. Short
  texts pass more easily.
- Text inside screenshots is not read.

## Training

{provenance.hardware}, {provenance.training_seconds / 60:.0f} minutes, seed {provenance.seed},
commit `{provenance.commit[:12]}`, {provenance.created}.
"""
