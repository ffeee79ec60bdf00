"""An evaluation as Markdown, for people. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from distriage_training.measure.evaluation import Evaluation, GroupScores, Interval
from distriage_training.measure.tables import markdown


def report(evaluation: Evaluation) -> str:
    """The tables of an evaluation, each under its heading."""
    title = f"# {evaluation.model}, split {evaluation.split} ({evaluation.records} reports)\n"
    return "\n".join([title, *_parts(evaluation)])


def _parts(evaluation: Evaluation) -> Iterator[str]:
    if evaluation.without_text:
        yield (
            f"**Not comparable with the model card**: {evaluation.without_text} of {evaluation.annotated} annotated "
            f"reports of split {evaluation.split} have no text here. `python training/research corpus hydrate` fetches "
            "them; training/corpus/README.md has the figures to expect without them.\n"
        )
    yield _scores(evaluation)
    yield "Applied at the shipped thresholds: precision (coverage)\n"
    yield markdown(
        ["mode", *evaluation.axes],
        [[mode, *axes.values()] for mode, axes in evaluation.thresholds.items()],
    )
    if evaluation.feedback:
        yield "Against reviews of maintainers, which are in no other table: accuracy / macro-F1 (n)\n"
        yield markdown(list(evaluation.feedback), [[f"{row} ({row.n})" for row in evaluation.feedback.values()]])
    yield from _groups(evaluation)
    if evaluation.advice:
        yield "Facts, questions and checks, with 95 % intervals and the number of items\n"
        yield evaluation.advice
    if evaluation.group_macro_f1_mean:
        yield _published(evaluation)


def _scores(evaluation: Evaluation) -> str:
    headings = ["accuracy / macro-F1", "n", "majority", "TF-IDF + LR", "this model", "95 % interval"]
    headings += [
        "ECE",
        "Brier",
        "coverage at 80 / 90 / 95 %",
        "among 3 / 5 likeliest",
        "reader as filed",
        "two readers",
    ]
    readers = [evaluation.agreement.get(name, {}) for name in ("as_filed", "whole_thread")]
    return markdown(
        headings,
        [
            [
                axis,
                row.n,
                row.majority,
                row.tfidf_lr or "",
                f"**{row}**",
                f"{_span(row.accuracy_interval)} / {_span(row.macro_f1_interval)}",
                f"{row.ece:.3f}",
                f"{row.brier:.3f}",
                " / ".join(f"{value:.0%}" for value in row.coverage.values()),
                " / ".join(f"{value:.3f}" for value in row.among.values()),
                *(reader.get(axis, "") for reader in readers),
            ]
            for axis, row in evaluation.axes.items()
        ],
    )


def _groups(evaluation: Evaluation) -> Iterator[str]:
    """Scores of every group, and the promise for each origin: a model may keep it on one and break it on another."""
    names = sorted({name for groups in evaluation.groups.values() for name in groups})
    origins = [name for name in names if name.startswith("origin ")]
    if origins:
        yield _by_group("right label among three", evaluation, origins, lambda row: f"{row.among_three:.3f}")
        for mode in evaluation.thresholds:
            heading, cell = f"{mode}: precision (coverage)", partial(_applied, mode=mode)
            yield _by_group(heading, evaluation, origins, cell)
    yield _by_group("accuracy (95 % interval) / macro-F1, n", evaluation, names, _scores_of_group)


def _by_group(heading: str, evaluation: Evaluation, names: list[str], cell: Callable[[GroupScores], str]) -> str:
    """A row for each name, a column for each axis."""
    by_axis = evaluation.groups.values()
    rows = [[name, *(cell(groups[name]) if name in groups else "" for groups in by_axis)] for name in names]
    return markdown([heading, *evaluation.groups], rows)


def _applied(row: GroupScores, mode: str) -> str:
    return str(row.applied[mode])


def _scores_of_group(row: GroupScores) -> str:
    span = "" if row.accuracy_interval is None else f" ({_span(row.accuracy_interval)})"
    return f"{row.accuracy:.3f}{span} / {row.macro_f1:.3f}, {row.n}"


def _published(evaluation: Evaluation) -> str:
    ours = [(f"**this model, {axis}**", f"**{value:.4f}**") for axis, value in evaluation.group_macro_f1_mean.items()]
    others = [(f"{name} (published)", f"{value:.3f}") for name, value in evaluation.published.items()]
    return markdown(["system", "mean over groups of macro-F1"], [*ours, *others])


def _span(interval: Interval) -> str:
    return f"{interval[0]:.2f}–{interval[1]:.2f}"
