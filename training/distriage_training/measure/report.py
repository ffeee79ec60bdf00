"""An evaluation as Markdown, for people. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from distriage_training.measure.evaluation import Evaluation, Interval
from distriage_training.measure.faithfulness import faithfulness_table
from distriage_training.measure.neighbours import similar_table
from distriage_training.measure.readers import readers_table
from distriage_training.measure.tables import markdown


def report(evaluation: Evaluation) -> str:
    """The tables of an evaluation, each under its heading."""
    title = f"# {evaluation.model}, split {evaluation.split} ({evaluation.records} reports)\n"
    return "\n".join([title, *_parts(evaluation)])


def _parts(evaluation: Evaluation) -> Iterator[str]:
    if evaluation.without_text:
        annotated = evaluation.records + evaluation.without_text
        yield (
            f"**Not comparable with the model card**: {evaluation.without_text} of {annotated} annotated reports of "
            f"split {evaluation.split} have no text here. `distriage corpus hydrate` fetches them; "
            "training/corpus/README.md has the figures to expect without them.\n"
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
    if evaluation.similar is not None:
        yield similar_table(evaluation.similar)
    if evaluation.faithfulness is not None:
        yield faithfulness_table(evaluation.faithfulness)
    if evaluation.second_reader is not None:
        yield readers_table(evaluation.second_reader)
    yield _groups(evaluation)
    if evaluation.group_macro_f1_mean:
        yield _published(evaluation)


def _scores(evaluation: Evaluation) -> str:
    headings = ["accuracy / macro-F1", "n", "majority", "TF-IDF + LR", "this model", "95 % interval"]
    headings += ["ECE", "Brier", "coverage at 80 / 90 / 95 %", "reader as filed", "two readers"]
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
                *(reader.get(axis, "") for reader in readers),
            ]
            for axis, row in evaluation.axes.items()
        ],
    )


def _groups(evaluation: Evaluation) -> str:
    names = sorted({name for groups in evaluation.groups.values() for name in groups})
    return markdown(
        ["accuracy / macro-F1 (n)", *evaluation.groups],
        [
            [
                name,
                *(
                    f"{groups[name]} ({groups[name].n})" if name in groups else ""
                    for groups in evaluation.groups.values()
                ),
            ]
            for name in names
        ],
    )


def _published(evaluation: Evaluation) -> str:
    ours = [(f"**this model, {axis}**", f"**{value:.4f}**") for axis, value in evaluation.group_macro_f1_mean.items()]
    others = [(f"{name} (published)", f"{value:.3f}") for name, value in evaluation.published.items()]
    return markdown(["system", "mean over groups of macro-F1"], [*ours, *others])


def _span(interval: Interval) -> str:
    return f"{interval[0]:.2f}–{interval[1]:.2f}"
