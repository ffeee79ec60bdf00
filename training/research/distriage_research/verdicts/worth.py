"""Readers' judgements of questions and checks -> the weights of `distriage.answer.worth`. Pure except for files."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from distriage.answer.worth import CHECK, QUESTION, measures
from distriage.base.errors import CorpusError
from distriage.base.types import Fit, IssueReport
from distriage.classifier import Classifier
from distriage_training.corpus.jsonl import read_jsonl
from distriage_training.measure.tables import markdown

_ROOT: Final = Path(__file__).parents[4]
JUDGED: Final = _ROOT / "training" / "corpus" / "worth.jsonl"
WEIGHTS: Final = _ROOT / "src" / "distriage" / "answer" / "playbooks" / "worth.toml"
Array = NDArray[np.float64]

# Chosen by hand from some ninety: those that tell in the judgements of both old and present rules.
MEASURES: Final = (
    *("length", "mechanisms", "explained", "errors", "known", "version", "remedy", "traceback", "config"),
    *("kind/bug", "distributed/true", "symptom", "cause", "fix"),
    *("fix/distributed-tuning", "fix/framework-patch", "stage/training-evaluation", "stage/inference"),
    *("cause:model-data", "cause:framework-defect", "cause:communication"),
    *("symptom:preparation", "symptom:correctness", "symptom:execution"),
)
ASKED: Final = ("asks/error", "asks/torch")
# The share that stays of the lines that today's rules give and readers judged. They approve nine tenths of these
# questions, and call none of these checks absurd (training/LOG.md, 2026-11-29).
STAY: Final = {QUESTION: 0.05, CHECK: 0.25}
BUILDER: Final = 0.5  # weight of a line that only the builder judged, who was milder than the readers
PENALTY: Final = 100.0  # of the squared weights of measures in units of their deviation
FOLDS: Final = 10
REPEATS: Final = 6  # of the cross-validation, each time with other folds
_STEPS: Final = 12  # of Newton's method; it settles in six
_SETTLED: Final = 1e-9  # no weight moves by more; they are kept to four digits
_DIGITS: Final = 4
_MEASURED_DIGITS: Final = 3
_SHOWN: Final = (0.05, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5, 1)  # shares of the likeliest lines, in the table


def judged(
    classifier: Classifier, judgements: Iterable[Path], reports: Mapping[str, IssueReport]
) -> Iterator[dict[str, Any]]:
    """Rows of `worth.jsonl`: the measures of each judged report, and how readers found its lines: of a question
    the share that calls it sensible, of a check the shares that call it useful and absurd.

    Args:
        judgements: Files in the form of `advice.jsonl`, a reader each.
        reports: By id; one that is judged and not here raises CorpusError.
    """
    readings: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for path in judgements:
        for _, row in read_jsonl(path):
            readings[row["id"]].append(row)
    for place, rows in readings.items():
        questions, checks = (list(zip(*(row[lines] for row in rows), strict=True)) for lines in ("questions", "checks"))
        if questions or checks:
            if place not in reports:
                raise CorpusError(f"{place}: judged, but no text; expected one in a file of --texts")
            yield {
                "id": place,
                "judged_by": "readers" if len(rows) > 1 else "reader",
                "measures": measured(classifier, reports[place]),
                "questions": [[line[0]["fact"], _share(line, "sensible"), True] for line in questions],
                "checks": [[_share(line, "useful"), _share(line, "absurd"), True] for line in checks],
            }


def reports_of(texts: Iterable[Path]) -> dict[str, IssueReport]:
    """The reports of some files, by id."""
    rows = (row for path in texts for _, row in read_jsonl(path))
    return {row["id"]: IssueReport(row["title"], row["body"], row["id"]) for row in rows}


def measured(classifier: Classifier, report: IssueReport) -> dict[str, float]:
    """The measures of a report that are not 0."""
    findings = classifier.examine(report)
    found = measures(findings.read, findings.prediction, classifier.bundle.taxonomy)
    told = {name: round(found.get(name, 0.0), _MEASURED_DIGITS) for name in MEASURES}
    return {name: value for name, value in told.items() if value}


def _share(line: Sequence[Mapping[str, str]], word: str) -> float:
    return fmean(one["judgement"] == word for one in line)


class Judgements:
    """The judged lines of one kind.

    Attributes:
        x: Measures [lines, names], `names`.
        approved: Shares of readers that approve, and `refused`: that call it answered, senseless or absurd [lines].
        y: What the regression is fitted to: a check that is only generic counts half [lines].
        today: Whether today's rules say the line [lines].
        by_readers: Whether readers judged it [lines].
        report: Number of the line's row [lines].
    """

    def __init__(self, kind: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Collect the lines of a kind from rows of `worth.jsonl`."""
        self.names = (*MEASURES, *(ASKED if kind == QUESTION else ()))
        found = [
            ({**row["measures"], f"asks/{fact}": 1.0}, approved, refused, today, row["judged_by"] != "builder", place)
            for place, row in enumerate(rows)
            for fact, approved, refused, today in (
                [(fact, share, 1 - share, today) for fact, share, today in row["questions"]]
                if kind == QUESTION
                else [("", *told) for told in row["checks"]]
            )
        ]
        self.x: Array = np.array([[measured.get(name, 0.0) for name in self.names] for measured, *_ in found])
        self.approved: Array = np.array([approved for _, approved, *_ in found])
        self.refused: Array = np.array([refused for _, _, refused, *_ in found])
        self.y: Array = (self.approved + 1 - self.refused) / 2
        self.today = np.array([today for *_, today, _, _ in found], bool)
        self.by_readers = np.array([readers for *_, readers, _ in found], bool)
        self.report = np.array([place for *_, place in found])

    def held_out(self) -> Array:
        """The probability of each line by regressions that have not seen its report [lines]."""
        told = np.zeros(len(self.y))
        for seed in range(REPEATS):
            fold = np.random.default_rng(seed).permutation(self.report.max() + 1)[self.report] % FOLDS
            for out in (fold == number for number in range(FOLDS)):
                bias, weights = self.regression(~out)
                told[out] += 1 / (1 + np.exp(-(bias + self.x[out] @ weights)))
        return told / REPEATS

    def regression(self, some: NDArray[np.bool_]) -> tuple[float, Array]:
        """The regression of some lines [lines]."""
        return regression(self.x[some], self.y[some], np.where(self.by_readers, 1.0, BUILDER)[some])


