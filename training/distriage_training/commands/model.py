"""From a corpus to a released model. Imports nothing heavy before a command runs; a missing extra ends in one line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from distriage.base.disk import writing
from distriage.base.terminal import say
from distriage_training.commands.options import (
    BASE,
    ConfigArgument,
    ModelOption,
    SplitOption,
    check_split,
    named_model,
    training,
    wide_console,
)

if TYPE_CHECKING:
    from distriage.model.bundle import Bundle
    from distriage_training.config import Config
    from distriage_training.corpus.load import Splits

MODELS = Path("models")
BundleFolder = Annotated[Path | None, typer.Option("--model", help="The bundle's folder; default: models/NAME.")]
DataArgument = Annotated[Path, typer.Argument(metavar="CONFIG", help="Names the data; default: configs/base.toml.")]


def train(
    config: ConfigArgument,
    output: Annotated[Path | None, typer.Option(help="Folder of the run; default: runs/NAME.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume from the last checkpoint.")] = False,
    sparse_only: Annotated[
        bool,
        typer.Option(
            "--sparse-only", help="Only fit the sparse head of a finished run anew, after annotations were added."
        ),
    ] = False,
) -> None:
    """Fine-tune a model on the annotated corpus."""
    with training():
        from distriage_training.config import load_config
        from distriage_training.corpus.foreign import missing_foreign
        from distriage_training.fit.train import refit_sparse
        from distriage_training.fit.train import train as run

        settings = load_config(config)
        if missing := missing_foreign(settings):
            say(f"`distriage export` will refuse this: {missing}")
        folder = output or Path("runs") / settings.name
        with writing(folder):
            weights = refit_sparse(settings, folder) if sparse_only else run(settings, folder, resume=resume)
    Console(stderr=True, highlight=False).print(f"weights: {weights}")


def export(
    config: ConfigArgument,
    run: Annotated[Path | None, typer.Option(help="Folder of the run; default: runs/NAME.")] = None,
    output: Annotated[Path | None, typer.Option(help="The bundle's folder; default: models/NAME.")] = None,
    no_gate: Annotated[
        bool, typer.Option("--no-gate", help="Without a domain gate, for which reports of other software are needed.")
    ] = False,
) -> None:
    """Calibrate a trained model and write its bundle: ONNX, int8 where it passes the gate."""
    with training():
        from distriage_training.config import load_config
        from distriage_training.release.export import export as make

        settings = load_config(config)
        if no_gate:
            domain = settings.domain.model_copy(update={"reports": []})
            settings = settings.model_copy(update={"domain": domain})
        place = output or Path("models") / settings.name
        with writing(place.parent):
            bundle = make(run or Path("runs") / settings.name, settings, place)
    Console(stderr=True, highlight=False).print(f"bundle: {bundle}")


def calibrate(
    config: ConfigArgument,
    model: BundleFolder = None,
) -> None:
    """Fit a bundle's probabilities and thresholds anew on validation reports; `export` does so by itself."""
    console = Console(stderr=True, highlight=False)
    with training():
        from distriage_training.release.export import calibrate_bundle

        bundle, settings, splits = _opened(config, model, console)
        with writing(bundle.path):
            count = calibrate_bundle(bundle, settings, splits)
    console.print(f"calibrated on {count:,} validation reports: {bundle.path}")


def index(
    config: ConfigArgument,
    model: BundleFolder = None,
) -> None:
    """Put the annotated training issues into a bundle, for `classify --similar`; `export` does so by itself."""
    with training():
        from distriage.model.bundle import Bundle
        from distriage_training.config import load_config
        from distriage_training.release.index import add_index

        settings = load_config(config)
        bundle = Bundle(model or Path("models") / settings.name)
        with writing(bundle.path):
            count = add_index(bundle, settings)
    console = Console(stderr=True, highlight=False)
    console.print(f"index: {count:,} known issues in {bundle.path}")
    if settings.data.format == "csv":  # only its owner knows whether they are public
        console.print("note: the index holds their addresses, in plain text")


