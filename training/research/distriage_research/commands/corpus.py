"""`python training/research corpus`: the annotated corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from distriage.base.disk import writing
from distriage.base.types import Mode
from distriage.commands.second_reader import (
    ALL_AXES,
    Answers,
    Axes,
    ModelOption,
    ModeOption,
    ReaderModel,
    Reports,
    Times,
    asking_of,
    calibration_of,
)
from distriage_training.commands.options import TEXTS, training

corpus_app = typer.Typer(
    name="corpus",
    help="The annotated corpus: fetch its texts, add records, check and count them, publish.",
    no_args_is_help=True,
)
CorpusOption = Annotated[Path, typer.Option("--corpus", help="Folder of the annotated corpus.")]
TextsOption = Annotated[Path, typer.Option("--texts", help="The local text store.")]
WithheldOption = Annotated[
    Path | None, typer.Option(help="Digests of threads that are kept for a last test; none may be annotated.")
]
CORPUS = Path("training/corpus")
Split = Literal["train", "validation", "test"]


@corpus_app.command("import-reviews")
def import_reviews(
    file: Annotated[Path, typer.Argument(metavar="REVIEWS", help="Written by `distriage reviews export`.")],
    corpus: CorpusOption = CORPUS,
    texts: TextsOption = TEXTS,
    withheld: WithheldOption = None,
) -> None:
    """Turn maintainers' reviews into annotation records of origin feedback. Can be called again."""
    with training():
        from distriage.model.taxonomy import default_taxonomy
        from distriage_research.corpus.digests import read_withheld
        from distriage_research.corpus.reviews import import_reviews

        kept = read_withheld(withheld) if withheld is not None else frozenset()
        report = import_reviews(file, corpus, texts, default_taxonomy(), kept)
    typer.echo(
        f"{report.train:,} records for train, {report.validation:,} for validation; {report.changed:,} new or "
        f"changed; left out: {report.withheld:,} withheld, {report.annotated:,} annotated already, "
        f"{report.without_label:,} without a label"
    )


@corpus_app.command("import-answers")
def import_answers(
    reports: Reports,
    answers: Answers,
    reader_calibration: Annotated[
        Path, typer.Option(metavar="FILE", help="Written by `distriage second-reader calibrate` for that model.")
    ],
    reader_model: ReaderModel = "",
    mode: ModeOption = Mode.BALANCED,
    model: ModelOption = None,
    axes: Axes = ALL_AXES,
    times: Times = 1,
    corpus: CorpusOption = CORPUS,
    texts: TextsOption = TEXTS,
    withheld: WithheldOption = None,
) -> None:
    """Turn the labels that a calibrated second reader gives into training records of origin second-reader.

    Can be called again.
    """
    with training():
        from distriage.second_reader.bulk import read_answers
        from distriage_research.corpus.answers import import_answers
        from distriage_research.corpus.digests import read_withheld

        kept = read_withheld(withheld) if withheld is not None else frozenset()
        asking = asking_of(reader_model, mode, model, axes, times)
        calibration = calibration_of(reader_calibration, asking)
        report = import_answers(reports, read_answers(answers), asking, calibration, corpus, texts, kept)
    typer.echo(
        f"{report.records:,} records for train; {report.changed:,} new or changed; left out: "
        f"{report.held_out:,} in validation or test, {report.withheld:,} withheld, {report.annotated:,} annotated "
        f"already, {report.unanswered:,} without an answer, {report.not_accepted:,} without a label that is sure enough"
    )


@corpus_app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(help="A folder with *.jsonl or *.jsonl.gz texts (id, title, body).")],
    corpus: CorpusOption = CORPUS,
    texts: TextsOption = TEXTS,
) -> None:
    """Copy the texts of annotated reports from a local folder into the text store."""
    with training():
        from distriage.model.taxonomy import default_taxonomy
        from distriage_research.corpus.texts import import_texts

        stored, unlabelled, missing = import_texts(folder, corpus, texts, default_taxonomy())
    typer.echo(
        f"{stored:,} texts of annotated reports in {texts}; {unlabelled:,} unlabelled reports beside it; "
        f"{missing:,} annotated reports without a text"
    )


@corpus_app.command()
def hydrate(
    corpus: CorpusOption = CORPUS,
    texts: TextsOption = TEXTS,
    split: Annotated[Split | None, typer.Option(help="Only this split of the corpus.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Fetch at most N texts.")] = None,
) -> None:
    """Fetch the texts of annotated issues from GitHub. Can be interrupted and called again.

    With GITHUB_TOKEN, GitHub answers 5,000 requests an hour; without one, 60.
    """
    with training(), writing(texts.parent):
        from distriage.model.taxonomy import default_taxonomy
        from distriage_research.corpus.hydrate import GONE
        from distriage_research.corpus.hydrate import hydrate as fetch

        console = Console(stderr=True, highlight=False)
        report = fetch(corpus, texts, default_taxonomy(), split=split, limit=limit, console=console)
    typer.echo(f"fetched {report.fetched:,}; {len(report.gone):,} deleted, private or moved away; {report.left:,} left")
    for identifier in report.gone:
        typer.echo(f"gone: {identifier}")
    if report.gone:
        typer.echo(f"to ask for these again, delete {texts.with_name(GONE)}")


