from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

from distriage.model.taxonomy import default_taxonomy, parse_taxonomy
from distriage.recipe.features import HASH_BUCKETS, VIEWS, all_features
from distriage.recipe.text import prepare
from distriage_training.config import Config, SparseConfig, load_config
from distriage_training.corpus.records import Record, label_numbers
from distriage_training.fit.model import SparseHead
from distriage_training.fit.sparse import feature_matrix, fit_sparse_head

from support.toys import write_config

LABELS = {
    "distributed": ["true", "false"],
    "symptom": ["never-seen", "runtime-hang", "device-out-of-memory", "low-throughput"],
}
TAXONOMY = parse_taxonomy(
    'name = "toys"\nversion = "1"\n'
    + "".join(
        f"[axis.{axis}]\n" + "".join(f'[[{axis}]]\nid = "{label}"\ndefinition = "A."\n' for label in labels)
        for axis, labels in LABELS.items()
    ),
    "toys",
)
TOPICS = {
    "runtime-hang": "all_reduce hangs, watchdog timeout, ranks wait for each other",
    "device-out-of-memory": "CUDA out of memory, tried to allocate, reserved by PyTorch",
    "low-throughput": "slow, samples per second, utilization is low",
}


def record(number: int, symptom: str, **changes: Any) -> Record:
    labels = {"distributed": "true" if symptom == "runtime-hang" else "false", "symptom": symptom}
    settings = {
        "title": f"report {number}: {TOPICS[symptom].split()[0]}",
        "body": f"{TOPICS[symptom]} word{number % 5} word{number % 7}",
        "labels": labels,
    }
    return Record(
        **{
            "id": f"a/b#{number}",
            "split": "train",
            "source": "toys",
            "origin": "raw",
            "group": "",
            **settings,
            **changes,
        }
    )


RECORDS = [record(number, symptom) for number, symptom in enumerate(list(TOPICS) * 12)]


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config(write_config(tmp_path / "run.toml", sparse={"max_iterations": 200}))


def outputs(head: SparseHead, records: list[Record], view: int = 0) -> dict[str, NDArray[np.float32]]:
    """Logits of a view per axis, through the graph's own padded inputs."""
    features = [all_features(prepare(one.title, one.body)) for one in records]
    width = max(len(ids) for ids, _ in features)
    ids, counts = torch.zeros(len(records), width, dtype=torch.long), torch.zeros(len(records), width)
    for row, (one, values) in enumerate(features):
        ids[row, : len(one)], counts[row, : len(one)] = torch.tensor(one), torch.tensor(values)
    parts = head(ids, counts)[:, view].split([len(axis.label_ids) for axis in TAXONOMY.axes.values()], dim=1)
    return {axis: part.numpy() for axis, part in zip(TAXONOMY.axes, parts, strict=True)}


def test_the_feature_matrix_holds_the_hashed_counts() -> None:
    matrix = feature_matrix(RECORDS[:3])
    assert matrix.shape == (3, VIEWS * HASH_BUCKETS)
    for row, one in enumerate(RECORDS[:3]):
        ids, counts = all_features(prepare(one.title, one.body))
        assert dict(zip(ids, counts, strict=True)) == {int(i): float(matrix[row, i]) for i in matrix[row].indices}


@pytest.mark.parametrize("view", range(VIEWS))
def test_the_head_equals_scikit_learn_on_the_same_features(config: Config, view: int) -> None:
    head = fit_sparse_head(RECORDS, TAXONOMY, config)
    logits = outputs(head, RECORDS, view)
    tfidf = TfidfTransformer(sublinear_tf=True)
    features = tfidf.fit_transform(feature_matrix(RECORDS)[:, view * HASH_BUCKETS : (view + 1) * HASH_BUCKETS])
    numbers = np.array([label_numbers(one, TAXONOMY) for one in RECORDS])
    for i, axis in enumerate(TAXONOMY.axes):
        fitted = LogisticRegression(C=10, class_weight="balanced", max_iter=200, tol=config.sparse.tolerance).fit(
            features, numbers[:, i]
        )
        scores = fitted.decision_function(features)
        found = logits[axis][:, fitted.classes_]
        assert np.ptp(scores) > 1
        if scores.ndim == 1:
            np.testing.assert_allclose(found[:, 1] - found[:, 0], scores, atol=5e-2)  # int8 weights
        else:
            np.testing.assert_allclose(found, scores, atol=5e-2)  # int8 weights