def gate(
    config: ConfigArgument,
    model: BundleFolder = None,
) -> None:
    """Put a domain gate into a bundle, which tells reports of other software apart; `export` does so by itself."""
    console = Console(stderr=True, highlight=False)
    with training():
        from distriage_training.release.domain import add_gate

        bundle, settings, splits = _opened(config, model, console)
        with writing(bundle.path):
            count = add_gate(bundle, settings, splits)
    console.print(f"domain gate: fitted on {count:,} reports of other software, in {bundle.path}")


def _opened(config: Path, model: Path | None, console: Console) -> tuple[Bundle, Config, Splits]:
    """A bundle to change, and the data to fit it anew."""
    from distriage.model.bundle import Bundle
    from distriage_training.config import load_config
    from distriage_training.corpus.load import load_splits

    settings = load_config(config)
    bundle = Bundle(model or Path("models") / settings.name)
    return bundle, settings, load_splits(settings, bundle.taxonomy, console)


def evaluate(
    config: DataArgument = BASE,
    split: SplitOption = "validation",
    model: ModelOption = None,
    output: Annotated[
        Path | None, typer.Option(help="Folder for metrics.json, report.md and figures; default: runs/NAME-SPLIT.")
    ] = None,
    baselines: Annotated[bool, typer.Option(help="Also fit the TF-IDF baseline.")] = True,
    record: Annotated[
        bool, typer.Option("--record", help="Write the figures into the bundle's metrics.json and model card.")
    ] = False,
) -> None:
    """Measure a bundle: tables with baselines, agreement and intervals; figures."""
    check_split(split)
    with training():
        from distriage.classifier import Classifier
        from distriage_training.config import load_config
        from distriage_training.measure.evaluate import evaluate as measure
        from distriage_training.measure.report import report
        from distriage_training.release.model_card import record_in_bundle

        settings = load_config(config)
        classifier = Classifier(named_model(model, settings.name))
        console = Console(stderr=True, highlight=False)
        folder = output or Path("runs") / f"{classifier.bundle.manifest.name}-{split}"
        found = measure(classifier, settings, split, folder, console, baselines=baselines)
        if record:
            with writing(classifier.bundle.path):
                record_in_bundle(classifier.bundle, found)
    typer.echo(report(found))
    console.print(f"written: {folder}/metrics.json, report.md and figures")


def promote(
    candidate: Annotated[Path, typer.Argument(metavar="CANDIDATE", help="The new bundle's folder.")],
    config: DataArgument = BASE,
    current: Annotated[
        str | None,
        typer.Option(help="The bundle that it must not be worse than; default: the default model, of --models if any."),
    ] = None,
    reviews: Annotated[
        Path | None, typer.Option(help="More reviews by maintainers, from `distriage reviews export`.")
    ] = None,
    models: Annotated[Path, typer.Option(help="Folder of the models.")] = MODELS,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only compare.")] = False,
) -> None:
    """Make a bundle the default model, unless it is worse on any axis than the current one; then the exit code is 1."""
    with training():
        from distriage.classifier import Classifier
        from distriage.model.bundle import Bundle
        from distriage.model.shipped import model_folders
        from distriage_training.config import load_config
        from distriage_training.release.promote import compare, install, print_comparison, replaced_in, worse_axes

        settings = load_config(config)
        if current is None or not dry_run:
            default = replaced_in(models, Bundle(candidate, whole=False))
            current = current or default
        old, new = Classifier(current), Classifier(candidate)
        comparisons, evidence = compare(old, new, settings, reviews, Console(stderr=True, highlight=False))
        print_comparison(
            wide_console(),
            comparisons,
            evidence,
            old.bundle,
            new.bundle,
        )
        worse = worse_axes(comparisons)
        if worse:
            typer.echo(f"refused: {new.bundle.manifest.name} is worse on {', '.join(worse)}")
            raise typer.Exit(1)
        if dry_run:
            typer.echo(
                f"not shown to be worse on any axis; without --dry-run {new.bundle.manifest.name} would become the "
                f"default in {models}"
            )
            return
        with writing(models):
            place = install(new.bundle, models)
        shipped = models.resolve() in {folder.resolve() for folder in model_folders()}
        use = "" if shipped else f" of {models}; commands use it with --model {place}"
        typer.echo(f"promoted: {place} is the default model{use}")
