"""`distriage second-reader calibrate` and `evaluate`. Imports nothing heavy before a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from distriage.base.disk import writing
from distriage.base.errors import InputError
from distriage.base.types import Mode
from distriage.commands.second_reader import (
    ALL_AXES,
    SAME,
    Answers,
    Axes,
    CalibrationOption,
    ModelOption,
    ModeOption,
    ReaderModel,
    Times,
    asking_of,
    calibration_of,
    second_reader_app,
)
from distriage_training.commands.options import wide_console

Annotations = Annotated[
    str, typer.Argument(metavar="ANNOTATED", help="Reports with `labels`, an object axis -> label; one a line.")
]


@second_reader_app.command()
def calibrate(
    annotated: Annotations,
    answers: Answers,
    output: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the calibration.")],
    reader_model: ReaderModel = "",
    by: Annotated[
        str, typer.Option(metavar="FIELD", help="A field of the reports: keep the promise for each of its values.")
    ] = "",
    mode: ModeOption = Mode.BALANCED,
    model: ModelOption = None,
    axes: Axes = ALL_AXES,
    times: Times = 1,
) -> None:
    """Find out from annotated reports when the second reader's labels may be given."""
    from rich.table import Table

    from distriage.second_reader.bulk import read_answers
    from distriage.second_reader.calibration import ReaderCalibration
    from distriage_training.second_reader.annotated import examples
    from distriage_training.second_reader.fitting import MIN_REPORTS, fit_axis

    asking = asking_of(reader_model, mode, model, axes, times)
    found, none = examples(annotated, read_answers(answers), asking, by)
    fitted = {axis: fit_axis(found.get(axis, []), none[axis]) for axis in asking.axes}
    counts = {axis: len(found.get(axis, [])) for axis in asking.axes}
    good = {axis: fit for axis, fit in fitted.items() if fit is not None}
    if not good:
        rejected = {axis: f" (and {none[axis]} 'none of these')" if none[axis] else "" for axis in counts}
        numbers = ", ".join(f"{axis} {count}{rejected[axis]}" for axis, count in counts.items())
        raise InputError(
            f"{annotated}: too few annotated reports that got a label of both readers: {numbers}; expected "
            f"{MIN_REPORTS} or more of an axis, and {SAME}"
        )
    calibration = ReaderCalibration(
        reader=reader_model,
        model=asking.classifier.bundle.manifest.name,
        times=times,
        axes={axis: fit.fusion for axis, fit in good.items()},
    )
    with writing(output):
        output.write_text(calibration.model_dump_json(indent=2) + "\n", encoding="utf-8")
    table = Table(
        "axis", "labelled", "none of these", "first right", "both right", "given at 80 %", "given at 90 %", box=None
    )
    for axis, count in counts.items():
        fit = good.get(axis)
        if fit is None:
            table.add_row(axis, str(count), str(none[axis]), f"under {MIN_REPORTS}")
            continue
        given = [f"{fit.given[target]:.0%}" if target in fit.given else "none" for target in ("0.80", "0.90")]
        right = (f"{fit.first_right:.2f}", f"{fit.both_right:.2f}")
        table.add_row(axis, str(count), str(none[axis]), *right, *given)
    wide_console().print(table)


@second_reader_app.command()
def evaluate(
    annotated: Annotations,
    answers: Answers,
    reader_model: ReaderModel = "",
    reader_calibration: CalibrationOption = None,
    by: Annotated[str, typer.Option(metavar="FIELD", help="A field of the reports: figures for each value.")] = "",
    mode: ModeOption = Mode.BALANCED,
    model: ModelOption = None,
    axes: Axes = ALL_AXES,
    times: Times = 1,
) -> None:
    """Compare both readers with annotated reports: alone, together, and what a perfect choice would reach.

    Use other reports than those of the calibration.
    """
    from rich.table import Table

    from distriage.second_reader.bulk import read_answers
    from distriage_training.second_reader.annotated import compared
    from distriage_training.second_reader.comparison import compare

    asking = asking_of(reader_model, mode, model, axes, times)
    calibration = calibration_of(reader_calibration, asking) if reader_calibration is not None else None
    found = compare(compared(annotated, read_answers(answers), asking, calibration, by))
    table = Table(by or "reports", "axis", "n", "first", "second (of)", "both", "either", box=None)
    table.add_column(f"first gives, {mode}")
    table.add_column("both give")
    for (group, axis), row in found.items():
        table.add_row(
            group,
            axis,
            f"{row.reports:,}",
            f"{row.first:.3f}",
            f"{row.second:.3f} ({row.asked:.0%})" if row.asked else "none",
            f"{row.both:.3f}",
            f"{row.either:.3f}",
            _given(row.first_coverage, row.first_precision),
            _given(row.both_coverage, row.both_precision),
        )
    wide_console().print(table)


def _given(coverage: float, precision: float) -> str:
    return f"{coverage:.0%}, {precision:.0%} right" if coverage else "none"
