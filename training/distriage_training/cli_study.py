"""`distriage study`: what is measured beside an evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from distriage_training.cli_options import ConfigArgument, ModelOption, SplitOption, check_split, named_model, training

study_app = typer.Typer(name="study", help="Beside an evaluation: peers, learning curve, left-out repositories and sources, errors.", no_args_is_help=True)
StudyOption = Annotated[Path | None, typer.Option("--output", help="Folder for what was measured; default: runs/NAME-study.")]


@study_app.command()
def peers(
    config: ConfigArgument,
    names: Annotated[str, typer.Option("--peers", help="Which, separated by commas: tfidf, fasttext, setfit.")] = "tfidf,fasttext,setfit",
    split: SplitOption = "validation",
    axes: Annotated[str | None, typer.Option(help="Only these axes, separated by commas.")] = None,
    model: ModelOption = None,
    output: StudyOption = None,
) -> None:
    """Train other classifiers on the same records and measure them beside a bundle (extra `peers`)."""
    check_split(split)
    with training("peers"):
        from distriage.classifier import Classifier
        from distriage_training.config import load_config
        from distriage_training.studies import compare_with_peers, peers_table

        settings = load_config(config)
        folder = output or Path("runs") / f"{settings.name}-study"
        classifier = Classifier(named_model(model, settings.name))
        wanted = None if axes is None else axes.split(",")
        result = compare_with_peers(classifier, settings, split, names.split(","), folder, Console(stderr=True, highlight=False), wanted)
    typer.echo(peers_table(result))


@study_app.command()
def curve(
    config: ConfigArgument,
    shares: Annotated[str, typer.Option(help="Of the training records, separated by commas.")] = "0.125,0.25,0.5,1",
    output: StudyOption = None,
) -> None:
    """Learning curve of the sparse head on validation; table and figure."""
    with training():
        from distriage_training.config import load_config
        from distriage_training.studies import learning_curve, scores_table

        settings = load_config(config)
        try:
            parts = [float(share) for share in shares.split(",")]
        except ValueError:
            parts = []
        if not parts or not all(0 < share <= 1 for share in parts):
            raise typer.BadParameter(f"{shares!r}: expected numbers above 0 and up to 1, such as 0.25,0.5,1", param_hint="--shares")
        folder = output or Path("runs") / f"{settings.name}-study"
        result = learning_curve(settings, parts, folder, Console(stderr=True, highlight=False))
    typer.echo(scores_table(result, "training records"))
    typer.echo(f"written: {folder}/learning-curve.png", err=True)


@study_app.command("leave-out")
def leave_out_(
    config: ConfigArgument,
    repository: Annotated[list[str] | None, typer.Option(help="OWNER/NAME, can be repeated; default: all with enough validation reports.")] = None,
    output: StudyOption = None,
) -> None:
    """The sparse head on a repository's validation reports, with and without its training records."""
    with training():
        from distriage_training.config import load_config
        from distriage_training.studies import leave_out, repository_rows, scores_table

        settings = load_config(config)
        result = leave_out(settings, output or Path("runs") / f"{settings.name}-study", Console(stderr=True, highlight=False), repository or ())
    typer.echo(scores_table(dict(repository_rows(result)), "repository"))


@study_app.command()
def sources(
    config: ConfigArgument,
    source: Annotated[list[str] | None, typer.Option(help="Can be repeated; default: all.")] = None,
    output: StudyOption = None,
) -> None:
    """The sparse head on validation, fitted without one source of training records after the other."""
    with training():
        from distriage_training.config import load_config
        from distriage_training.studies import leave_out_sources, scores_table

        settings = load_config(config)
        result = leave_out_sources(settings, output or Path("runs") / f"{settings.name}-study", Console(stderr=True, highlight=False), source or ())
    typer.echo(scores_table(result, "training records"))


@study_app.command("errors")
def errors_(config: ConfigArgument, model: ModelOption = None) -> None:
    """Where a bundle is wrong on validation, how near it was, and which reports could not tell."""
    with training():
        from distriage.classifier import Classifier
        from distriage_training.config import load_config
        from distriage_training.errors import analyse, errors_table

        settings = load_config(config)
        result = analyse(Classifier(named_model(model, settings.name)), settings, Console(stderr=True, highlight=False))
    typer.echo(errors_table(result))
