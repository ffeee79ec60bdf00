"""Put a domain gate into a bundle."""

from __future__ import annotations

from distriage.classifier import Classifier
from distriage.model.bundle import DOMAIN, Bundle
from distriage_training.config import Config
from distriage_training.corpus.load import Splits
from distriage_training.fit.domain_data import read_domain_data
from distriage_training.release.model_card import model_card, read_figures
from distriage_training.release.seal import changed, seal


def write_gate(classifier: Classifier, config: Config, splits: Splits) -> int:
    """Fit the gate of a model that lacks one, write it and its line in the model card, and seal the folder anew.

    Returns:
        Number of reports of other software used.

    Raises:
        ConfigError, CorpusError: the reports of other software are missing.
    """
    bundle = classifier.bundle
    data = read_domain_data(classifier, config, splits)
    data.gate().write(bundle.path / DOMAIN, list(bundle.manifest.axes))
    card = model_card(bundle.manifest, read_figures(bundle), gated=True)
    (bundle.path / "README.md").write_text(card, encoding="utf-8")
    return len(data.others)


def add_gate(bundle: Bundle, config: Config, splits: Splits) -> int:
    """`write_gate`, replacing any gate of the bundle."""
    with changed(bundle) as copy:
        (copy / DOMAIN).unlink(missing_ok=True)  # it may be of an older format, which no classifier reads
        seal(copy, bundle.manifest)
        return write_gate(Classifier(copy), config, splits)
