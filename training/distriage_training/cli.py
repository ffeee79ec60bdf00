"""Sub-commands of training. Imports nothing heavy before a command runs; a missing extra ends in one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from distriage.errors import MissingExtraError

CorpusOption = Annotated[Path, typer.Option("--corpus", help="Folder of the annotated corpus.")]
TextsOption = Annotated[Path, typer.Option("--texts", help="The local text store.")]
ConfigArgument = Annotated[Path, typer.Argument(metavar="CONFIG", help="A configuration, e.g. configs/base.toml.")]

CORPUS = Path("training/corpus")
TEXTS = Path(".corpus/texts.jsonl")

corpus_app = typer.Typer(name="corpus", help="The annotated corpus: import, hydrate, stats, agreement, check.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the training commands to the command line."""
    app.add_typer(corpus_app)
    for command in (train, pretrain, export, evaluate):
        app.command()(command)


@contextmanager
def _extra() -> Iterator[None]:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("distriage"):
            raise
        raise MissingExtraError(f"this command needs {error.name}; type: pip install 'distriage[train]'") from None


def train(
    config: ConfigArgument,
    output: Annotated[Path | None, typer.Option(help="Folder of the run; default: runs/NAME.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint.")] = False,
    sparse_only: Annotated[bool, typer.Option("--sparse-only", help="Only fit the sparse head of a finished run anew, after annotations were added.")] = False,
) -> None:
    """Fine-tune a model on the annotated corpus."""
    with _extra():
        from distriage_training.config import load_config
        from distriage_training.train import refit_sparse
        from distriage_training.train import train as run

        settings = load_config(config)
        folder = output or Path("runs") / settings.name
        weights = refit_sparse(settings, folder) if sparse_only else run(settings, folder, resume=resume)
    Console(stderr=True, highlight=False).print(f"weights: {weights}")


def pretrain(
    config: ConfigArgument,
    output: Annotated[Path | None, typer.Option(help="Folder for the adapted encoder; default: runs/NAME-encoder.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint.")] = False,
) -> None:
    """Continue the encoder's pre-training on unlabelled reports; then name its folder as encoder.source."""
    with _extra():
        from distriage_training.config import load_config
        from distriage_training.pretrain import pretrain as run

        settings = load_config(config)
        folder = run(settings, output or Path("runs") / f"{settings.name}-encoder", resume=resume)
    Console(stderr=True, highlight=False).print(f"encoder: {folder}")


def export(
    config: ConfigArgument,
    run: Annotated[Path | None, typer.Option(help="Folder of the run; default: runs/NAME.")] = None,
    output: Annotated[Path | None, typer.Option(help="The bundle's folder; default: models/NAME.")] = None,
) -> None:
    """Calibrate a trained model and write its bundle: ONNX, int8 where it passes the gate."""
    with _extra():
        from distriage_training.config import load_config
        from distriage_training.export import export as make

        settings = load_config(config)
        bundle = make(run or Path("runs") / settings.name, settings, output or Path("models") / settings.name)
    Console(stderr=True, highlight=False).print(f"bundle: {bundle}")


def evaluate(
    config: Annotated[Path, typer.Argument(metavar="[CONFIG]", help="Names the data; default: configs/base.toml.")] = Path("configs/base.toml"),
    split: Annotated[str, typer.Option(help="validation or test.")] = "validation",
    model: Annotated[str | None, typer.Option(help="A bundle's folder or a shipped model; default: the configuration's name.")] = None,
    output: Annotated[Path | None, typer.Option(help="Folder for metrics.json, report.md and figures; default: runs/NAME-SPLIT.")] = None,
    baselines: Annotated[bool, typer.Option(help="Also fit the TF-IDF baseline.")] = True,
    record: Annotated[bool, typer.Option("--record", help="Write the figures into the bundle's metrics.json and model card.")] = False,
) -> None:
    """Measure a bundle: tables with baselines, agreement and intervals; figures."""
    if split not in {"validation", "test"}:
        raise typer.BadParameter(f"{split!r}: expected validation or test", param_hint="--split")
    with _extra():
        from distriage.classifier import Classifier
        from distriage_training.config import load_config
        from distriage_training.evaluate import evaluate as measure
        from distriage_training.evaluate import markdown, record_in_bundle

        settings = load_config(config)
        classifier = Classifier(model or (str(Path("models") / settings.name) if (Path("models") / settings.name).is_dir() else settings.name))
        console = Console(stderr=True, highlight=False)
        folder = output or Path("runs") / f"{settings.name}-{split}"
        document = measure(classifier, settings, split, folder, console, baselines=baselines)
        if record:
            record_in_bundle(classifier.bundle, document)
    typer.echo(markdown(document))
    console.print(f"written: {folder}/metrics.json, report.md and figures")


@corpus_app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(help="A folder with *.jsonl or *.jsonl.gz texts (id, title, body).")],
    corpus: CorpusOption = CORPUS,
    texts: TextsOption = TEXTS,
) -> None:
    """Copy the texts of annotated reports from a local folder into the text store."""
    with _extra():
        from distriage.taxonomy import default_taxonomy
        from distriage_training.corpus import import_texts

        stored, unlabelled, missing = import_texts(folder, corpus, texts, default_taxonomy())
    typer.echo(f"{stored:,} texts of annotated reports in {texts}; {unlabelled:,} unlabelled reports beside it; {missing:,} annotated reports without a text")


@corpus_app.command()
def hydrate(
    corpus: CorpusOption = CORPUS,
    texts: TextsOption = TEXTS,
    limit: Annotated[int | None, typer.Option(min=1, help="Fetch at most so many.")] = None,
) -> None:
    """Fetch the texts of annotated issues from GitHub (needs GITHUB_TOKEN). Can be interrupted and called again."""
    with _extra():
        from distriage.taxonomy import default_taxonomy
        from distriage_training.hydrate import hydrate as fetch

        report = fetch(corpus, texts, default_taxonomy(), limit=limit, console=Console(stderr=True, highlight=False))
    typer.echo(f"fetched {report.fetched:,}; {len(report.gone):,} deleted, private or moved away; {report.left:,} left")
    for identifier in report.gone:
        typer.echo(f"gone: {identifier}")


@corpus_app.command()
def stats(corpus: CorpusOption = CORPUS) -> None:
    """Count records by split, origin and framework, and labels by axis."""
    with _extra():
        from distriage.taxonomy import default_taxonomy
        from distriage_training.corpus_view import print_stats

        print_stats(Console(highlight=False), corpus, default_taxonomy())


@corpus_app.command()
def agreement(
    corpus: CorpusOption = CORPUS,
    first: Annotated[str, typer.Option(help="A reader.")] = "first",
    second: Annotated[str, typer.Option(help="Another reader.")] = "second",
) -> None:
    """Cohen's kappa per axis between two readers, and where they differ."""
    with _extra():
        from distriage.taxonomy import default_taxonomy
        from distriage_training.corpus_view import print_agreement

        print_agreement(Console(highlight=False), corpus, first, second, default_taxonomy())


@corpus_app.command()
def check(corpus: CorpusOption = CORPUS, texts: TextsOption = TEXTS) -> None:
    """Check schema, labels, duplicates, near-duplicates and leaks between splits; each finding names file and line."""
    with _extra():
        from distriage.taxonomy import default_taxonomy
        from distriage_training.corpus_view import check_corpus

        errors = check_corpus(Console(highlight=False, soft_wrap=True), corpus, texts, default_taxonomy())
    raise typer.Exit(2 if errors else 0)
