"""The weights of the order among past issues, fitted to pairs of issues of which one names the other.

Such issues are related, seldom the same; but there are many, and none is of the pairs that measure the order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.model_selection import GroupKFold

from distriage.base.errors import CorpusError
from distriage.base.references import thread_key
from distriage.base.texts import regex
from distriage.classifier import Classifier
from distriage.past.index import APART, VECTOR, WORDS
from distriage.past.words import titled, unit, weighted
from distriage.recipe.features import HASH_BUCKETS
from distriage.recipe.weights import cosines
from distriage_research.corpus.digests import is_withheld
from distriage_research.experiments.duplicates import AT, IN_GROUPS, Repository, rank, read_pairs, read_repositories
from distriage_training.corpus.jsonl import read_jsonl
from distriage_training.corpus.tables import read_csv
from distriage_training.measure.tables import markdown

# not frames of a trace: `#3 0x7f`, `#3  run`, `#3 run(`
_NAMED = regex(r"(?<![\w/])#(\d{1,7})\b(?!  |:? +(?:0x|\S+\())|([\w.-]+/[\w.-]+)(?:#|/issues/)(\d{1,7})\b")
_SAME = regex(r"duplicate|\bdup\b|same issue as", re.I)
VIEWS = np.flatnonzero(WORDS)
TODAY = np.array([*WORDS[VIEWS], VECTOR, -APART], np.float64)
FOLDS = 5
# A conditional logit, though likelier, finds no more pairs among five: far places weigh as much as near ones.
GRID = np.array(
    list(product((0.29, 0.45, 0.6, 0.8, 1, 1.3), (0.1, 0.18, 0.25, 0.35, 0.5), (0.5,), (-0.02, -0.035, -0.05, -0.07)))
)

Floats = NDArray[np.float64]
Ranks = NDArray[np.int64]  # [2, pairs]: among earlier issues, and among all
Choice = tuple[Floats, int, int]  # from `signs_of`, row of the later issue, row of the sooner one


@dataclass(frozen=True, slots=True)
class OrderResult:
    """Fitted weights of `signs_of`, and the ranks by today's and by fitted ones.

    Attributes:
        named: Of the pairs to decide on, each by weights that were fitted to other repositories.
        public: Of the pairs that decide nothing, by `weights`.
    """

    weights: Floats
    named: tuple[Ranks, Ranks]
    public: tuple[Ranks, Ranks]


def measure_order(
    classifier: Classifier,
    texts: Sequence[str],
    threads: Path,
    public: Path,
    judged: Path | None,
    corpus: Path,
    withheld: frozenset[str] = frozenset(),
) -> OrderResult:
    """Fit in the repositories of the public pairs, without the issues of these; then measure once on them.

    Args:
        texts, public, judged: As in `measure_duplicates`; no judged issue decides anything, either.
        threads: JSONL with `id` and `comments`.
        corpus: Folder of the annotations, whose test split decides nothing.
        withheld: Digests of threads that are kept for a last test; nothing in them counts.

    Raises:
        CorpusError: a table lacks a column, no public pair has both texts, or too few repositories have other pairs.
        InputError: a file of issues cannot be read.
    """
    known = read_pairs(public)
    test = (str(row["id"]) for _, row in read_jsonl(corpus / "annotations.jsonl") if row.get("split") == "test")
    read = [] if judged is None else [(row["issue"], row["past"]) for row in read_csv(judged, ("issue", "past"))]
    left_out = frozenset(map(thread_key, chain(test, *read, *known)))
    comments = {thread_key(str(row.get("id"))): row.get("comments") or () for _, row in read_jsonl(threads)}
    places = read_repositories(classifier, texts, known)
    named = [replace(one, pairs=named_pairs(one, comments, left_out, withheld)) for one in places]
    groups = np.repeat(np.arange(len(named)), [len(one.pairs) for one in named])
    if len({*groups}) < FOLDS:
        raise CorpusError(f"{len({*groups})} repositories have issues that name each other; expected {FOLDS} or more")
    choices, measured = (list(chain(*map(_choices, of))) for of in (named, places))
    found = found_by_grid(choices)
    fitted = np.zeros((2, len(choices)), np.int64)
    for rest, held_out in GroupKFold(FOLDS).split(groups, groups=groups):
        fitted[:, held_out] = _ranks([choices[row] for row in held_out], fit_order(found[:, rest]))
    weights = fit_order(found)
    return OrderResult(weights, (_ranks(choices, TODAY), fitted), (_ranks(measured, TODAY), _ranks(measured, weights)))


def named_pairs(
    repository: Repository, comments: Mapping[str, Sequence[str]], left_out: frozenset[str], withheld: frozenset[str]
) -> list[tuple[int, int]]:
    """Rows of two issues of which one's body or comment names the other, but does not call it the same.

    Those that it calls the same are left out, since withheld pairs are probably among them.

    Args:
        comments: By `thread_key`, as `left_out`.
    """
    keys = {thread_key(issue.id): row for row, (issue, _) in enumerate(repository.issues)}
    rows = {key: row for key, row in keys.items() if key not in left_out and not is_withheld(key, withheld)}
    found: dict[tuple[int, int], bool] = {}
    for key, row in rows.items():
        for text in (repository.issues[row][1].body, *comments.get(key, ())):
            for near, elsewhere, number in _NAMED.findall(text):
                other = rows.get(thread_key(f"{elsewhere or key.rpartition('#')[0]}#{near or number}"), row)
                if other != row:
                    pair = min(row, other), max(row, other)
                    found[pair] = found.get(pair, False) or _SAME.search(text) is not None
    return [pair for pair, same in found.items() if not same]


def signs_of(repository: Repository, row: int) -> Floats:
    """The terms of `PastIndex.scores` between an issue and all, without their weights, [issues, terms]."""
    index, asked = repository.index, repository.known(row)
    buckets, values = weighted(titled(asked.features, asked.title), index.idf)
    words = [
        cosines(buckets[of], values[of], index.starts, index.rows, index.weights, len(index.issues))
        for of in (buckets // HASH_BUCKETS == view for view in VIEWS)
    ]
    *_, days = index.scores(asked)
    return np.stack([*words, index.vectors @ unit(asked.vector), np.log1p(days / 7)], 1)


def found_by_grid(choices: Sequence[Choice]) -> NDArray[np.bool_]:
    """Whether each pair is found among `IN_GROUPS` of all issues, [weights of `GRID`, pairs]."""
    return np.array([_ranks(choices, weights)[1] <= IN_GROUPS for weights in GRID])


def fit_order(found: NDArray[np.bool_]) -> Floats:
    """The weights of `GRID` by which most pairs of `found_by_grid` are found."""
    best: Floats = GRID[np.argmax(found.mean(1))]
    return best


def sign_test(new: NDArray[np.bool_], old: NDArray[np.bool_]) -> tuple[int, int, float]:
    """Pairs won, pairs lost, and the probability of as uneven a split by chance."""
    won, lost = int((new & ~old).sum()), int((old & ~new).sum())
    return won, lost, float(binomtest(won, won + lost).pvalue) if won + lost else 1.0


def order_table(result: OrderResult) -> str:
    """The figures as Markdown, the public pairs last."""
    rows = []
    for name, (old, new) in (("to decide on", result.named), ("public", result.public)):
        for whose, ranks in (("today's", old), ("fitted", new)):
            shares = (f"{' / '.join(f'{(of <= at).mean():.3f}' for at in AT)}; {(1 / of).mean():.3f}" for of in ranks)
            rows.append([f"{len(old[0])} pairs {name}, {whose}", *shares])
        found = map(sign_test, new <= IN_GROUPS, old <= IN_GROUPS)
        nearer = map(sign_test, new < old, new > old)
        for test, of in ((f"among {IN_GROUPS}", found), ("nearer", nearer)):
            rows.append([f"{name}, {test}", *(f"{won} won, {lost} lost, p {chance:.3f}" for won, lost, chance in of)])
    at = f"{' / '.join(map(str, AT))}; mrr"
    said = ", ".join(f"{old:.3f} -> {new:.3f}" for old, new in zip(TODAY, result.weights, strict=True))
    table = markdown(["weights", f"among earlier issues, {at}", f"among all, {at}"], rows)
    return f"{table}\n\nWords, title, vectors, time: {said}"


def _choices(repository: Repository) -> list[Choice]:
    return [(signs_of(repository, max(pair)), max(pair), min(pair)) for pair in repository.pairs]


def _ranks(choices: Sequence[Choice], weights: Floats) -> Ranks:
    return np.array([[rank(x @ weights, *rows, earlier=early) for x, *rows in choices] for early in (True, False)])
