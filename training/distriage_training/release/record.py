"""Write an evaluation into the bundle that it measured."""

from __future__ import annotations

from distriage.model.bundle import DOMAIN, Bundle
from distriage_training.measure.evaluation import Evaluation
from distriage_training.release.model_card import model_card, read_figures
from distriage_training.release.seal import changed


def record_in_bundle(bundle: Bundle, evaluation: Evaluation) -> None:
    """Write an evaluation into the bundle's metrics.json and model card, and seal it anew."""
    found = read_figures(bundle).model_copy(update={f"evaluation_{evaluation.split}": evaluation})
    document = found.model_dump_json(indent=1, exclude_none=True)
    card = model_card(bundle.manifest, found, gated=DOMAIN in bundle.manifest.files)
    with changed(bundle) as folder:
        (folder / "metrics.json").write_text(document + "\n", encoding="utf-8")
        (folder / "README.md").write_text(card, encoding="utf-8")
