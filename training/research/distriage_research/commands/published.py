"""A study beside published ones. Imports nothing heavy before a command runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from distriage.base.disk import writing
from distriage.base.terminal import say
from distriage_research.needs import needed
from distriage_training.commands.study import (
    Confidence,
    FromOrigin,
    Limit,
    Model,
    Output,
    Pdf,
    SourceArgument,
    Split,
    Validation,
    kept,
    results_in,
    study_options,
)


def report(
    source: SourceArgument,
    output: Output = Path("study"),
    model: Model = None,
    validation: Validation = None,
    split: Split = None,
    origin: FromOrigin = None,
    confidence: Confidence = None,
    limit: Limit = None,
    pdf: Pdf = False,
) -> None:
    """`distriage study report` with a section on Ma et al. and Liu et al.; also reads what `import-tosem` wrote."""
    with needed():
        from distriage_research.published.beside import published_section
        from distriage_research.published.hydrate_tosem import read_source
        from distriage_training.study.run import make_study

        chosen = study_options(model, validation, kept(split, origin, confidence), limit, pdf)
        command = ("python", "training/research", "report")
        options = replace(chosen, more=(published_section,), command=command)
        with results_in(output) as folder:
            found, page = make_study(source, folder, options, Console(stderr=True, highlight=False), read_source)
    typer.echo(f"{len(found.faults):,} reports, {len(found.bugs):,} failures: {page}")


def import_tosem(
    folder: Annotated[Path, typer.Argument(help="The folder with final_categories.xlsx of Liu et al., TOSEM 2023.")],
    out: Annotated[Path, typer.Option(help="Folder for tosem.jsonl, and texts.jsonl where GITHUB_TOKEN is set.")],
) -> None:
    """Map the published labels of Liu et al. (2023) onto our axes; `report` reads the result."""
    with needed(), writing(out):
        from distriage_research.published.hydrate_tosem import import_faults

        done = import_faults(folder, out, Console(stderr=True, highlight=False))
    typer.echo(
        f"{done.faults:,} faults, {done.symptoms:,} with a symptom of ours, {done.fixes:,} with a fix: "
        f"{out}/tosem.jsonl"
    )
    if done.fetched is None:
        typer.echo("texts: none fetched; set GITHUB_TOKEN for those of GitHub")
    else:
        typer.echo(f"texts: {done.fetched:,} fetched, {done.gone:,} deleted, private or moved away")


def matrix(
    out: Annotated[Path, typer.Option(help="Where the table goes; the default is the packaged one.")] = Path(
        "src/distriage/facts/compatibility/matrix.csv"
    ),
) -> None:
    """Make the table of versions that fit together again, from PyPI's metadata and the pages in matrix_pages.csv."""
    with needed():
        from distriage_research.published.matrix import build

        built = build(out, lambda package, count: say(f"{package}: {count:,} releases"))
    for release in built.unread:
        say(f"{release}: no metadata to read")
    typer.echo(f"{len(built.rows):,} rows, {len(built.unread):,} releases without metadata: {out}")
