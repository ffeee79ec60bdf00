"""`distriage second-reader`: reports for a reader that answers by file. Heavy imports wait until a command runs."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from distriage.base.errors import ConfigError
from distriage.base.terminal import counted
from distriage.base.types import Mode
from distriage.second_reader import AXES

if TYPE_CHECKING:
    from distriage.classifier import Classifier
    from distriage.second_reader.bulk import Asking
    from distriage.second_reader.calibration import ReaderCalibration

second_reader_app = typer.Typer(
    name="second-reader",
    help="Have a language model answer many reports by batch files, and find out how far to trust it.",
    no_args_is_help=True,
)

Reports = Annotated[str, typer.Argument(metavar="REPORTS", help="Reports, one a line (.jsonl, .jsonl.gz) or .parquet.")]
Answers = Annotated[Path, typer.Argument(metavar="ANSWERS", help="Answers of the batch service (.jsonl).")]
ReaderModel = Annotated[str, typer.Option("--reader-model", metavar="NAME", help="The second reader's model name.")]
ModeOption = Annotated[
    Mode, typer.Option("--mode", help="Decides which axes are in doubt; use the same one with the answers.")
]
ModelOption = Annotated[
    str | None, typer.Option("--model", help="The first reader: a bundle's folder or the name of a shipped model.")
]
Axes = Annotated[str, typer.Option("--axes", help="The axes to ask about, separated by commas.")]
CalibrationOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Written by `distriage second-reader calibrate` for that model.")
]
Times = Annotated[
    int,
    typer.Option(
        "--times",
        min=1,
        max=2,
        help="How often each question is asked: twice costs twice as much, and tells doubt from certainty.",
    ),
]
SAME = "the --reader-model, --mode, --model, --axes and --times of the export"
ALL_AXES = ",".join(AXES)


@second_reader_app.command("export")
def export_(
    reports: Reports,
    reader_model: ReaderModel = "",
    mode: ModeOption = Mode.BALANCED,
    model: ModelOption = None,
    axes: Axes = ALL_AXES,
    times: Times = 1,
    without: Annotated[
        str,
        typer.Option(
            metavar="FIELDS",
            help="Fields to leave out, if the model refuses them: response_format, logprobs, temperature, max_tokens.",
        ),
    ] = "",
) -> None:
    """Write one request for each doubtful report, in the OpenAI batch format, to standard output."""
    from distriage.reports.records import BadRecord
    from distriage.second_reader.bulk import requests
    from distriage.second_reader.request import DISPENSABLE

    fields = without.replace(",", " ").split()
    if wrong := [field for field in fields if field not in DISPENSABLE]:
        raise ConfigError(f"--without {wrong[0]}: expected some of {', '.join(DISPENSABLE)}")
    asked = left_out = 0
    for line in requests(reports, asking_of(reader_model, mode, model, axes, times), fields):
        if isinstance(line, BadRecord):
            sys.stderr.write(f"{line.error}\n")
            left_out += 1
        else:
            sys.stdout.write(line + "\n")
            asked += 1
    sys.stderr.write(counted(asked, "request") + _unreadable(left_out) + "\n")


@second_reader_app.command("import")
def import_(
    reports: Reports,
    answers: Answers,
    reader_model: ReaderModel = "",
    reader_calibration: CalibrationOption = None,
    mode: ModeOption = Mode.BALANCED,
    model: ModelOption = None,
    axes: Axes = ALL_AXES,
    times: Times = 1,
) -> None:
    """Write the verdicts out of both readers, one a line, to standard output."""
    from distriage.answer.verdict import Verdict
    from distriage.second_reader.bulk import NOT_THERE, read_answers, verdicts

    asking = asking_of(reader_model, mode, model, axes, times)
    calibration = calibration_of(reader_calibration, asking) if reader_calibration is not None else None
    notes: Counter[str | None] = Counter()
    left_out = 0
    for verdict in verdicts(reports, read_answers(answers), asking, calibration):
        sys.stdout.write(verdict.model_dump_json() + "\n")
        if not isinstance(verdict, Verdict):
            left_out += 1
        elif verdict.second_reading is not None:
            notes[verdict.second_reading.note] += 1
    asked = notes.total()
    said = [f"{counted(asked, 'report')} in doubt, {notes.pop(None, 0):,} of them answered by {reader_model}"]
    if asked and notes[NOT_THERE] == asked:
        said.append(f"expected answers to {SAME}")
    else:
        said += [f"{count:,}: {note}" for note, count in sorted(notes.items())]
    sys.stderr.write("; ".join(said) + _unreadable(left_out) + "\n")


def _unreadable(records: int) -> str:
    return f"; {counted(records, 'record')} cannot be read" if records else ""


def calibration_of(file: Path, asking: Asking) -> ReaderCalibration:
    """The calibration that an option names.

    Raises:
        ConfigError: it was made for another reader, bundle or number of answers.
    """
    from distriage.second_reader.calibration import load_calibration

    calibration = load_calibration(file, asking.reader, asking.classifier.bundle.manifest.name)
    if calibration.times != asking.times:
        raise ConfigError(
            f"{file}: made for --times {calibration.times}, not for {asking.times}; run `distriage second-reader "
            "calibrate`"
        )
    return calibration


def asking_of(reader: str, mode: Mode, model: str | Classifier | None, axes: str, times: int) -> Asking:
    """How to ask, according to the options.

    Raises:
        ConfigError: the reader's name is missing, or an axis may not be asked about.
    """
    from distriage.classifier import Classifier
    from distriage.second_reader.bulk import Asking
    from distriage.second_reader.endpoint import check_reader_name
    from distriage.second_reader.reader import check_axes

    if not reader:
        raise ConfigError("--reader-model is missing; expected the name of the second reader's model")
    check_reader_name(reader)
    classifier = model if isinstance(model, Classifier) else Classifier(model)
    known = check_axes(axes.replace(",", " ").split(), classifier.bundle.taxonomy)
    return Asking(classifier, reader, mode, known, times)
