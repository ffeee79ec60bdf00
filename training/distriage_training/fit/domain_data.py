"""The domain gate's data: training reports, validation bugs and reports of other software, in its own features."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from distriage.answer.policy import decide
from distriage.base.errors import ConfigError
from distriage.base.types import Mode, Outcome, Prediction
from distriage.classifier import Classifier
from distriage.model.domain import shape_features
from distriage.recipe.text import prepare
from distriage_training.config import Config
from distriage_training.corpus.foreign import read_foreign
from distriage_training.corpus.load import Splits, in_domain
from distriage_training.corpus.records import Record
from distriage_training.fit.domain import FOLDS, Gate, Reports, fit_gate, repository_folds
from distriage_training.fit.sparse import feature_matrix

MODES = (Mode.BALANCED, Mode.PRECISE)
SAMPLE = 150  # foreign reports of a repository that the classifier reads; the words are learned from all


@dataclass(frozen=True, slots=True)
class DomainData:
    """Reports of the gate.

    Attributes:
        known: N-grams of the training reports; those of no thread, of foreign repositories and of sources
            that the configuration leaves out are not among them.
        bugs: The validation bugs, `validation` as the gate sees them.
        labelled: Whether each gets a label without a gate in each of `MODES`, [n, 2].
        others: The reports of other software, those that the classifier has read first; `folds` by repository.
        sample: The first of `others`, as the gate sees them.
        times: How often each of `others` counts.
        bug_folds: Fold of each of `bugs`, drawn by report.
    """

    known: csr_matrix
    bugs: Sequence[Record]
    validation: Reports
    labelled: NDArray[np.bool_]
    others: Sequence[Record]
    foreign: csr_matrix
    folds: NDArray[np.int64]
    sample: Reports
    times: NDArray[np.int64]

    @property
    def bug_folds(self) -> NDArray[np.int64]:
        return np.random.default_rng(1).permutation(len(self.bugs)) % FOLDS

    def gate(self, without: int | None = None) -> Gate:
        """Fit the gate, on request without one fold of repositories and of the validation bugs (`bug_folds`)."""
        bugs = self.bug_folds != without
        kept = np.repeat(np.arange(len(self.others)), np.where(self.folds == without, 0, self.times))
        read = kept[kept < len(self.sample.shape)]
        return fit_gate(
            self.known,
            self.validation.rows(bugs),
            self.labelled[bugs],
            self.foreign[kept],
            self.folds[kept],
            self.sample.rows(read),
        )


def read_domain_data(classifier: Classifier, config: Config, splits: Splits) -> DomainData:
    """Read all reports, and classify the validation bugs and `SAMPLE` reports of each repository.

    Raises:
        ConfigError, CorpusError: the reports of other software are missing, or there is no validation bug.
    """
    others = read_foreign(config)
    random.Random(config.seed).shuffle(others)
    seen: Counter[str] = Counter()
    place = {}
    for record in others:
        seen[record.group] += 1
        place[record.id] = seen[record.group] > SAMPLE
    others.sort(key=lambda record: place[record.id])
    foreign = {record.group for record in others}
    known = [
        record
        for record in splits.train
        if record.origin != "generated"
        and record.source not in config.domain.leave_out
        and record.id.lower().partition("#")[0] not in foreign
    ]
    bugs = [record for record in in_domain(splits.validation, config) if record.labels.get("kind") == "bug"]
    if not bugs:
        raise ConfigError(
            f"{config.path}: domain.groups: {', '.join(config.domain.groups) or 'all'}: no validation bug of theirs; "
            "expected some, which the gate must let pass"
        )
    counts = feature_matrix(others)
    return DomainData(
        known=feature_matrix(known),
        bugs=bugs,
        validation=_as_seen(classifier, bugs, feature_matrix(bugs)),
        labelled=labelled(classifier, bugs),
        others=others,
        foreign=counts,
        folds=repository_folds([record.group for record in others]),
        sample=_as_seen(classifier, [record for record in others if not place[record.id]], counts),
        times=np.array([config.domain.restated_times if record.origin == "restated" else 1 for record in others]),
    )


def labelled(classifier: Classifier, records: Sequence[Record]) -> NDArray[np.bool_]:
    """Whether a failure axis, or `distributed` as true, is applied without a gate in each of `MODES`, [n, 2]."""
    predictions = classifier.predict_inputs([prepare(record.title, record.body) for record in records])
    return np.array([[_is_labelled(classifier, each, mode) for mode in MODES] for each in predictions]).reshape(-1, 2)


def _is_labelled(classifier: Classifier, prediction: Prediction, mode: Mode) -> bool:
    bundle = classifier.bundle
    ungated = replace(prediction, in_domain=True, surely_in_domain=True)
    decisions = decide(ungated, bundle.manifest.axes, bundle.taxonomy, mode)
    return any(
        decision.outcome is Outcome.APPLY and axis not in bundle.taxonomy.roots and decision.label != "false"
        for axis, decision in decisions.items()
    )


def _as_seen(classifier: Classifier, records: Sequence[Record], counts: csr_matrix) -> Reports:
    inputs = [prepare(record.title, record.body) for record in records]
    logits = classifier.logits(inputs)
    shape = [
        shape_features(counts[row].indices, item, {axis: values[row] for axis, values in logits.items()})
        for row, item in enumerate(inputs)
    ]
    return Reports(counts[: len(records)], np.array(shape))