def test_labels_without_an_example_stay_far_below(config: Config) -> None:
    logits = outputs(fit_sparse_head(RECORDS, TAXONOMY, config), RECORDS)
    numbers = np.array([label_numbers(one, TAXONOMY) for one in RECORDS])
    assert set(numbers[:, 1]) == {1, 2, 3}
    assert (logits["symptom"][:, 1:].max(1) > -2).all()
    np.testing.assert_allclose(logits["symptom"][:, 0], -10)


def test_it_learns_what_words_say(config: Config) -> None:
    logits = outputs(fit_sparse_head(RECORDS[:24], TAXONOMY, config), RECORDS[24:])
    expected = [TAXONOMY.axes["symptom"].label_ids.index(one.labels["symptom"]) for one in RECORDS[24:]]
    assert logits["symptom"].argmax(1).tolist() == expected


def test_unlabelled_and_weightless_records_do_not_count(config: Config, tmp_path: Path) -> None:
    wrong = [record(100 + n, "runtime-hang", source="odd") for n in range(12)]
    for one in wrong:
        one.labels["symptom"] = "low-throughput"  # type: ignore[index]
    plain = outputs(fit_sparse_head([*RECORDS, *wrong], TAXONOMY, config), RECORDS[:3])["symptom"]
    weights = load_config(
        write_config(
            tmp_path / "w.toml", sparse={"max_iterations": 200}, training={"label_weights": {"odd": {"symptom": 0.0}}}
        )
    )
    ignored = outputs(fit_sparse_head([*RECORDS, *wrong], TAXONOMY, weights), RECORDS[:3])["symptom"]
    bare = [
        record(
            100 + n,
            "runtime-hang",
            source="odd",
            labels={axis: label for axis, label in one.labels.items() if axis != "symptom"},
        )
        for n, one in enumerate(wrong)
    ]
    unlabelled = outputs(fit_sparse_head([*RECORDS, *bare], TAXONOMY, config), RECORDS[:3])["symptom"]
    np.testing.assert_allclose(ignored, unlabelled, atol=1e-4)
    assert np.abs(plain - ignored).max() > 0.1


def test_progress_names_each_axis(config: Config) -> None:
    seen: list[str] = []
    fit_sparse_head(RECORDS, TAXONOMY, config, seen.append)
    assert seen == [f"{axis}, view {view} of 2" for view in (1, 2) for axis in TAXONOMY.axes]


@pytest.mark.slow
def test_many_labels_and_few_records_are_no_warning(config: Config) -> None:
    taxonomy = default_taxonomy()
    records = [
        record(
            n,
            "runtime-hang",
            labels={axis.id: axis.label_ids[n % len(axis.label_ids)] for axis in taxonomy.axes.values()},
        )
        for n in range(24)
    ]
    config = config.model_copy(update={"sparse": SparseConfig(max_iterations=1)})
    head = fit_sparse_head(records, taxonomy, config)  # warnings are errors here
    assert head.weight.shape == (VIEWS * HASH_BUCKETS, sum(len(axis.label_ids) for axis in taxonomy.axes.values()))


def test_stopping_at_the_last_iteration_is_no_warning(tmp_path: Path) -> None:
    config = load_config(write_config(tmp_path / "run.toml", sparse={"max_iterations": 1}))
    head = fit_sparse_head(RECORDS, TAXONOMY, config)  # warnings are errors here
    assert head.weight.abs().max() > 0
