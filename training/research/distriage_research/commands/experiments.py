"""Experiments around an evaluation. Imports nothing heavy before a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from distriage.base.disk import writing
from distriage_research.commands.corpus import CORPUS, CorpusOption, WithheldOption
from distriage_research.needs import needed
from distriage_training.commands.options import BASE, ConfigArgument, ModelOption, SplitOption, check_split, named_model
from distriage_training.commands.study import results_in

Folder = Annotated[
    Path | None, typer.Option("--output", help="Folder for what was measured; default: runs/NAME-study.")
]


def peers(
    config: ConfigArgument = BASE,
    names: Annotated[
        str, typer.Option("--peers", help="Which, separated by commas: tfidf, fasttext, setfit.")
    ] = "tfidf,fasttext,setfit",
    split: SplitOption = "validation",
    axes: Annotated[str | None, typer.Option(help="Only these axes, separated by commas.")] = None,
    model: ModelOption = None,
    output: Folder = None,
) -> None:
    """Train other classifiers on the same records and measure them beside a bundle."""
    check_split(split)
    with needed():
        from distriage.classifier import Classifier
        from distriage_research.experiments.compare import compare_with_peers, peers_table
        from distriage_training.config import load_config

        settings = load_config(config)
        classifier = Classifier(named_model(model, settings.name))
        wanted = None if axes is None else [axis.strip() for axis in axes.split(",")]
        console = Console(stderr=True, highlight=False)
        with results_in(output or Path("runs") / f"{settings.name}-study") as folder:
            result = compare_with_peers(classifier, settings, split, names.split(","), folder, console, wanted)
    typer.echo(peers_table(result))


def curve(
    config: ConfigArgument = BASE,
    shares: Annotated[str, typer.Option(help="Of the training records, separated by commas.")] = "0.125,0.25,0.5,1",
    output: Folder = None,
) -> None:
    """Draw a learning curve of the sparse head on validation."""
    with needed():
        from distriage_research.experiments.curve import learning_curve
        from distriage_research.experiments.linear import scores_table
        from distriage_training.config import load_config

        settings = load_config(config)
        try:
            parts = [float(share) for share in shares.split(",")]
        except ValueError:
            parts = []
        if not parts or not all(0 < share <= 1 for share in parts):
            raise typer.BadParameter(
                f"{shares!r}: expected numbers above 0 and up to 1, such as 0.25,0.5,1", param_hint="--shares"
            )
        with results_in(output or Path("runs") / f"{settings.name}-study") as folder:
            result = learning_curve(settings, parts, folder, Console(stderr=True, highlight=False))
    typer.echo(scores_table(result, "training records"))
    typer.echo(f"written: {folder}/learning-curve.png", err=True)


def leave_out(
    config: ConfigArgument = BASE,
    repository: Annotated[
        list[str] | None, typer.Option(help="OWNER/NAME, can be repeated; default: all with enough validation reports.")
    ] = None,
    output: Folder = None,
) -> None:
    """Fit the sparse head without each repository, and measure it on that repository."""
    with needed():
        from distriage_research.experiments.linear import scores_table
        from distriage_research.experiments.repositories import leave_out_repositories
        from distriage_training.config import load_config

        settings = load_config(config)
        with results_in(output or Path("runs") / f"{settings.name}-study") as folder:
            console = Console(stderr=True, highlight=False)
            result = leave_out_repositories(settings, folder, console, repository or ())
    typer.echo(scores_table(result, "repository"))


def sources(
    config: ConfigArgument = BASE,
    source: Annotated[list[str] | None, typer.Option(help="Can be repeated; default: all.")] = None,
    output: Folder = None,
) -> None:
    """Fit the sparse head without each source of annotations in turn: what does each contribute?"""
    with needed():
        from distriage_research.experiments.linear import scores_table
        from distriage_research.experiments.sources import leave_out_sources
        from distriage_training.config import load_config

        settings = load_config(config)
        with results_in(output or Path("runs") / f"{settings.name}-study") as folder:
            result = leave_out_sources(settings, folder, Console(stderr=True, highlight=False), source or ())
    typer.echo(scores_table(result, "training records"))


def domain(config: ConfigArgument = BASE, model: ModelOption = None) -> None:
    """How many reports of other software get a label, with a domain gate that saw none of their repository."""
    with needed():
        from distriage.classifier import Classifier
        from distriage_research.experiments.domain import domain_table, measure_domain
        from distriage_training.config import load_config
        from distriage_training.corpus.load import load_splits

        settings = load_config(config)
        classifier = Classifier(named_model(model, settings.name))
        splits = load_splits(settings, classifier.bundle.taxonomy, Console(stderr=True, highlight=False))
        result = measure_domain(classifier, settings, splits)
    typer.echo(domain_table(result))


def duplicates(
    pairs: Annotated[
        Path, typer.Argument(metavar="PAIRS.csv", help="Columns issue, same_as: the same, by maintainers.")
    ],
    texts: Annotated[list[str], typer.Argument(metavar="ISSUES.jsonl...", help="The issues of their repositories.")],
    judged: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Columns issue, past, same (yes, no): is what would be said right?"),
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Also the encoder without our training; slow.")] = False,
    fit: Annotated[
        Path | None,
        typer.Option(
            metavar="THREADS.jsonl",
            help="Instead fit the weights of the order to issues that name each other in these threads (id, comments), "
            "without those of PAIRS, --judged, --withheld and the test split; then measure on PAIRS.",
        ),
    ] = None,
    withheld: WithheldOption = None,
    corpus: CorpusOption = CORPUS,
    model: ModelOption = None,
) -> None:
    """How often past issues that maintainers called the same are found, beside TF-IDF and BM25."""
    with needed():
        from distriage.classifier import Classifier
        from distriage_research.corpus.digests import read_withheld
        from distriage_research.experiments.duplicates import duplicates_table, measure_duplicates
        from distriage_research.order import measure_order, order_table

        classifier = Classifier(model, threads=1)
        if fit is None:
            table = duplicates_table(measure_duplicates(classifier, texts, pairs, judged, plain=plain))
        else:
            kept = read_withheld(withheld) if withheld is not None else frozenset()
            table = order_table(measure_order(classifier, texts, fit, pairs, judged, corpus, kept))
    typer.echo(table)


def clusters(
    judged: Annotated[Path, typer.Argument(metavar="JUDGED.csv", help="Columns issue, past, same (yes, no).")],
    texts: Annotated[list[str], typer.Argument(metavar="ISSUES.jsonl...", help="Issues of repositories.")],
    model: ModelOption = None,
) -> None:
    """How many clusters repositories have, and how often two issues of one have one cause."""
    with needed():
        from distriage.classifier import Classifier
        from distriage_research.clusters import clusters_table, measure_clusters

        result = measure_clusters(Classifier(model, threads=1), texts, judged)
    typer.echo(clusters_table(result))


def own_labels(
    histories: Annotated[
        list[Path], typer.Argument(metavar="HISTORY.jsonl...", help="What `distriage learn` keeps of repositories.")
    ],
    tables: Annotated[
        tuple[Path, Path] | None,
        typer.Option("--nlbse", metavar="TRAIN.csv TEST.csv", help="The tables of NLBSE'24; may be gzipped."),
    ] = None,
    setfit: Annotated[bool, typer.Option("--setfit", help="Also SetFit; minutes a repository.")] = False,
    model: ModelOption = None,
    output: Folder = None,
) -> None:
    """How good `distriage learn` is on later issues, beside TF-IDF and SetFit."""
    with needed():
        from distriage.classifier import Classifier
        from distriage_research.experiments.own_labels import (
            as_json,
            by_date,
            by_date_table,
            published,
            published_table,
            read_table,
        )

        read = [read_table(file) for file in tables or ()]
        classifier, console = Classifier(model, threads=1), Console(stderr=True, highlight=False)
        note = console.print if console.is_terminal else lambda _: None
        with results_in(output or Path("runs/own-labels-study")) as folder:
            rows = by_date(classifier, histories, setfit=setfit, note=note)
            found = published(classifier, read[0], read[1], note) if read else {}
            (folder / "own-labels.json").write_text(as_json(rows, found), encoding="utf-8")
    typer.echo(by_date_table(rows))
    if found:
        typer.echo(published_table(found))


def errors(config: ConfigArgument = BASE, model: ModelOption = None) -> None:
    """Show where a bundle is wrong on validation, how near it was, and on which reports."""
    with needed():
        from distriage.classifier import Classifier
        from distriage_research.experiments.mistakes import analyse, mistakes_table
        from distriage_training.config import load_config

        settings = load_config(config)
        result = analyse(Classifier(named_model(model, settings.name)), settings, Console(stderr=True, highlight=False))
    typer.echo(mistakes_table(result))


def recover(
    config: ConfigArgument,
    output: Annotated[Path, typer.Option("--output", help="A new folder for the run.")],
    model: ModelOption = None,
) -> None:
    """Make the finished run of a bundle again from its int8 graph, to go on from it when its weights are lost."""
    with needed():
        from distriage.model.bundle import Bundle
        from distriage_research.experiments.recover import recover
        from distriage_training.config import load_config

        settings = load_config(config)
        recover(Bundle(Path(named_model(model, settings.name))), settings, output)
    typer.echo(f"written: {output}", err=True)


def pretrain(
    config: ConfigArgument,
    output: Annotated[
        Path | None, typer.Option(help="Folder for the adapted encoder; default: runs/NAME-encoder.")
    ] = None,
    reports: Annotated[Path, typer.Option(help="JSONL with id, title and body.")] = Path(".corpus/unlabelled.jsonl"),
    epochs: Annotated[float, typer.Option(min=0.01, help="Passes over the reports.")] = 1.0,
    batch_size: Annotated[int, typer.Option(min=1, help="Reports per step and device.")] = 32,
    learning_rate: Annotated[float, typer.Option(help="Peak rate.")] = 1e-4,
    mask_fraction: Annotated[float, typer.Option(min=0.01, max=0.99, help="Share of the tokens to mask.")] = 0.2,
    limit: Annotated[int | None, typer.Option(min=8, help="Use at most N reports.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume from the last checkpoint.")] = False,
) -> None:
    """Continue the encoder's pre-training on unlabelled reports; then name its folder as encoder.source."""
    with needed():
        from distriage_research.experiments.pretrain import Pretraining
        from distriage_research.experiments.pretrain import pretrain as run
        from distriage_training.config import load_config

        settings = load_config(config)
        place = output or Path("runs") / f"{settings.name}-encoder"
        with writing(place):
            asked = Pretraining(reports, epochs, batch_size, learning_rate, mask_fraction, limit)
            folder = run(settings, asked, place, resume=resume)
    Console(stderr=True, highlight=False).print(f"encoder: {folder}")
