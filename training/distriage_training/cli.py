"""Sub-commands of training. Imports nothing heavy before a command runs; a missing extra ends in one line."""

from __future__ import annotations

import os
import sys
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
MODELS = Path("models")

corpus_app = typer.Typer(name="corpus", help="The annotated corpus: import, hydrate, export-verdicts, stats, agreement, check.", no_args_is_help=True)
study_app = typer.Typer(name="study", help="Beside an evaluation: peers, learning curve, left-out repositories and sources, errors.", no_args_is_help=True)

ModelOption = Annotated[str | None, typer.Option("--model", help="A bundle's folder or a shipped model; default: the configuration's name.")]
SplitOption = Annotated[str, typer.Option(help="validation or test.")]
StudyOption = Annotated[Path | None, typer.Option("--output", help="Folder for what was measured; default: runs/NAME-study.")]


def register(app: typer.Typer) -> None:
    """Add the training commands to the command line."""
    app.add_typer(corpus_app)
    app.add_typer(study_app)
    for command in (train, pretrain, export, index, evaluate, promote):
        app.command()(command)


@contextmanager
def _extra(name: str = "train") -> Iterator[None]:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("distriage"):
            raise
        raise MissingExtraError(f"this command needs {error.name}; type: pip install 'distriage[{name}]'") from None


def _model(model: str | None, name: str) -> str:
    folder = Path("models") / name
    return model or (str(folder) if folder.is_dir() else name)


def _check_split(split: str) -> None:
    if split not in {"validation", "test"}:
        raise typer.BadParameter(f"{split!r}: expected validation or test", param_hint="--split")


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


def index(
    config: ConfigArgument,
    model: Annotated[Path | None, typer.Option(help="The bundle's folder; default: models/NAME.")] = None,
) -> None:
    """Put the annotated training issues into a bundle, for `classify --similar`; `export` does so by itself."""
    with _extra():
        from distriage.bundle import Bundle
        from distriage_training.config import load_config
        from distriage_training.neighbours import add_index

        settings = load_config(config)
        bundle = Bundle(model or Path("models") / settings.name)
        count = add_index(bundle, settings)
    Console(stderr=True, highlight=False).print(f"index: {count:,} known issues in {bundle.path}")


def evaluate(
    config: Annotated[Path, typer.Argument(metavar="[CONFIG]", help="Names the data; default: configs/base.toml.")] = Path("configs/base.toml"),
    split: SplitOption = "validation",
    model: ModelOption = None,
    output: Annotated[Path | None, typer.Option(help="Folder for metrics.json, report.md and figures; default: runs/NAME-SPLIT.")] = None,
    baselines: Annotated[bool, typer.Option(help="Also fit the TF-IDF baseline.")] = True,
    faithfulness: Annotated[int, typer.Option(min=0, metavar="N", help="Also measure `--explain` on N reports, by deletion and insertion of lines.")] = 0,
    record: Annotated[bool, typer.Option("--record", help="Write the figures into the bundle's metrics.json and model card.")] = False,
) -> None:
    """Measure a bundle: tables with baselines, agreement and intervals; figures."""
    _check_split(split)
    with _extra():
        from distriage.classifier import Classifier
        from distriage_training.config import load_config
        from distriage_training.evaluate import evaluate as measure
        from distriage_training.evaluate import markdown, record_in_bundle

        settings = load_config(config)
        classifier = Classifier(_model(model, settings.name))
        console = Console(stderr=True, highlight=False)
        folder = output or Path("runs") / f"{settings.name}-{split}"
        document = measure(classifier, settings, split, folder, console, baselines=baselines, faithfulness=faithfulness)
        if record:
            record_in_bundle(classifier.bundle, document)
    typer.echo(markdown(document))
    console.print(f"written: {folder}/metrics.json, report.md and figures")


def promote(
    candidate: Annotated[Path, typer.Argument(metavar="CANDIDATE", help="The new bundle's folder.")],
    config: Annotated[Path, typer.Argument(metavar="[CONFIG]", help="Names the data; default: configs/base.toml.")] = Path("configs/base.toml"),
    current: Annotated[str | None, typer.Option(help="The bundle that it must not be worse than; default: the default model.")] = None,
    verdicts: Annotated[Path | None, typer.Option(help="More verdicts of maintainers, from `distriage verdicts export`.")] = None,
    models: Annotated[Path, typer.Option(help="Folder of the models.")] = MODELS,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only compare.")] = False,
) -> None:
    """Make a bundle the default model, unless it is worse on any axis than the current one; then the exit code is 1."""
    with _extra():
        from distriage.classifier import Classifier
        from distriage_training.config import load_config
        from distriage_training.promote import compare, install, print_comparison, worse_axes

        settings = load_config(config)
        old, new = Classifier(current), Classifier(candidate)
        comparisons, evidence = compare(old, new, settings, verdicts, Console(stderr=True, highlight=False))
        print_comparison(Console(highlight=False, width=None if sys.stdout.isatty() else 160), comparisons, evidence, old.bundle, new.bundle)
        worse = worse_axes(comparisons)
        if worse:
            typer.echo(f"refused: {new.bundle.manifest.name} is worse on {', '.join(worse)}")
            raise typer.Exit(1)
        if dry_run:
            typer.echo(f"not worse on any axis; without --dry-run {new.bundle.manifest.name} would become the default in {models}")
            return
        typer.echo(f"promoted: {install(new.bundle, models)} is the default model")


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
    _check_split(split)
    with _extra("peers"):
        from distriage.classifier import Classifier
        from distriage_training.config import load_config
        from distriage_training.studies import compare_with_peers, peers_table

        settings = load_config(config)
        folder = output or Path("runs") / f"{settings.name}-study"
        classifier = Classifier(_model(model, settings.name))
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
    with _extra():
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
    with _extra():
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
    with _extra():
        from distriage_training.config import load_config
        from distriage_training.studies import leave_out_sources, scores_table

        settings = load_config(config)
        result = leave_out_sources(settings, output or Path("runs") / f"{settings.name}-study", Console(stderr=True, highlight=False), source or ())
    typer.echo(scores_table(result, "training records"))


@study_app.command("errors")
def errors_(config: ConfigArgument, model: ModelOption = None) -> None:
    """Where a bundle is wrong on validation, how near it was, and which reports could not tell."""
    with _extra():
        from distriage.classifier import Classifier
        from distriage_training.config import load_config
        from distriage_training.errors import analyse, errors_table

        settings = load_config(config)
        result = analyse(Classifier(_model(model, settings.name)), settings, Console(stderr=True, highlight=False))
    typer.echo(errors_table(result))


@corpus_app.command("export-verdicts")
def export_verdicts(
    file: Annotated[Path, typer.Argument(metavar="VERDICTS", help="What `distriage verdicts export` wrote.")],
    corpus: CorpusOption = CORPUS,
    texts: TextsOption = TEXTS,
) -> None:
    """Turn verdicts of maintainers into annotation records of origin feedback. Can be called again."""
    with _extra():
        from distriage.taxonomy import default_taxonomy
        from distriage_training.feedback import import_verdicts

        report = import_verdicts(file, corpus, texts, default_taxonomy())
    typer.echo(
        f"{report.train:,} records for train, {report.validation:,} for validation; {report.changed:,} new or changed; left out: "
        f"{report.annotated:,} annotated already, {report.without_label:,} without a label"
    )


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