@corpus_app.command()
def publish(corpus: CorpusOption = CORPUS) -> None:
    """Write the annotations as compressed JSONL, one file per split, for `datasets.load_dataset` and pandas."""
    with training():
        from distriage.model.taxonomy import default_taxonomy
        from distriage_research.corpus.dataset import write_splits
        from distriage_training.corpus.records import valid_annotations

        annotations = valid_annotations(corpus / "annotations.jsonl", default_taxonomy())
        counts = write_splits(annotations, corpus / "data")
    typer.echo(", ".join(f"{count:,} {split}" for split, count in counts.items()) + f": {corpus / 'data'}")


@corpus_app.command()
def digests(
    corpus: CorpusOption = CORPUS,
    texts: TextsOption = TEXTS,
    write: Annotated[bool, typer.Option("--write", help="Write the digests of the texts here instead.")] = False,
) -> None:
    """Say whether texts that were fetched are those that were annotated, or were edited since."""
    with training():
        from distriage.model.taxonomy import default_taxonomy
        from distriage_research.corpus.digests import compare_digests, write_digests
        from distriage_training.corpus.records import valid_annotations
        from distriage_training.corpus.texts import read_texts

        store = read_texts([texts])
        if write:
            annotations = valid_annotations(corpus / "annotations.jsonl", default_taxonomy())
            raw = [annotation.id for annotation in annotations if annotation.origin == "raw"]
            typer.echo(f"{write_digests(corpus, store, raw):,} digests written")
            return
        found = compare_digests(corpus, store)
    typer.echo(
        f"{found.same:,} texts are those that were annotated, {len(found.different):,} differ, "
        f"{found.unknown:,} have no digest"
    )
    for identifier in found.different:
        typer.echo(f"differs: {identifier}")


@corpus_app.command()
def stats(corpus: CorpusOption = CORPUS) -> None:
    """Count records by split, origin and framework, and labels by axis."""
    with training():
        from distriage.model.taxonomy import default_taxonomy
        from distriage_research.corpus.view import print_stats

        print_stats(Console(highlight=False), corpus, default_taxonomy())


@corpus_app.command()
def agreement(
    corpus: CorpusOption = CORPUS,
    first: Annotated[
        str, typer.Option(help="A reader of readings.jsonl, or annotations: the labels of the corpus.")
    ] = "first",
    second: Annotated[str, typer.Option(help="Another reader.")] = "second",
) -> None:
    """Cohen's kappa per axis between two readers, and where they differ."""
    with training():
        from distriage.model.taxonomy import default_taxonomy
        from distriage_research.corpus.view import print_agreement

        print_agreement(Console(highlight=False), corpus, first, second, default_taxonomy())


@corpus_app.command()
def sheet(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the two sheets lie.")],
    reports: Annotated[int, typer.Option(min=1, max=10_000, help="Reports to draw from the test split.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 1,
    score: Annotated[bool, typer.Option("--score", help="Compare the filled sheets instead of writing them.")] = False,
    corpus: CorpusOption = CORPUS,
    texts: TextsOption = TEXTS,
) -> None:
    """Test reports without labels for two people to label, as CSV; `--score` then gives Cohen's kappa."""
    with training():
        from distriage.model.taxonomy import default_taxonomy
        from distriage_research.corpus.sheet import score_sheets, write_sheets
        from distriage_training.corpus.load import load_records

        taxonomy = default_taxonomy()
        records, without = load_records(corpus, texts, taxonomy)
        if not score:
            drawn = write_sheets(folder, records, reports, seed, taxonomy)
            if missing := sum(annotation.split == "test" for annotation in without):
                total = missing + sum(record.split == "test" for record in records)
                typer.echo(
                    f"note: {missing} of {total} test reports have no text here: none of them was drawn; `python "
                    "training/research corpus hydrate --split test` fetches them",
                    err=True,
                )
            typer.echo(f"{drawn} reports in {folder}/reader-1.csv and reader-2.csv; the guide: {corpus}/ANNOTATION.md")
            return
        for axis, first, second, number, equal, kappa in score_sheets(folder, records, taxonomy):
            typer.echo(f"{axis:<12} {first} and {second:<9} {number:>4} reports  equal {equal}  kappa {kappa}")
        typer.echo(f"written: {folder}/agreement.csv")


@corpus_app.command()
def check(
    corpus: CorpusOption = CORPUS,
    texts: TextsOption = TEXTS,
    withheld: WithheldOption = None,
) -> None:
    """Check schema, labels, duplicates, near-duplicates and leaks between splits; each finding names file and line."""
    with training():
        from distriage.model.taxonomy import default_taxonomy
        from distriage_research.corpus.digests import read_withheld
        from distriage_research.corpus.view import check_corpus

        kept = read_withheld(withheld) if withheld is not None else frozenset()
        errors = check_corpus(Console(highlight=False, soft_wrap=True), corpus, texts, default_taxonomy(), kept)
    raise typer.Exit(2 if errors else 0)
