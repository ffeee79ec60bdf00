"""The quality of `distriage learn`, beside TF-IDF and SetFit: on later issues of a repository, and on NLBSE'24.

SetFit fine-tunes the base of our own encoder. All three have the same regressions, calibration and thresholds, and
answer the same later issues.
"""

from __future__ import annotations

import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import f1_score

from distriage.classifier import Classifier
from distriage.github.history import load_history
from distriage.github.listed import ListedIssue
from distriage.own.features import OwnFeatures
from distriage_research.experiments import contrastive
from distriage_training.corpus.tables import read_csv
from distriage_training.fit.encoder import PACKAGE
from distriage_training.learn.examples import Wishes, choose, newest, usable
from distriage_training.learn.features import features_of
from distriage_training.learn.fit import KINDS, Bools, Kind, best, blocks, learn
from distriage_training.learn.measure import Figures, measure
from distriage_training.learn.run import truth_of
from distriage_training.learn.thresholds import Promise
from distriage_training.measure.tables import markdown

SETFIT = Kind("SetFit, same base", (), True, 1.0)  # C = 1 for vectors of unit length, as in its authors' package
MAX_TOKENS, SEED = 256, 7
PROMISE = Promise(0.8, 0.9)
TAKEN = "as `learn` chooses"
Note = Callable[[str], None]
Table = Mapping[str, Sequence[ListedIssue]]


@dataclass(frozen=True, slots=True)
class ByDate:
    """One kind of features on the newest fifth of a repository's issues, learned from those before.

    Attributes:
        chosen: Whether `learn` would take it.
        labels: Number of labels learned.
        issues, covered: Later issues, and those of them that get a label.
        given, right: Labels given to them, and those of these that people gave too.
        average_precision: Micro-averaged, by forward chaining on the earlier issues; `learn` chooses by it.
        seconds: To learn and calibrate; reading the issues is apart.
    """

    repository: str
    features: str
    chosen: bool
    labels: int
    issues: int
    covered: int
    given: int
    right: int
    micro_f1: float
    average_precision: float
    seconds: float


def by_date(classifier: Classifier, histories: Sequence[Path], *, setfit: bool, note: Note) -> list[ByDate]:
    """Measure each history that `distriage learn` or `backtest` keeps.

    Raises:
        InputError: a file is not a history, or is too small to learn from.
    """
    rows = []
    for file in histories:
        repository, history = load_history(file)
        kept = usable(history.issues).kept
        note(f"{repository}: reading {len(kept)} issues")
        features = features_of(classifier, kept, lambda *_: None)
        first = newest(len(kept))
        labels = choose(kept[:first], Wishes())
        truth = truth_of(kept, labels)
        kinds: list[tuple[Kind, list[OwnFeatures]]] = [(kind, features) for kind in KINDS]
        if setfit:
            note(f"{repository}: SetFit")
            kinds.append((SETFIT, _setfit_features(kept, truth, blocks(first)[0][0])))
        found: list[tuple[Figures, float]] = []
        for kind, numbers in kinds:
            began = time.perf_counter()
            learned = learn(kind, numbers[:first], truth[:first], PROMISE)
            seconds = time.perf_counter() - began
            later = learned.probabilities(numbers[first:])
            found.append((measure(labels.names, learned, kept, later, truth), seconds))
        taken = max((figures for figures, _ in found[: len(KINDS)]), key=lambda figures: figures.quality).features
        rows += [_row(repository, taken, figures, seconds) for figures, seconds in found]
    return rows


def _row(repository: str, taken: str, figures: Figures, seconds: float) -> ByDate:
    return ByDate(
        repository,
        figures.features,
        figures.features == taken,
        len(figures.labels),
        figures.issues,
        figures.covered,
        figures.given,
        figures.right,
        figures.micro_f1,
        figures.quality,
        seconds,
    )


