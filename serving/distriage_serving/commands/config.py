"""`distriage config`. Needs the core only; imports nothing heavy before a command runs."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from distriage.base.errors import BundleError, InputError
from distriage.base.references import check_repository
from distriage.base.terminal import printable
from distriage_serving.commands.options import ModelOption

if TYPE_CHECKING:
    from distriage.classifier import Classifier
    from distriage.github.listed import ListedIssue
    from distriage.model.taxonomy import Taxonomy
    from distriage_serving.configuration.draft import TheirLabel

READ_ISSUES = 500  # the newest with a label
LEAST_SURE = 0.5

config_app = typer.Typer(
    name="config", help="A repository's configuration, .github/distriage.yml.", no_args_is_help=True
)


@config_app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A configuration, such as .github/distriage.yml.")],
    model: ModelOption = None,
    repository: Annotated[
        str | None,
        typer.Option(metavar="OWNER/REPO", help="Name the labels that it lacks; GITHUB_TOKEN is used if set."),
    ] = None,
) -> None:
    """Check a configuration against the labels of a model: one line per error, exit code 2.

    Inside GitHub Actions the lines are marked in the pull request.
    """
    from distriage_serving.action import workflow_commands
    from distriage_serving.configuration.file import load_config
    from distriage_serving.configuration.lacking import lacking
    from distriage_serving.configuration.names import resolve
    from distriage_serving.configuration.problems import RepositoryConfigError

    taxonomy = _taxonomy_of(model)
    there = _labels_of(repository) if repository is not None else {}
    try:
        names = resolve(load_config(file, taxonomy), taxonomy, there)
    except RepositoryConfigError as error:
        for problem in error.problems:
            sys.stderr.write(f"{printable(' '.join(str(problem).split()))}\n")
            if os.environ.get("GITHUB_ACTIONS") == "true":
                workflow_commands.error_at(problem.file, problem.line, problem.message)
        raise typer.Exit(2) from None
    typer.echo(f"{file}: valid")
    for line in names.describe():
        typer.echo(printable(line))
    for line in lacking(names, there) if repository is not None else ():
        typer.echo(f"warning: {printable(line)}", err=True)


@config_app.command()
def schema() -> None:
    """Print the JSON Schema of the configuration, as in schemas/distriage-config.schema.json."""
    from distriage.model.taxonomy import default_taxonomy
    from distriage_serving.configuration.model import config_schema

    sys.stdout.write(json.dumps(config_schema(default_taxonomy()), indent=2, ensure_ascii=False) + "\n")


@config_app.command()
def init(
    repository: Annotated[
        str | None, typer.Argument(metavar="OWNER/REPO", help="Read its labels; GITHUB_TOKEN is used if set.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Read them from a file: JSON, objects with `name` and `description`."),
    ] = None,
    issues: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Past issues that `distriage backtest` fetched; the draft counts the model's labels for them.",
        ),
    ] = None,
    model: ModelOption = None,
) -> None:
    """Print a draft made from a repository's labels: which of our labels each may stand for, and why."""
    from distriage.model.bundle import Bundle
    from distriage.model.shipped import find_bundle
    from distriage_serving.configuration.draft import TheirLabel, draft, observe
    from distriage_serving.configuration.file import parse_config

    if (repository is None) == (labels is None):
        raise InputError("name a repository or --labels FILE, one of both")
    if labels is not None:
        theirs = _labels_in(labels)
    else:
        theirs = [TheirLabel(*label) for label in _labels_of(repository or "").items()]
    said = None
    if issues is not None:
        from distriage.classifier import Classifier
        from distriage.github.history import load_history

        known, history = load_history(issues)
        if repository is not None and known.casefold() != repository.casefold():
            raise InputError(f"--issues {issues}: the history of {known}; expected that of {repository}")
        classifier = Classifier(model, threads=1)
        taxonomy = classifier.bundle.taxonomy
        said = observe(_likeliest(classifier, history.issues))
        carried = {label.casefold() for issue in history.issues for label in issue.labels}
        theirs = [label for label in theirs if label.name.casefold() in carried]  # others are of pull requests
    else:
        taxonomy = Bundle(find_bundle(model)).taxonomy
    text = draft(repository or str(labels), theirs, taxonomy, said)
    parse_config(text, "the draft", taxonomy)
    sys.stdout.write(text)


def _taxonomy_of(model: str | None) -> Taxonomy:
    """A model's own, or the default model's; the packaged one where none is installed."""
    from distriage.model.bundle import Bundle
    from distriage.model.shipped import find_bundle
    from distriage.model.taxonomy import default_taxonomy

    try:
        bundle = find_bundle(model)
    except BundleError:
        if model is not None:
            raise
        return default_taxonomy()
    return Bundle(bundle, whole=False).taxonomy


def _labels_of(repository: str) -> dict[str, str]:
    """Name -> description of a repository's labels."""
    from distriage.github.address import token_of_environment
    from distriage.github.client import Client
    from distriage_serving.github.labels import read_labels

    check_repository(repository)
    return read_labels(Client(token_of_environment(), max_wait_s=math.inf), repository)[0]


def _labels_in(file: Path) -> list[TheirLabel]:
    from distriage.base.texts import decoded
    from distriage_serving.configuration.draft import TheirLabel

    try:
        value = json.loads(decoded(file.read_bytes()))
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{file}: not JSON; expected a list of objects with `name` and `description`") from None
    if not isinstance(value, list):
        raise InputError(f"{file}: {type(value).__name__}; expected a list of objects with `name` and `description`")
    found = []
    for number, item in enumerate(value):
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise InputError(f"{file}: entry {number} has no `name`; expected an object with `name` and `description`")
        found.append(TheirLabel(item["name"], str(item.get("description") or "")))
    return found


def _likeliest(
    classifier: Classifier, issues: Sequence[ListedIssue]
) -> Iterator[tuple[Sequence[str], Sequence[tuple[str, str]]]]:
    from distriage.answer.policy import decide
    from distriage.base.types import IssueReport, Mode, Outcome
    from distriage.reading.report import check_report

    manifest, taxonomy = classifier.bundle.manifest, classifier.bundle.taxonomy
    for issue in [issue for issue in issues if issue.labels and not issue.by_bot][-READ_ISSUES:]:
        report = IssueReport(issue.title, issue.body)
        try:
            check_report(report)
        except InputError:
            continue
        decisions = decide(classifier.predict(report), manifest.axes, taxonomy, Mode.BEST)
        yield (
            issue.labels,
            [
                (axis, decision.label)
                for axis, decision in decisions.items()
                if decision.outcome is Outcome.APPLY and decision.probability >= LEAST_SURE
            ],
        )