def regression(x: Array, y: Array, count: Array, penalty: float | None = None) -> tuple[float, Array]:
    """A ridge logistic regression by Newton's method: bias and weights [names] of measures as they are.

    Args:
        count: How much each line counts [lines].
        penalty: In place of `PENALTY`.
    """
    mean = np.average(x, 0, count)
    deviation = np.sqrt(np.average((x - mean) ** 2, 0, count))
    deviation[deviation == 0] = 1
    inputs = np.c_[np.ones(len(x)), (x - mean) / deviation]
    ridge = np.diag([0.0, *[PENALTY if penalty is None else penalty] * x.shape[1]])
    solved = np.zeros(inputs.shape[1])
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-inputs @ solved))
        curvature = (inputs * (count * p * (1 - p))[:, None]).T @ inputs + ridge
        step = np.linalg.solve(curvature, inputs.T @ (count * (y - p)) - ridge @ solved)
        solved += step
        if np.abs(step).max() < _SETTLED:
            break
    weights = solved[1:] / deviation
    return float(solved[0] - mean @ weights), weights


def fitted(rows: Sequence[Mapping[str, Any]]) -> dict[str, Fit]:
    """The regression of each kind of line, and the probability below which it is not shown."""
    fits = {}
    for kind, stay in STAY.items():
        lines = Judgements(kind, rows)
        bias, weights = lines.regression(np.full(len(lines.y), True))
        least = float(np.quantile(lines.held_out()[lines.today & lines.by_readers], 1 - stay))
        fits[kind] = Fit(
            least=round(least, _DIGITS),
            bias=round(bias, _DIGITS),
            weights={name: round(float(weight), _DIGITS) for name, weight in zip(lines.names, weights, strict=True)},
        )
    return fits


def as_toml(fits: Mapping[str, Fit], name: str = "worth") -> str:
    """The content of `worth.toml`, or of the weights that another command writes."""
    parts = [f"# Written by `python training/research {name}`, which fits it to training/corpus/{name}.jsonl."]
    for line, fit in fits.items():
        weights = [f"{json.dumps(name)} = {weight}" for name, weight in fit.weights.items()]
        parts += ["", f"[{line}]", f"least = {fit.least}", f"bias = {fit.bias}", f"[{line}.weights]", *weights]
    return "\n".join(parts) + "\n"


def shares(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many lines are approved and refused, of the likeliest held-out ones: of those that today's rules say, as
    readers alone and as all judged them, and of all."""
    table = []
    for kind in STAY:
        lines = Judgements(kind, rows)
        told = lines.held_out()
        for name, some in (
            ("today's rules, readers", lines.today & lines.by_readers),
            ("today's rules", lines.today),
            ("all", np.full(len(told), True)),
        ):
            order = np.flatnonzero(some)[np.argsort(-told[some], kind="stable")]
            best = [order[: round(len(order) * share)] for share in _SHOWN]
            row = [f"{lines.approved[one].mean():.0%} ({lines.refused[one].mean():.0%})" for one in best]
            table.append([f"{kind}s, {name}", str(len(order)), *row])
    return markdown(["approved (refused) of", "lines", *(f"{share:.0%}" for share in _SHOWN)], table)