def published(classifier: Classifier, known: Table, asked: Table, note: Note) -> dict[str, dict[str, float]]:
    """Macro-F1 on the tables of NLBSE'24: one model per repository, the likeliest of its labels.

    The tables list issues by label, so they are shuffled: `learn` holds out the last ones to choose by.

    Args:
        known, asked: `train.csv` and `test.csv`, from `read_table`.

    Returns:
        Features -> repository -> macro-F1.
    """
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for repository, listed in known.items():
        issues = random.Random(SEED).sample(listed, len(listed))
        note(f"{repository}: reading {len(issues) + len(asked[repository])} issues")
        features, later = (features_of(classifier, part, lambda *_: None) for part in (issues, asked[repository]))
        names = sorted({label for issue in issues for label in issue.labels})
        truth = np.array([[name in issue.labels for name in names] for issue in issues])
        right = [issue.labels[0] for issue in asked[repository]]
        tried = [learn(kind, features, truth, PROMISE) for kind in KINDS]
        for name, one in (*((one.heads.kind.name, one) for one in tried), (TAKEN, best(tried))):
            said = [names[column] for column in one.heads.scores(later).argmax(1)]
            found[name][repository] = float(f1_score(right, said, average="macro"))
    return dict(found)


def read_table(file: Path) -> Table:
    """Repository -> issues of a CSV file with the columns repo, created_at, label, title and body; may be gzipped.

    Raises:
        CorpusError: unreadable file.
    """
    found: dict[str, list[ListedIssue]] = defaultdict(list)
    for row in read_csv(file, ["repo", "label", "title", "body"]):
        issues = found[row["repo"]]
        issues.append(ListedIssue(len(issues) + 1, row["title"], row["body"], "", 0.0, (row["label"],), False))
    return found


def _setfit_features(issues: Sequence[ListedIssue], truth: Bools, first: int) -> list[OwnFeatures]:
    """Vectors of an encoder that was fine-tuned on the issues that no heads are asked about."""
    texts = [contrastive.one_line(issue.title, issue.body) for issue in issues]
    rows = contrastive.shots([np.flatnonzero(given).tolist() for given in truth[:first].T], SEED)
    labels = [truth[row].astype(int).tolist() for row in rows]
    encoder = contrastive.fine_tuned(PACKAGE, MAX_TOKENS, [texts[row] for row in rows], labels, SEED)
    nothing = np.zeros(0)
    return [
        OwnFeatures(nothing.astype(np.int64), nothing, vector, nothing.astype(np.float32))
        for vector in contrastive.vectors(encoder, texts)
    ]


def by_date_table(rows: Sequence[ByDate]) -> str:
    """Markdown; a star marks the choice of `learn`; the last rows are all repositories together."""
    headings = ["repository", "features", "labels", "labelled", "right", "micro-F1", "average precision", "seconds"]
    lines: list[list[object]] = [
        [
            row.repository,
            f"{row.features} *" if row.chosen else row.features,
            row.labels,
            f"{row.covered / row.issues:.3f}",
            f"{row.right}/{row.given}",
            f"{row.micro_f1:.3f}",
            f"{row.average_precision:.3f}",
            f"{row.seconds:.0f}",
        ]
        for row in rows
    ]
    parts = {
        features: [row for row in rows if row.features == features]
        for features in dict.fromkeys(row.features for row in rows)
    }
    for features, mine in {**parts, TAKEN: [row for row in rows if row.chosen]}.items():
        covered = sum(row.covered for row in mine) / sum(row.issues for row in mine)
        right, given = sum(row.right for row in mine), sum(row.given for row in mine)
        lines.append(["all", features, "", f"{covered:.3f}", f"{right}/{given}", "", "", ""])
    return markdown(headings, lines)


def published_table(found: dict[str, dict[str, float]]) -> str:
    """Markdown."""
    repositories = list(next(iter(found.values())))
    rows = [
        [features, *(f"{scores[name]:.3f}" for name in repositories), f"{np.mean(list(scores.values())):.4f}"]
        for features, scores in found.items()
    ]
    return markdown(["NLBSE'24, macro-F1", *repositories, "mean"], rows)


def as_json(rows: Sequence[ByDate], found: dict[str, dict[str, float]]) -> str:
    """All figures."""
    return json.dumps({"by_date": [asdict(row) for row in rows], "published": found}, indent=1) + "\n"
