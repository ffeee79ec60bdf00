"""Contestants in turn on the same report, so that a machine's moods hit all alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from distriage.base.types import IssueReport
from distriage.classifier import Classifier, encode
from distriage.model.graph import open_session
from distriage.recipe.text import prepare
from distriage_research.bench import peers
from distriage_training.bench.inputs import milliseconds, summary

OURS = "distriage"
LENGTHS = (64, 128, 192, 256)  # upper ends of the classes of length, in tokens


def graphs(bundle: Path, reports: Sequence[IssueReport], rounds: int, threads: int, others: Mapping[str, Any]) -> Any:
    """The graph alone: token ids -> logits, one report a pass.

    Args:
        others: `labels`, `encoder`, `plain` (an ONNX file), `openvino` (an XML file) and `openvino_name`, from
            `files.write`; absent ones are not measured.
    """
    classifier = Classifier(bundle, threads=1)
    manifest = classifier.bundle.manifest
    tokenizer = _tokenizer(bundle, manifest.max_tokens)
    session, axes = open_session(bundle / "model.onnx", threads), list(manifest.axes)
    inputs = [encode(tokenizer, prepare(report.title, report.body)) for report in reports]
    runs: dict[str, Callable[[Any], object]] = {OURS: lambda given: session.run(axes, given)}
    if "plain" in others:
        runs["onnxruntime fp32, defaults"] = _on_ids(peers.onnxruntime_defaults(Path(others["plain"]), threads))
        runs["PyTorch fp32, eager"] = _on_ids(peers.eager(Path(others["encoder"]), others["labels"], threads))
    if "openvino" in others:
        runs[others["openvino_name"]] = _on_ids(peers.openvino_compiled(Path(others["openvino"]), threads))
    return _in_turn(runs, inputs, rounds)[0]


def _on_ids(run: peers.OnIds) -> Callable[[Any], object]:
    return lambda given: run(given["input_ids"])


def texts(bundle: Path, reports: Sequence[IssueReport], rounds: int, threads: int, others: Mapping[str, Any]) -> Any:
    """From text to answer, one report per call; ours ends with the verdict in JSON, the others with logits or a
    label."""
    classifier = Classifier(bundle, threads=threads)
    limit = classifier.bundle.manifest.max_tokens
    tokenizer = _tokenizer(bundle, limit)
    inputs = []
    for report in reports:
        text = prepare(report.title, report.body).text
        inputs.append((report, [text], len(tokenizer.encode(text).ids)))
    runs: dict[str, Callable[[Any], object]] = {OURS: lambda given: classifier.classify(given[0]).model_dump_json()}
    for name, loader in peers.LOADERS.items():
        if name not in others["missing"]:
            runs[name] = _on_texts(getattr(peers, loader)(Path(others["encoder"]), others["labels"], limit, threads))
    found, times = _in_turn(runs, inputs, rounds)
    tokens = [given[2] for given in inputs] * rounds
    return {"all": found, "lengths": _by_length(times, tokens)}


def _on_texts(run: peers.OnTexts) -> Callable[[Any], object]:
    return lambda given: run(given[1], 1)


def _tokenizer(bundle: Path, limit: int) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(bundle / "tokenizer.json"))
    tokenizer.enable_truncation(limit)
    tokenizer.no_padding()
    return tokenizer


def _in_turn(
    runs: Mapping[str, Callable[[Any], object]], inputs: Sequence[Any], rounds: int
) -> tuple[dict[str, Any], dict[str, list[float]]]:
    times: dict[str, list[float]] = defaultdict(list)
    for number in range(rounds + 1):  # the first one warms up
        for given in inputs:
            for name, run in runs.items():
                took = milliseconds(lambda: run(given))  # noqa: B023 - called at once
                if number:
                    times[name].append(took)
    found = {name: summary(values) for name, values in times.items()}
    for figures in found.values():
        figures["ratio"] = round(found[OURS]["p50"] / figures["p50"], 3)
    return found, times


def _by_length(times: Mapping[str, Sequence[float]], tokens: Sequence[int]) -> list[dict[str, Any]]:
    rows = []
    for low, high in zip((0, *LENGTHS), LENGTHS, strict=False):
        places = [place for place, count in enumerate(tokens) if low < count <= high]
        if places:
            p50 = {name: summary([values[place] for place in places])["p50"] for name, values in times.items()}
            rows.append({"tokens": f"{low + 1} to {high}", "reports": len(places), "p50": p50})
    return rows
