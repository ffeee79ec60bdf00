"""The time of a verdict in parts: each step of `Classifier.classify` by itself, one thread, report after report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from distriage.answer.findings import Findings
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.facts.environment import find_facts
from distriage.model.graph import loaded_for, open_session
from distriage.reading.report import read
from distriage.recipe.features import all_features
from distriage.recipe.text import prepare
from distriage_training.bench.inputs import milliseconds, summary

STEPS = ("prepare", "facts", "tokens", "features", "graph", "gate", "verdict")


def measure(bundle: Path, reports: Sequence[IssueReport], rounds: int) -> dict[str, Any]:
    """Median and 95th percentile of each step in milliseconds, of all of them, and of all but the graph.

    `whole` is one call of `Classifier.classify` with its JSON, timed by itself: it checks that no step is left out.
    """
    classifier = Classifier(bundle, threads=1)
    manifest = classifier.bundle.manifest
    tokenizer = Tokenizer.from_file(str(bundle / "tokenizer.json"))
    tokenizer.enable_truncation(manifest.max_tokens)
    session = open_session(loaded_for(bundle / "model.onnx"), 1)
    axes = list(manifest.axes)
    times: dict[str, list[float]] = defaultdict(list)
    lengths = []
    for number in range(rounds + 1):  # the first one warms up
        for report in reports:
            known = read(report)
            text, given = known.input.text, _encoded(tokenizer, known.input)
            outputs = dict(zip(axes, (logits[0] for logits in session.run(axes, given)), strict=True))
            prediction = classifier.predict(known)
            gate, ids, counts = classifier.gate, given["feature_ids"][0], given["feature_counts"][0]
            steps = {
                "prepare": milliseconds(lambda: prepare(report.title, report.body)),  # noqa: B023 - called at once
                "facts": milliseconds(lambda: find_facts(report.title, report.body)),  # noqa: B023
                "tokens": milliseconds(lambda: tokenizer.encode(text)),  # noqa: B023
                "features": milliseconds(lambda: all_features(known.input)),  # noqa: B023
                "graph": milliseconds(lambda: session.run(axes, given)),  # noqa: B023
                "gate": milliseconds(lambda: gate and gate.probability(ids, counts, known.input, outputs)),  # noqa: B023
                "verdict": milliseconds(
                    lambda: Findings(classifier.bundle, known, prediction).verdict().model_dump_json()  # noqa: B023
                ),
                "whole": milliseconds(lambda: classifier.classify(report).model_dump_json()),  # noqa: B023
            }
            if number:
                lengths.append(int(given["input_ids"].size))
                for name, took in steps.items():
                    times[name].append(took)
                times["but the graph"].append(sum(steps[name] for name in STEPS if name != "graph"))
    return {
        "mean_tokens": round(float(np.mean(lengths)), 1),
        **{name: summary(values) for name, values in times.items()},
    }


def _encoded(tokenizer: Tokenizer, report: Any) -> dict[str, Any]:
    from distriage.classifier import encode

    return encode(tokenizer, report)
