"""Which lines of a report carried a verdict: occlusion on the shipped graph.

Each line is left out in turn; the fall of the verdict's log-odds is the line's weight (Li et al., 2016, "Understanding
Neural Networks through Representation Erasure").
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from distriage.answer.verdict import EvidenceLine
from distriage.base.texts import shortened
from distriage.base.types import Prediction
from distriage.reading.report import ReadReport
from distriage.recipe.text import MAX_ERROR_LINE_CHARS, ModelInput

Predict = Callable[[Sequence[ModelInput]], list[Prediction]]  # the model

MIN_WEIGHT = 0.2  # nats; less is noise
_LOOKED_FOR = 12  # characters of a line used to find it in the report
_TRIED = 20  # occurrences tried
MAX_LINES = 40  # of a report are tried, the first ones; each costs one pass through the model


def explain(predict: Predict, known: ReadReport, top: int = 3) -> dict[str, list[EvidenceLine]]:
    """The lines that carried the likeliest label of each axis; all axes share the same passes through the model.

    A line's weight is the fall of the label's log-odds, in nats, without it. An ellipsis marks text that the
    model did not read.

    Returns:
        Axis -> at most `top` lines that speak for its label, none below `MIN_WEIGHT`: the error that others follow
        from, then the heaviest; empty for a report of one line.
    """
    found = {}
    lines = lines_of(known.input)
    body = dict.fromkeys(map(_collapsed, shortened(known.report.body).split("\n")))
    long = [line for line in body if len(line) > MAX_ERROR_LINE_CHARS]
    first = known.segments.first_error.text if known.segments.first_error is not None else ""
    for axis, weights in occlusion(predict, known.input).items():
        heaviest = sorted(range(len(weights)), key=lambda i: -weights[i])[:top]
        heaviest.sort(key=lambda i: not (lines[i] and first.startswith(lines[i])))  # the error that others follow from
        found[axis] = [
            EvidenceLine(line=marked(lines[i], long), weight=round(weights[i], 3))
            for i in heaviest
            if weights[i] >= MIN_WEIGHT
        ]
    return found


def _collapsed(line: str) -> str:
    return " ".join(line.split())


def marked(line: str, long: Iterable[str]) -> str:
    """A line, with an ellipsis if the recipe cut it out of a long line or joined the ends of one."""
    found = [
        (same, begin, whole)
        for whole in long
        for begin in _places(line[:_LOOKED_FOR], whole)
        if whole.endswith(line[(same := _same(line, whole[begin:])) :])
    ]
    if not found:
        return f"{line.rstrip()} …" if len(line) == MAX_ERROR_LINE_CHARS else line
    same, begin, whole = max(found)
    head, tail = line[:same].strip(), line[same:].strip()
    # A short prefix may be a time or a rank, which the recipe leaves out.
    before = "… " if begin >= MAX_ERROR_LINE_CHARS else ""
    after = f" … {tail}" if tail else " …" if begin + same < len(whole) else ""
    return f"{before}{head}{after}"


def _places(text: str, whole: str) -> Iterator[int]:
    """The first places of a text in a longer one."""
    place = whole.find(text)
    for _ in range(_TRIED):
        if place < 0:
            return
        yield place
        place = whole.find(text, place + 1)


def _same(one: str, other: str) -> int:
    """Length of the common beginning of two texts."""
    return bisect_left(range(1, len(one) + 1), True, key=lambda end: not other.startswith(one[:end]))


def lines_of(whole: ModelInput) -> list[str]:
    """The model's input lines: title, error lines, prose."""
    return [*([whole.title] if whole.title else []), *whole.errors, *(whole.prose.split("\n") if whole.prose else [])]


def with_lines(whole: ModelInput, kept: Collection[int]) -> ModelInput:
    """The report with only some of its lines, by their places in `lines_of`; also cut out of the report as filed."""
    lines = lines_of(whole)
    filed = whole.filed
    for i, line in enumerate(lines):
        if i not in kept:
            filed = filed.replace(line, "", 1)
    errors_at = 1 if whole.title else 0
    prose_at = errors_at + len(whole.errors)
    return ModelInput(
        title=whole.title if errors_at and 0 in kept else "",
        errors=tuple(lines[i] for i in range(errors_at, prose_at) if i in kept),
        prose="\n".join(lines[i] for i in range(prose_at, len(lines)) if i in kept),
        filed=filed,
    )


def occlusion(predict: Predict, whole: ModelInput) -> dict[str, list[float]]:
    """Axis -> weight of each of the first `MAX_LINES` lines, in order; empty where the report is a single line."""
    count = len(lines_of(whole))
    tried = min(count, MAX_LINES) if count > 1 else 0
    shorter = [with_lines(whole, set(range(count)) - {i}) for i in range(tried)]
    complete, *others = predict([whole, *shorter])
    weights = {}
    for axis, scores in complete.scores.items():
        label, probability = scores.ranked()[0]
        weights[axis] = [
            _log_odds(probability) - _log_odds(other.scores[axis].probabilities[label]) for other in others
        ]
    return weights


def _log_odds(probability: float) -> float:
    probability = min(max(probability, 1e-6), 1 - 1e-6)
    return math.log(probability / (1 - probability))
