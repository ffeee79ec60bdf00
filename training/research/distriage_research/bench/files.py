"""The files that the peers run: the plain graph and OpenVINO's, made anew for each measurement."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from distriage.base.types import IssueReport
from distriage.model.bundle import Bundle
from distriage.recipe.text import prepare
from distriage_research.bench import peers
from distriage_research.needs import INSTALL
from distriage_training.bench.run import installed


def write(bundle: Path, reports: Sequence[IssueReport], encoder: str | None, folder: Path | None) -> dict[str, Any]:
    """Find the peers, and make their files.

    Args:
        folder: For the graphs; skipped if None.

    Returns:
        `others` as `turns.graphs` takes it, and in `missing` the reason for each absent peer.
    """
    manifest = Bundle(bundle).manifest
    others: dict[str, Any] = {"labels": sum(len(axis.labels) for axis in manifest.axes.values()), "missing": {}}
    missing: dict[str, str] = others["missing"]
    try:
        place = peers.find_encoder(Path(encoder) if encoder else None)
    except peers.MissingPeer as reason:
        names = ("transformers pipeline", "SetFit predict", "PyTorch", "onnxruntime fp32", "OpenVINO", "infinity-emb")
        missing.update(dict.fromkeys(names, str(reason)))
        return others
    others["encoder"] = str(place)
    for name, modules in {
        "transformers pipeline": ("torch", "transformers"),
        "SetFit predict": ("setfit", "sentence_transformers", "sklearn"),
    }.items():
        if absent := [module for module in modules if not installed(module)]:
            missing[name] = f"needs {' and '.join(absent)}: {INSTALL}"
    if folder is None:
        return others
    try:
        peers.write_plain_graph(place, others["labels"], folder / "plain.onnx")
        others["plain"] = str(folder / "plain.onnx")
    except ModuleNotFoundError as error:
        missing["onnxruntime fp32"] = missing["OpenVINO"] = f"needs {error.name}: {INSTALL}"
        return others
    try:
        others["openvino_name"] = peers.write_openvino(folder / "plain.onnx", _samples(bundle, reports), folder)
        others["openvino"] = str(folder / "openvino.xml")
    except ModuleNotFoundError as error:
        missing["OpenVINO"] = f"needs {error.name}: {INSTALL}"
    return others


def _samples(bundle: Path, reports: Sequence[IssueReport]) -> list[peers.Ids]:
    tokenizer = Tokenizer.from_file(str(bundle / "tokenizer.json"))
    tokenizer.enable_truncation(Bundle(bundle).manifest.max_tokens)
    drawn = reports[: peers.CALIBRATION]
    return [np.asarray([tokenizer.encode(prepare(one.title, one.body).text).ids], np.int64) for one in drawn]
