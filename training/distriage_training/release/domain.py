"""Put a domain gate into a bundle."""

from __future__ import annotations

from distriage.bundle import DOMAIN, Bundle
from distriage.classifier import Classifier
from distriage_training.config import Config
from distriage_training.corpus.load import Splits
from distriage_training.fit.domain_data import read_domain_data
from distriage_training.release.seal import seal


def add_gate(bundle: Bundle, config: Config, splits: Splits) -> int:
    """Fit the gate of a bundle's model, in place of the one that it may have, and seal the bundle anew.

    Returns:
        The number of reports of other software that it was fitted on.

    Raises:
        ConfigError, CorpusError: the reports of other software are missing.
    """
    data = read_domain_data(Classifier(bundle.path), config, splits)
    data.gate().write(bundle.path / DOMAIN, list(bundle.manifest.axes))
    seal(bundle.path, bundle.manifest)
    return len(data.others)
