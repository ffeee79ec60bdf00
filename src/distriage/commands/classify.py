"""`distriage classify`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from distriage.base.types import Mode
from distriage.commands.asked import Asked, answer
from distriage.engine import Engine


def classify(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE|-",
            help="Reports: Markdown, text or JSON; `.jsonl` holds one per line; `-` is standard input.",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="The title, where FILE holds only the body.")] = None,
    issue: Annotated[
        list[str] | None,
        typer.Option(help="Read owner/repo#number or its URL from GitHub (GITHUB_TOKEN is used if set)."),
    ] = None,
    json_: Annotated[
        bool, typer.Option("--json", help="One JSON document (schema: schemas/verdict.schema.json).")
    ] = False,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="One JSON document per line; the default for .jsonl input.")
    ] = False,
    mode: Annotated[
        Mode,
        typer.Option(
            help="How sure a label must be. best: the likeliest; balanced: right in about 80 %; precise: in about 90 %."
        ),
    ] = Mode.BALANCED,
    explain: Annotated[bool, typer.Option("--explain", help="Mark the lines that carried each verdict.")] = False,
    similar: Annotated[
        bool, typer.Option("--similar", help="Name the most similar known issues, and their fixes.")
    ] = False,
    own: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Also say your own labels, which `distriage learn` learned.")
    ] = None,
    releases: Annotated[
        Path | None,
        typer.Option(metavar="TABLE", help="Also say whether a version is old; `distriage releases update` writes it."),
    ] = None,
    model: Annotated[str | None, typer.Option(help="A bundle's folder or the name of a shipped model.")] = None,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the answers to FILE (.jsonl, .jsonl.gz, .jsonl.zst or .parquet) instead of standard output; "
            "with `--engine ray` a folder.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an unfinished run of the same --output.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that answer batches; default: one per core.")
    ] = None,
    engine: Annotated[
        Engine, typer.Option(help="This machine, or the Ray cluster that RAY_ADDRESS names.")
    ] = Engine.LOCAL,
    second_reader: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Ask your OpenAI-compatible endpoint about axes in doubt; see docs/second-reader.md.",
        ),
    ] = None,
    reader_model: Annotated[str, typer.Option(metavar="NAME", help="The model's name at that endpoint.")] = "",
    reader_calibration: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Written by `distriage second-reader calibrate` for that model.")
    ] = None,
    show_request: Annotated[
        bool, typer.Option("--show-request", help="Print the request to a second reader; send nothing.")
    ] = False,
) -> None:
    """Say what issue reports are about: kind, distributed or not, stage, symptom, root cause, fix; or "not sure"."""
    answer(Asked(**locals()))
