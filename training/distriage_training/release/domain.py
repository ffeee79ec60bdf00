"""Put a domain gate into a bundle."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from distriage.classifier import Classifier
from distriage.model.bundle import DOMAIN, Bundle
from distriage_training.config import Config
from distriage_training.corpus.load import Splits
from distriage_training.fit.domain_data import read_domain_data
from distriage_training.release.model_card import model_card, read_figures
from distriage_training.release.seal import changed, seal


def add_gate(bundle: Bundle, config: Config, splits: Splits) -> int:
    """Fit the gate of a bundle's model, in place of the one that it may have; write its card and seal it anew.

    Returns:
        The number of reports of other software that it was fitted on.

    Raises:
        ConfigError, CorpusError: the reports of other software are missing.
    """
    with TemporaryDirectory() as folder:
        data = read_domain_data(_without_gate(bundle, Path(folder)), config, splits)
    gate = data.gate()
    card = model_card(bundle.manifest, read_figures(bundle), gated=True)
    with changed(bundle) as copy:
        gate.write(copy / DOMAIN, list(bundle.manifest.axes))
        (copy / "README.md").write_text(card, encoding="utf-8")
    return len(data.others)


def _without_gate(bundle: Bundle, folder: Path) -> Classifier:
    """The gate that it has may be of an older format, which no classifier reads."""
    for name in bundle.manifest.files:
        if name != DOMAIN:
            (folder / name).symlink_to((bundle.path / name).resolve())
    seal(folder, bundle.manifest)
    return Classifier(folder)
