"""`distriage study`: a tracker as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from distriage.base.disk import writing
from distriage_training.commands.options import TEXTS, training

if TYPE_CHECKING:
    from distriage_training.study.run import Options

study_app = typer.Typer(name="study", no_args_is_help=True)
SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="The corpus' folder, a .jsonl file of annotations, reviews, verdicts or reports, or OWNER/REPO.",
    ),
]
Output = Annotated[Path, typer.Option(help="Folder for index.html, tables and figures.")]
Model = Annotated[
    str | None, typer.Option("--model", help="A bundle's folder or a shipped model; default: the default model.")
]
Validation = Annotated[
    Path | None,
    typer.Option(
        metavar="CONFIG", help="Correct predicted shares by the model's errors on this configuration's validation."
    ),
]
Split = Annotated[str | None, typer.Option(help="Only this split of the corpus.")]
FromOrigin = Annotated[str | None, typer.Option("--origin", help="Only texts of this origin: raw or restated.")]
Confidence = Annotated[str | None, typer.Option(help="Only records whose annotators were this sure: high or low.")]
Pdf = Annotated[bool, typer.Option("--pdf", help="Write each figure as PDF, too.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Use the newest N issues of OWNER/REPO; default: 1000.")]


@contextmanager
def results_in(folder: Path) -> Iterator[Path]:
    """Make the folder for the results before work that may take hours; remove it if it stays empty.

    Raises:
        InputError: the folder is not writable.
    """
    fresh = not folder.exists()
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            yield folder
        finally:
            if fresh:
                with suppress(OSError):
                    folder.rmdir()


@study_app.callback()
def _study() -> None:
    """Study a tracker as a whole."""


@study_app.command()
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
    """Study a tracker as a whole: what fails, what goes together, months, releases, frameworks."""
    with training("study"):
        from distriage_training.study.run import make_study

        options = study_options(model, validation, kept(split, origin, confidence), limit, pdf)
        with results_in(output) as folder:
            found, page = make_study(source, folder, options, Console(stderr=True, highlight=False))
    typer.echo(f"{len(found.faults):,} reports, {len(found.bugs):,} failures: {page}")


def kept(split: str | None, origin: str | None, confidence: str | None) -> dict[str, str]:
    """Field -> value of the records of the corpus that a study keeps."""
    named = {"split": split, "origin": origin, "confidence": confidence}
    return {name: value for name, value in named.items() if value is not None}


def study_options(
    model: str | None, validation: Path | None, keep: dict[str, str], limit: int | None, pdf: bool
) -> Options:
    """The options of a study from the command line."""
    from distriage_training.config import load_config
    from distriage_training.study.run import Options

    return Options(model, load_config(validation) if validation is not None else None, keep, limit, TEXTS, pdf=pdf)
