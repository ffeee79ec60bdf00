from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from distriage_training.corpus.records import Record
from distriage_training.measure.baselines import TfidfBaseline, majority

TOPICS = (
    "all_reduce hangs until the watchdog aborts",
    "CUDA out of memory while allocating",
    "throughput is low on many nodes",
)


def record(topic: int, number: int) -> Record:
    return Record(
        f"a/b#{number}",
        f"{TOPICS[topic].split()[0]} again",
        f"{TOPICS[topic]} in run {number % 4}",
        {},
        "train",
        "toys",
        "raw",
        "",
    )


TRAIN = [record(n % 3, n) for n in range(30)]
LABELS = np.array([n % 3 for n in range(30)])
HELD_OUT = [record(n % 3, n) for n in range(99, 108)]


def test_majority_is_the_commonest_training_label() -> None:
    assert majority(np.array([3, 1, 3, 0, 1, 3]), 4).tolist() == [3, 3, 3, 3]
    assert majority(np.array([2, 1, 1, 2]), 2).tolist() == [1, 1]
    assert majority(np.array([5]), 0).tolist() == []


def test_the_baseline_learns_topics() -> None:
    assert TfidfBaseline(TRAIN).predict(LABELS, HELD_OUT).tolist() == [0, 1, 2] * 3


def test_the_baseline_is_tf_idf_and_logistic_regression() -> None:
    noisy = np.random.default_rng(0).permutation(LABELS)
    texts, held_out = ([f"{one.title}\n{one.body}" for one in records] for records in (TRAIN, HELD_OUT))
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)
    fitted = LogisticRegression(C=10, class_weight="balanced", max_iter=100, tol=1e-3).fit(
        vectorizer.fit_transform(texts), noisy
    )
    assert (
        TfidfBaseline(TRAIN).predict(noisy, HELD_OUT).tolist()
        == fitted.predict(vectorizer.transform(held_out)).tolist()
    )


@pytest.mark.parametrize("unlabelled", [-100, -1])
def test_unlabelled_records_are_left_out(unlabelled: int) -> None:
    baseline = TfidfBaseline(TRAIN)
    partly = np.where(LABELS == 1, unlabelled, LABELS)
    assert set(baseline.predict(partly, HELD_OUT)) == {0, 2}
    assert baseline.predict(LABELS, HELD_OUT).tolist() == [0, 1, 2] * 3  # one baseline serves every axis


def test_many_labels_and_few_records_are_no_warning() -> None:
    labels = np.arange(30) % 20
    assert set(TfidfBaseline(TRAIN).predict(labels, HELD_OUT)) <= set(range(20))  # warnings are errors here


def test_words_that_occur_once_or_stand_far_down_are_not_read() -> None:
    far = [Record(one.id, "", " " * 20_000 + one.body, {}, "train", "toys", "raw", "") for one in TRAIN]
    with pytest.raises(ValueError, match="empty vocabulary"):
        TfidfBaseline(far)
    rare = [Record(f"a/b#{n}", "", f"common words and word{n}", {}, "train", "toys", "raw", "") for n in range(6)]
    predicted = TfidfBaseline(rare).predict(np.array([0, 1] * 3), [rare[0], rare[1]])
    assert predicted[0] == predicted[1]
