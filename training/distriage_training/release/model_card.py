"""The bundle's README.md: a Hugging Face model card, from the manifest and measured figures."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import NamedTuple

from pydantic import ValidationError

from distriage.base.errors import BundleError
from distriage.base.validation import first_fault
from distriage.model.bundle import DOMAIN, Bundle, Manifest, Provenance
from distriage_training.measure.evaluation import BundleFigures, Evaluation
from distriage_training.measure.tables import markdown
from distriage_training.release.seal import changed


class _Data(NamedTuple):
    """Data that a model was trained on, for its card."""

    metadata: str
    dataset: str
    name: str
    field: str
    annotators: str
    evaluate: str
    limits: str
    gate: str


CORPUS = _Data(
    metadata="""\
license: apache-2.0
language: [en, zh]
library_name: onnxruntime
pipeline_tag: text-classification
tags: [issue-triage, distributed-training, bug-classification]""",
    dataset="type: distriage-corpus, name: Distriage corpus",
    name="the Distriage corpus",
    field="distributed deep-learning frameworks",
    annotators="""\
Language models chose the labels by reading each report with the annotation guide; the corpus's page says how, and how
far they agree. No person has checked the labels.""",
    evaluate="baselines, agreement of\nannotators and intervals",
    limits="""\
- The corpus is not a random sample of a tracker: rare failures were sought on purpose, so its frequencies mean nothing.
- Root cause and fix are often not in the report: a language model that reads title and body alone agrees with one
  that reads the whole thread on about three causes in four.
- English and Chinese only. Chinese reports are few, and the encoder knows Chinese by single characters.""",
    gate="""\
- A domain gate keeps it silent on reports of other software, most of the time; docs/limits.md has the shares. Short
  texts pass more easily.""",
)


def _table(path: str) -> _Data:
    """Of a custom table only the name is known: not its licence or languages, nor who chose the labels."""
    name = PurePath(path).name
    return _Data(
        metadata="library_name: onnxruntime\npipeline_tag: text-classification\ntags: [issue-triage]",
        dataset=f"type: table, name: {json.dumps(name)}",
        name=f"the table `{name}`",
        field="the project whose issues are in its table",
        annotators="The labels are those of the table.",
        evaluate="baselines\nand intervals",
        limits="- The figures are of issues of the table. On others, the model may be worse.",
        gate="- A domain gate keeps it silent on reports of other software, most of the time.",
    )


def _data(provenance: Provenance) -> _Data:
    data = provenance.config.get("data", {})
    return _table(data["train"]) if data.get("format") == "csv" else CORPUS


def read_figures(bundle: Bundle) -> BundleFigures:
    """A bundle's metrics.json.

    Raises:
        BundleError: it does not hold the figures of an export.
    """
    file = bundle.path / "metrics.json"
    try:
        return BundleFigures.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise BundleError(f"{file}: {first_fault(error, BundleFigures)}") from None


def model_card(manifest: Manifest, figures: BundleFigures, *, gated: bool) -> str:
    """Write the card, with the recorded figures of the test split, else those of validation."""
    provenance = manifest.provenance
    data = _data(provenance)
    gate = data.gate if gated else "- It has no domain gate: it labels reports of other software, too."
    test = figures.evaluation_test
    scores = test.axes if test is not None else figures.validation
    split = "test" if test is not None else "validation"
    index = "\n".join(
        f"  - task: {{type: text-classification, name: {axis}}}\n"
        f"    dataset: {{{data.dataset}, split: {split}}}\n"
        f"    metrics: [{{type: accuracy, value: {row.accuracy:.3f}}}, "
        f"{{type: f1, name: macro F1, value: {row.macro_f1:.3f}}}]"
        for axis, row in scores.items()
    )
    table = markdown(
        ["axis", "n", "accuracy", "macro-F1"],
        [[axis, row.n, f"{row.accuracy:.3f}", f"{row.macro_f1:.3f}"] for axis, row in scores.items()],
    )
    return f"""---
{data.metadata}
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

Labelling and queueing new issues of {data.field}. Apply a label only above its threshold in
`bundle.json`; below it the model says that it is not sure. Do not use it to decide anything about people.

## Data

{", ".join(f"{count:,} {name}" for name, count in provenance.records.items())} reports of {data.name}
(data hash `{provenance.data_sha256[:16]}`); the sparse head saw {provenance.sparse_records:,} training
reports (`{provenance.sparse_data_sha256[:16]}`).
{data.annotators}

## Evaluation ({split} split)

{table}
`metrics.json` beside this page holds the figures; `distriage evaluate` prints them with {data.evaluate}.

## Limits

{data.limits}
{gate}
- Text inside screenshots is not read.

## Training

{provenance.hardware}, {provenance.training_seconds / 60:.0f} minutes, seed {provenance.seed},
commit `{provenance.commit[:12]}`, {provenance.created}.
"""


def record_in_bundle(bundle: Bundle, evaluation: Evaluation) -> None:
    """Write an evaluation into the bundle's metrics.json and model card, and seal it anew."""
    found = read_figures(bundle).model_copy(update={f"evaluation_{evaluation.split}": evaluation})
    document = found.model_dump_json(indent=1, exclude_none=True)
    card = model_card(bundle.manifest, found, gated=DOMAIN in bundle.manifest.files)
    with changed(bundle) as folder:
        (folder / "metrics.json").write_text(document + "\n", encoding="utf-8")
        (folder / "README.md").write_text(card, encoding="utf-8")
