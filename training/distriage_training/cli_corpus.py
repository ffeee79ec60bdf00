"""`distriage corpus`: the annotated corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from distriage_training.cli_options import training

corpus_app = typer.Typer(name="corpus", help="The annotated corpus: import, hydrate, export-verdicts, stats, agreement, check.", no_args_is_help=True)
CorpusOption = Annotated[Path, typer.Option("--corpus", help="Folder of the annotated corpus.")]
TextsOption = Annotated[Path, typer.Option("--texts", help="The local text store.")]
CORPUS = Path("training/corpus")
TEXTS = Path(".corpus/texts.jsonl")


@corpus_app.command("export-verdicts")
def export_verdicts(
    file: Annotated[Path, typer.Argument(metavar="VERDICTS", help="What `distriage verdicts export` wrote.")],
    corpus: CorpusOption = CORPUS,
    texts: TextsOption = TEXTS,
) -> None:
    """Turn verdicts of maintainers into annotation records of origin feedback. Can be called again."""
    with training():
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
    with training():
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
    with training():
        from distriage.taxonomy import default_taxonomy
        from distriage_training.hydrate import hydrate as fetch

        report = fetch(corpus, texts, default_taxonomy(), limit=limit, console=Console(stderr=True, highlight=False))
    typer.echo(f"fetched {report.fetched:,}; {len(report.gone):,} deleted, private or moved away; {report.left:,} left")
    for identifier in report.gone:
        typer.echo(f"gone: {identifier}")


@corpus_app.command()
def stats(corpus: CorpusOption = CORPUS) -> None:
    """Count records by split, origin and framework, and labels by axis."""
    with training():
        from distriage.taxonomy import default_taxonomy
        from distriage_training.corpus_view import print_stats

        print_stats(Console(highlight=False), corpus, default_taxonomy())


@corpus_app.command()
def agreement(
    corpus: CorpusOption = CORPUS,
    first: Annotated[str, typer.Option(help="A reader of readings.jsonl, or annotations: the labels of the corpus.")] = "first",
    second: Annotated[str, typer.Option(help="Another reader.")] = "second",
) -> None:
    """Cohen's kappa per axis between two readers, and where they differ."""
    with training():
        from distriage.taxonomy import default_taxonomy
        from distriage_training.corpus_view import print_agreement

        print_agreement(Console(highlight=False), corpus, first, second, default_taxonomy())


@corpus_app.command()
def check(corpus: CorpusOption = CORPUS, texts: TextsOption = TEXTS) -> None:
    """Check schema, labels, duplicates, near-duplicates and leaks between splits; each finding names file and line."""
    with training():
        from distriage.taxonomy import default_taxonomy
        from distriage_training.corpus_view import check_corpus

        errors = check_corpus(Console(highlight=False, soft_wrap=True), corpus, texts, default_taxonomy())
    raise typer.Exit(2 if errors else 0)
