from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from torch.nn import functional
from transformers import BertConfig, BertModel

from distriage_training.corpus.records import UNLABELLED
from distriage_training.fit.model import ExportedModel, SparseHead, TriageModel

AXES = {"kind": 3, "cause": 5}
BUCKETS = 40


def build(**changes: float) -> TriageModel:
    """A small model with random weights; its encoder is a real one."""
    torch.manual_seed(0)
    settings = {
        "vocab_size": 50,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": 32,
    }
    encoder = BertModel(
        BertConfig(**settings, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0), add_pooling_layer=False
    )
    return TriageModel(encoder, AXES, hash_buckets=BUCKETS, **changes)


def batch() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(1, 50, (4, 9), generator=generator), torch.ones(4, 9, dtype=torch.long)


def test_the_loss_is_the_mean_over_reports_of_the_sum_over_labelled_axes() -> None:
    model = build()
    labels = torch.tensor([[0, 4], [2, UNLABELLED], [UNLABELLED, 1], [UNLABELLED, UNLABELLED]])
    weights = torch.tensor([[1.0, 0.5], [2.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    result = model(*batch(), labels=labels[:, None], weights=weights[:, None])
    kind, cause = (functional.log_softmax(logits, -1) for logits in result["logits"])
    by_hand = -(kind[0, 0] + 0.5 * cause[0, 4] + 2.0 * kind[1, 2] + 0.0 * cause[2, 1]) / 4
    assert result["loss"].item() == pytest.approx(by_hand.item(), rel=1e-5)


def test_an_unlabelled_axis_gives_its_head_no_gradient() -> None:
    model = build(label_smoothing=0.1)
    model.set_class_weights({"kind": torch.tensor([3, 2, 1]), "cause": torch.tensor([1, 1, 1, 1, 9])}, 0.5)
    labels = torch.tensor([[0, UNLABELLED], [2, UNLABELLED], [1, UNLABELLED], [0, UNLABELLED]])
    model(*batch(), labels=labels[:, None], weights=torch.ones(4, 1, 2))["loss"].backward()
    kind, cause = model.heads["kind"], model.heads["cause"]
    assert kind.weight.grad.abs().max() > 0
    assert cause.weight.grad.abs().max() == 0
    assert cause.bias.grad.abs().max() == 0
    pool = model.pool.weight.grad
    assert pool[0].abs().max() > 0
    assert pool[1].abs().max() == 0


def test_reports_without_a_label_do_not_move_a_head() -> None:
    model = build()
    ids, mask = batch()
    labels = torch.tensor([[0, 4], [2, UNLABELLED], [1, 3], [0, UNLABELLED]])
    model(ids, mask, labels=labels[:, None], weights=torch.ones(4, 1, 2))["loss"].backward()
    both = model.heads["cause"].weight.grad.clone()
    model.zero_grad()
    rows = torch.tensor([0, 2])
    (model(ids[rows], mask[rows], labels=labels[rows, None], weights=torch.ones(2, 1, 2))["loss"] / 2).backward()
    torch.testing.assert_close(both, model.heads["cause"].weight.grad)


def test_a_batch_without_labels_has_no_loss_but_logits() -> None:
    result = build()(*batch())
    assert "loss" not in result
    assert [tuple(logits.shape) for logits in result["logits"]] == [(4, 3), (4, 5)]


def test_class_weights_have_mean_one_and_favour_rare_labels() -> None:
    model = build()
    counts = torch.tensor([90, 9, 0, 30, 2])
    model.set_class_weights({"cause": counts}, 0.5)
    weights = model.class_weight_cause
    smoothed = counts + 1.0
    assert (weights * smoothed).sum().item() / smoothed.sum().item() == pytest.approx(1.0)
    assert weights.argsort(descending=True).tolist() == [2, 4, 1, 3, 0]
    assert (weights[1] / weights[0]).item() == pytest.approx((91 / 10) ** 0.5, rel=1e-5)
    assert torch.equal(model.class_weight_kind, torch.ones(3))


def test_exponent_zero_is_no_balance_and_one_is_full_balance() -> None:
    model = build()
    counts = torch.tensor([90, 9, 0, 30, 2])
    model.set_class_weights({"cause": counts}, 0.0)
    torch.testing.assert_close(model.class_weight_cause, torch.ones(5))
    model.set_class_weights({"cause": counts}, 1.0)
    shares = model.class_weight_cause * (counts + 1.0)
    torch.testing.assert_close(shares, shares[0].expand(5))


def test_class_weights_scale_the_loss() -> None:
    model = build()
    labels = torch.tensor([[UNLABELLED, 1]] * 4)
    plain = model(*batch(), labels=labels[:, None], weights=torch.ones(4, 1, 2))["loss"].item()
    model.set_class_weights({"cause": torch.tensor([50, 1, 1, 1, 1])}, 1.0)
    weighted = model(*batch(), labels=labels[:, None], weights=torch.ones(4, 1, 2))["loss"].item()
    assert weighted == pytest.approx(plain * model.class_weight_cause[1].item(), rel=1e-5)


def test_class_weights_are_not_part_of_the_saved_weights() -> None:
    assert not [name for name in build().state_dict() if name.startswith("class_weight")]


def test_padding_changes_nothing() -> None:
    model = build().eval()
    ids, mask = batch()
    padded = (
        torch.cat([ids, torch.zeros(4, 6, dtype=torch.long)], 1),
        torch.cat([mask, torch.zeros(4, 6, dtype=torch.long)], 1),
    )
    with torch.inference_mode():
        for plain, wide in zip(model.encode(ids, mask)[0], model.encode(*padded)[0], strict=True):
            torch.testing.assert_close(plain, wide, atol=1e-5, rtol=1e-5)
        whole = torch.ones_like(mask)
        for masked, unmasked in zip(model.encode(ids, whole)[0], model.encode(ids, None)[0], strict=True):
            torch.testing.assert_close(masked, unmasked, atol=1e-5, rtol=1e-5)


def test_dropout_of_the_heads_acts_in_training_only() -> None:
    model = build(head_dropout=0.5)
    first, second = (model.encode(*batch())[0][0] for _ in range(2))
    assert not torch.equal(first, second)
    model.eval()
    first, second = (model.encode(*batch())[0][0] for _ in range(2))
    assert torch.equal(first, second)


def counts_matrix() -> csr_matrix:
    rng = np.random.default_rng(3)
    return csr_matrix(rng.poisson(0.6, (60, BUCKETS)).astype(float))


def padded_features(counts: csr_matrix, width: int) -> tuple[Tensor, Tensor]:
    ids, values = torch.zeros(counts.shape[0], width, dtype=torch.long), torch.zeros(counts.shape[0], width)
    for row in range(counts.shape[0]):
        part = counts.indices[counts.indptr[row] : counts.indptr[row + 1]]
        ids[row, : len(part)] = torch.from_numpy(part.astype(np.int64))
        values[row, : len(part)] = torch.from_numpy(counts.data[counts.indptr[row] : counts.indptr[row + 1]])
    return ids, values


def test_the_sparse_head_equals_scikit_learn() -> None:
    counts = counts_matrix()
    labels = np.arange(60) % 4
    tfidf = TfidfTransformer(sublinear_tf=True).fit(counts)
    fitted = LogisticRegression(C=10).fit(tfidf.transform(counts), labels)
    head = SparseHead(BUCKETS, 4)
    head.idf.copy_(torch.from_numpy(tfidf.idf_))
    head.set_weights(0, torch.from_numpy(fitted.coef_.T).float())
    head.bias[0] = torch.from_numpy(fitted.intercept_)
    expected = fitted.decision_function(tfidf.transform(counts))
    assert np.ptp(expected) > 1
    for width in (BUCKETS, BUCKETS + 13):  # the rest is padding
        np.testing.assert_allclose(head(*padded_features(counts, width))[:, 0].numpy(), expected, atol=2e-2)


def test_each_view_is_a_regression_of_its_own() -> None:
    one, two = SparseHead(BUCKETS, 3), SparseHead(BUCKETS, 3)
    both = SparseHead(BUCKETS, 3, views=2)
    for view, head in enumerate((one, two)):
        weight = torch.randn(BUCKETS, 3)
        head.set_weights(0, weight)
        both.set_weights(view, weight)
        head.idf.copy_(torch.rand(BUCKETS) + 1)
        head.bias.copy_(torch.randn(1, 3))
        both.idf[view * BUCKETS : (view + 1) * BUCKETS] = head.idf
        both.bias[view] = head.bias[0]
    ids, counts = padded_features(counts_matrix()[:5], BUCKETS)
    joined = both(torch.cat([ids, BUCKETS + ids], 1), torch.cat([counts, 2 * counts], 1))
    torch.testing.assert_close(joined[:, 0], one(ids, counts)[:, 0])
    torch.testing.assert_close(joined[:, 1], two(ids, 2 * counts)[:, 0])


def test_a_report_without_features_gets_the_bias() -> None:
    head = SparseHead(BUCKETS, 3)
    head.idf.fill_(2.0)
    head.weight.fill_(1)
    head.bias[0] = torch.tensor([0.5, -1.0, 0.0])
    logits = head(torch.zeros(1, 1, dtype=torch.long), torch.zeros(1, 1))
    assert logits.tolist() == [[[0.5, -1.0, 0.0]]]


def test_the_exported_graph_adds_the_sparse_logits_axis_by_axis() -> None:
    model = build().eval()
    torch.nn.init.normal_(model.sparse.idf)
    model.sparse.set_weights(0, torch.randn(BUCKETS, 8))
    model.mix.copy_(torch.tensor([[0.0], [0.7]]))
    features = padded_features(counts_matrix()[:1], BUCKETS)
    ids = batch()[0][:1]
    with torch.inference_mode():
        dense, *means = model.encode(ids, None)
        sparse = model.sparse(*features)
        kind, cause, *vectors = ExportedModel(model)(ids, *features)
        layers = model.encoder(input_ids=ids, output_hidden_states=True).hidden_states
    assert torch.equal(kind, dense[0])
    for vector, mean, layer in zip(vectors, means, (layers[-1], layers[-2]), strict=True):
        assert torch.equal(vector, mean) and torch.equal(mean, layer.mean(1))
    torch.testing.assert_close(cause, dense[1] + 0.7 * sparse[:, 0, 3:])
    assert not torch.allclose(cause, dense[1], atol=1e-3)


def test_sparse_weights_are_not_trained() -> None:
    model = build()
    assert not [name for name, _ in model.named_parameters() if name.startswith("sparse")]
    assert {"sparse.idf", "sparse.weight", "sparse.bias", "mix"} <= set(model.state_dict())
    assert model.mix.tolist() == [[0.0], [0.0]]
