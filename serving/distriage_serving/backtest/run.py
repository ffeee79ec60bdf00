"""The whole back-test: fetch, replay, write the page. Network and file I/O; runs the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from distriage.base.disk import writing
from distriage.classifier import Classifier
from distriage.github.client import Client
from distriage.github.history import read_history
from distriage.github.releases import kept_releases
from distriage.model.taxonomy import Taxonomy
from distriage_serving.backtest.mapping import make_mapping, named, never_set
from distriage_serving.backtest.measure import measure, measure_sign
from distriage_serving.backtest.page import Backtest, render_page
from distriage_serving.backtest.replay import replay
from distriage_serving.configuration.draft import TheirLabel, draft
from distriage_serving.configuration.file import load_config, parse_config
from distriage_serving.configuration.model import CONFIG_PATH, AxisConfig, RepositoryConfig
from distriage_serving.configuration.names import resolve
from distriage_serving.github.files import find_config
from distriage_serving.github.labels import read_labels
from distriage_serving.planning.signs import needs_releases


@dataclass(frozen=True, slots=True)
class BacktestOptions:
    """Options of a backtest.

    Attributes:
        extra: `NAME=AXIS:LABEL`, see `mapping.make_mapping`.
        config: A configuration to use instead of the repository's own.
        limit: How many of the newest issues; all if None.
    """

    extra: Sequence[str]
    config: Path | None
    limit: int | None
    cache: Path
    output: Path


def backtest(
    client: Client, classifier: Classifier, repository: str, options: BacktestOptions, console: Console
) -> Backtest:
    """Write the page.

    Raises:
        ConfigError, InputError: invalid configuration, mapping or cache, or the page cannot be written.
        GitHubError: GitHub is out of reach or refuses.
    """
    taxonomy = classifier.bundle.taxonomy
    config = _config(client, repository, options, taxonomy, console)
    meaning, names = make_mapping(config, options.extra, taxonomy), resolve(config, taxonomy)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        fetching = progress.add_task("fetching", total=options.limit)
        history = read_history(
            client, repository, options.cache, options.limit, lambda count: progress.update(fetching, completed=count)
        )
        reading = progress.add_task("classifying", total=len(history.issues))
        played = replay(
            classifier,
            repository,
            history,
            meaning,
            never_set(config, options.extra, taxonomy),
            lambda count: progress.update(reading, completed=count),
            kept_releases(client, repository) if needs_releases(names) else (),
        )
    result = Backtest(
        repository,
        classifier.bundle.manifest,
        taxonomy,
        history,
        played,
        meaning,
        tuple(measure(axis, played.items) for axis in _axes(config, options.extra, classifier)),
        tuple(measure_sign(sign, label.name, played.items) for sign, label in names.signs.items()),
    )
    with writing(options.output):
        options.output.write_text(render_page(result), encoding="utf-8")
    return result


def _config(
    client: Client, repository: str, options: BacktestOptions, taxonomy: Taxonomy, console: Console
) -> RepositoryConfig:
    """The named configuration, else the repository's; without any, what `--map` names, else the draft of
    `config init`.
    """
    if options.config is not None:
        return load_config(options.config, taxonomy)
    found = find_config(client, repository, CONFIG_PATH, taxonomy)
    if found.places:
        return found.config
    if options.extra:
        mapped = {axis: AxisConfig() for axis, _ in named(options.extra)}
        return found.config.model_copy(update={"only_listed": True, "axes": mapped})
    theirs = [TheirLabel(*label) for label in read_labels(client, repository)[0].items()]
    console.print(
        f"{repository} has no {CONFIG_PATH}: using the draft of `distriage config init {repository}`",
        markup=False,
        soft_wrap=True,
    )
    return parse_config(draft(repository, theirs, taxonomy), "the draft", taxonomy)


def _axes(config: RepositoryConfig, extra: Sequence[str], classifier: Classifier) -> tuple[str, ...]:
    """Those that the configuration labels, and those that `extra` names."""
    asked = {axis for axis, _ in named(extra)}
    return tuple(axis for axis in classifier.bundle.taxonomy.axes if config.axis(axis) is not None or axis in asked)
