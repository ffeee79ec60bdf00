"""A verdict as a repository wants it: each axis, or each label, as sure as its configuration asks for. Runs the model; no other I/O."""

from __future__ import annotations

from distriage.classifier import Classifier
from distriage.policy import Mode
from distriage.types import IssueReport, Prediction
from distriage.verdict import Verdict, make_verdict
from distriage_serving.repo_config import RepositoryConfig


def judge(classifier: Classifier, report: IssueReport, config: RepositoryConfig, prediction: Prediction | None = None) -> Verdict:
    """Classify a report and decide every axis in the mode that is configured for the likeliest label, else for the axis, else for all.

    Args:
        prediction: Scores of the report, where they are there already.

    Returns:
        A verdict whose `mode` is the general one.

    Raises:
        InputError: the report cannot be classified.
    """
    if prediction is None:
        prediction = classifier.predict([report])[0]
    general = make_verdict(classifier, report, prediction, Mode(config.mode))
    verdicts = {Mode(config.mode): general}
    axes = {}
    for axis, verdict in general.axes.items():
        mode = mode_of(config, axis, verdict.label)
        if mode not in verdicts:
            verdicts[mode] = make_verdict(classifier, report, prediction, mode)
        axes[axis] = verdicts[mode].axes[axis]
    return general.model_copy(update={"axes": axes})


def mode_of(config: RepositoryConfig, axis: str, label: str) -> Mode:
    """How sure a label of an axis must be."""
    settings = config.axes.get(axis)
    if settings is None:
        return Mode(config.mode)
    own = settings.labels.get(label)
    return Mode((own.mode if own is not None else None) or settings.mode or config.mode)
