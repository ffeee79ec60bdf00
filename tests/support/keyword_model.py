"""A toy bundle whose verdicts follow from single words: a real ONNX graph, small enough to foresee every logit."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from distriage.classifier import VECTORS
from distriage.model.bundle import FORMAT, REQUIRED_FILES, Provenance
from distriage.model.shipped import MANIFEST, MAPPED, sha256_of
from distriage.model.taxonomy import parse_taxonomy
from distriage.recipe.features import HASH_BUCKETS
from distriage.recipe.text import RECIPE_VERSION

TAXONOMY = """
name = "toy"
version = "1"
[axis.kind]
name = "Kind"
[axis.symptom]
filter = true
name = "Symptom"
requires = { axis = "kind", label = "bug" }
[axis.fix]
filter = true
name = "Fix"
requires = { axis = "kind", label = "bug" }
[[kind]]
id = "bug"
definition = "It fails."
[[kind]]
id = "question"
definition = "It is asked."
[[symptom]]
id = "oom"
family = "memory"
definition = "Memory runs out."
[[symptom]]
id = "leak"
family = "memory"
definition = "Memory grows."
[[symptom]]
id = "hang"
family = "execution"
definition = "It stands still."
[[symptom]]
id = "crash"
family = "execution"
definition = "It dies."
[[fix]]
id = "tuning"
definition = "Change the settings."
advice = "Look at the settings."
[[fix]]
id = "patch"
definition = "Change the code."
advice = "Look at the code."
"""
WIDTHS = {"kind": 2, "symptom": 4, "fix": 2}
# Logits that each occurrence of a word adds: word -> column over all axes in order -> logit.
WORDS: Mapping[str, Mapping[int, float]] = {
    "how": {1: 6.0},
    "memory": {2: 1.0, 3: 1.0},
    "exhausted": {2: 3.0},
    "grows": {3: 3.0},
    "hangs": {4: 3.0},
    "segfault": {5: 3.0},
    "timeout": {4: 1.0, 6: 3.0},
}
BIAS = (3.0, 0, 0, 0, 0, 0, 0, 0)  # a bug, unless it is asked "how"
THRESHOLDS = {"0.50": 0.4, "0.80": 0.7, "0.90": 0.9}


def build(folder: Path) -> Path:
    """Write the bundle and return its folder."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder.mkdir(parents=True)
    write_graph(folder / "model.onnx", WIDTHS)
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "taxonomy.toml").write_text(TAXONOMY, encoding="utf-8")
    for name in ("reference.json", "metrics.json"):
        (folder / name).write_text("{}", encoding="utf-8")
    (folder / "README.md").write_text("A toy.\n", encoding="utf-8")
    axes = {
        axis.id: {
            "labels": axis.label_ids,
            "temperature": 1.0,
            "thresholds": {target: dict.fromkeys(axis.label_ids, value) for target, value in THRESHOLDS.items()},
            "family_thresholds": {target: dict.fromkeys(axis.families, value) for target, value in THRESHOLDS.items()}
            if axis.families
            else {},
        }
        for axis in parse_taxonomy(TAXONOMY, "toy").axes.values()
    }
    provenance = {
        name: {str: "none", int: 0, float: 0.0}.get(kind, {})
        for name, kind in get_type_hints(Provenance).items()
        if not name.startswith("_")
    }
    manifest = {
        "format": FORMAT,
        "name": "toy",
        "taxonomy": {"name": "toy", "version": "1"},
        "recipe_version": RECIPE_VERSION,
        "hash_buckets": HASH_BUCKETS,
        "max_tokens": 64,
        "numeric_format": "fp32",
        "axes": axes,
        "provenance": provenance,
    }
    return seal(folder, manifest)


def write_graph(file: Path, widths: Mapping[str, int], vectors: Sequence[str] = VECTORS) -> None:
    """logits = bias + sum over features of count x weight of the word, split into one output an axis; `vectors`
    are zero, so that verdicts follow from words alone.

    A table with a row for each bucket would be 8 MB, to verify and to load for each of a thousand commands.
    """
    from onnx import TensorProto, checker, helper, numpy_helper, save

    columns = sum(widths.values())
    weights = np.zeros((len(WORDS), columns), np.float32)
    for row, logits in enumerate(WORDS.values()):
        for column, logit in logits.items():
            if column < columns:
                weights[row, column] = logit
    constants = {
        "words": np.asarray([zlib.crc32(word.encode()) % HASH_BUCKETS for word in WORDS], np.int64),
        "weights": weights,
        "bias": np.asarray(BIAS[:columns], np.float32),
        "last": np.asarray([-1], np.int64),
        "features_axis": np.asarray([1], np.int64),
        "widths": np.asarray(list(widths.values()), np.int64),
    }
    nodes = [
        helper.make_node("Unsqueeze", ["feature_ids", "last"], ["ids"]),
        helper.make_node("Equal", ["ids", "words"], ["is_word"]),
        helper.make_node("Cast", ["is_word"], ["ones"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["ones", "weights"], ["rows"]),
        helper.make_node("Unsqueeze", ["feature_counts", "last"], ["counts"]),
        helper.make_node("Mul", ["rows", "counts"], ["weighted"]),
        helper.make_node("ReduceSum", ["weighted", "features_axis"], ["sums"], keepdims=0),
        helper.make_node("Add", ["sums", "bias"], ["logits"]),
        helper.make_node("Split", ["logits", "widths"], list(widths), axis=1),
        *(helper.make_node("Sub", ["sums", "sums"], [name]) for name in vectors),
    ]
    inputs = [
        helper.make_tensor_value_info(name, kind, ["batch", size])
        for name, kind, size in (
            ("input_ids", TensorProto.INT64, "tokens"),
            ("feature_ids", TensorProto.INT64, "features"),
            ("feature_counts", TensorProto.FLOAT, "features"),
        )
    ]
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width])
        for name, width in {**widths, **dict.fromkeys(vectors, columns)}.items()
    ]
    graph = helper.make_graph(
        nodes, "toy", inputs, outputs, [numpy_helper.from_array(value, name) for name, value in constants.items()]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    checker.check_model(model)
    save(model, file)


def seal(folder: Path, manifest: Mapping[str, Any] | None = None, extra: Sequence[str] = ()) -> Path:
    """Write `bundle.json` with the sizes and checksums of the files as they are; default: the manifest there."""
    place = folder / MANIFEST
    content = dict(manifest) if manifest is not None else json.loads(place.read_text(encoding="utf-8"))
    content["files"] = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": sha256_of(folder / name)}
        for name in (*REQUIRED_FILES, *extra, *([MAPPED] if (folder / MAPPED).is_file() else []))
    }
    place.unlink(missing_ok=True)
    place.write_text(json.dumps(content), encoding="utf-8")
    return folder
