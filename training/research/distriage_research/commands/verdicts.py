"""Evidence for a verdict, measured on a split of the corpus. Imports nothing heavy before a command runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from distriage.base.disk import replaced
from distriage.base.types import Mode
from distriage.commands.second_reader import ALL_AXES, CalibrationOption, Times, asking_of, calibration_of
from distriage_research.needs import needed
from distriage_training.commands.options import BASE, ConfigArgument, ModelOption, SplitOption, check_split, named_model
from distriage_training.commands.study import results_in

if TYPE_CHECKING:
    from distriage.classifier import Classifier
    from distriage_training.config import Config
    from distriage_training.corpus.load import Splits
    from distriage_training.corpus.records import Record

FIGURES, REQUESTS = "figures.json", "requests.jsonl"  # the second in the OpenAI batch format
Folder = Annotated[Path | None, typer.Option("--output", help="Folder for what was measured.")]


def explain(
    config: ConfigArgument = BASE,
    split: SplitOption = "validation",
    model: ModelOption = None,
    count: Annotated[int, typer.Option(min=1, metavar="N", help="Reports.")] = 200,
    output: Folder = None,
) -> None:
    """How faithful `--explain` is: deletion and insertion of the lines that it names, beside random and first ones."""
    console = Console(stderr=True, highlight=False)
    with needed():
        from distriage_research.verdicts.faithfulness import draw_faithfulness, faithfulness_table, measure_faithfulness

        classifier, settings, _, records = _measured(config, split, model, console)
        with results_in(output or Path("runs") / f"{classifier.bundle.manifest.name}-{split}-explain") as folder:
            found = measure_faithfulness(classifier, records, count, settings.seed, console)
            (folder / FIGURES).write_text(found.model_dump_json(indent=1) + "\n", encoding="utf-8")
            draw_faithfulness(found, folder)
    typer.echo(faithfulness_table(found))


def worth(
    judgements: Annotated[
        list[Path] | None, typer.Argument(help="New judgements in the form of advice.jsonl, one file a reader.")
    ] = None,
    texts: Annotated[
        list[Path] | None, typer.Option(help="Reports, JSONL with id, title and body: all that are here are measured.")
    ] = None,
    model: ModelOption = None,
) -> None:
    """Fit which questions and checks are shown to readers' judgements, `training/corpus/worth.jsonl`."""
    with needed():
        from distriage.classifier import Classifier
        from distriage_research.verdicts.worth import (
            JUDGED,
            WEIGHTS,
            as_toml,
            fitted,
            judged,
            measured,
            reports_of,
            shares,
        )
        from distriage_training.corpus.jsonl import read_jsonl

        known = [row for _, row in read_jsonl(JUDGED)]
        if judgements or texts:
            classifier, reports = Classifier(model), reports_of(texts or [])
            for row in known:
                if row["id"] in reports:  # another model, or another code, measures it otherwise
                    row["measures"] = measured(classifier, reports[row["id"]])
            fresh = {row["id"]: row for row in judged(classifier, judgements or [], reports)}
            known = [row for row in known if row["id"] not in fresh] + list(fresh.values())
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in known)
            JUDGED.write_text("".join(lines), encoding="utf-8")
        WEIGHTS.write_text(as_toml(fitted(known)), encoding="utf-8")
    typer.echo(shares(known))


def versions(
    texts: Annotated[
        list[Path] | None,
        typer.Option(help="Judged reports, JSONL with id, title, body, versions (right ones) and judged_by: measured."),
    ] = None,
) -> None:
    """Fit the weights that choose the product's version where no name stands beside it, to `versions.jsonl`."""
    with needed():
        from distriage_research.verdicts.versions import JUDGED, WEIGHTS, fitted, likelihood, measured, shares
        from distriage_research.verdicts.worth import as_toml
        from distriage_training.corpus.jsonl import read_jsonl

        known = {row["id"]: row for _, row in read_jsonl(JUDGED)}
        if texts:
            known |= {row["id"]: measured(row, likelihood) for path in texts for _, row in read_jsonl(path)}
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in known.values())
            JUDGED.write_text("".join(lines), encoding="utf-8")
        rows = list(known.values())
        WEIGHTS.write_text(as_toml(fitted(rows), "versions"), encoding="utf-8")
    typer.echo(shares(rows))


def similar(config: ConfigArgument = BASE, split: SplitOption = "validation", model: ModelOption = None) -> None:
    """How often the issues that `--similar` names have the same labels."""
    console = Console(stderr=True, highlight=False)
    with needed():
        from distriage_research.verdicts.neighbours import measure_similar, similar_table
        from distriage_training.measure.predict import predict

        classifier, _, splits, records = _measured(config, split, model, console)
        predictions = predict(classifier, records, console)
        found = measure_similar(classifier, records, predictions, splits.train, console)
    typer.echo(similar_table(found))


def readers(
    reader_model: Annotated[str, typer.Option("--reader-model", metavar="NAME", help="The second reader's model.")],
    config: ConfigArgument = BASE,
    reader_answers: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"Its answers to the questions of {REQUESTS} (.jsonl).")
    ] = None,
    reader_calibration: CalibrationOption = None,
    times: Times = 1,
    split: SplitOption = "validation",
    model: ModelOption = None,
    output: Folder = None,
) -> None:
    """The model, a second reader and both together, for raw and restated reports apart.

    Questions without an answer go to requests.jsonl in the output folder.
    """
    console = Console(stderr=True, highlight=False)
    with needed():
        from distriage.second_reader.bulk import read_answers
        from distriage_research.verdicts.readers import SecondReader, measure_readers, readers_table

        classifier, _, _, records = _measured(config, split, model, console)
        asking = asking_of(reader_model, Mode.BALANCED, classifier, ALL_AXES, times)
        second = SecondReader(
            asking,
            read_answers(reader_answers) if reader_answers is not None else None,
            calibration_of(reader_calibration, asking) if reader_calibration is not None else None,
        )
        with results_in(output or Path("runs") / f"{classifier.bundle.manifest.name}-{split}-readers") as folder:
            found, requests = measure_readers(second, records, console)
            with replaced(folder / REQUESTS) as (part,):
                part.write_text("".join(f"{line}\n" for line in requests), "utf-8", errors="replace")
            if found is not None:
                (folder / FIGURES).write_text(found.model_dump_json(indent=1) + "\n", encoding="utf-8")
    console.print(f"{len(requests):,} questions to {reader_model} have no answer: {folder / REQUESTS}")
    if found is not None:
        typer.echo(readers_table(found))


def _measured(
    config: Path, split: str, model: str | None, console: Console
) -> tuple[Classifier, Config, Splits, Sequence[Record]]:
    """The model, its configuration and the records to measure it on."""
    from distriage.classifier import Classifier
    from distriage_training.config import load_config
    from distriage_training.corpus.load import load_splits

    check_split(split)
    settings = load_config(config)
    classifier = Classifier(named_model(model, settings.name))
    splits = load_splits(settings, classifier.bundle.taxonomy, console)
    return classifier, settings, splits, splits.measured(split)
