"""`distriage backtest`. Imports nothing heavy before it runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from distriage.base.extras import needs_extra
from distriage.base.references import check_repository
from distriage.base.terminal import say
from distriage_serving.commands.options import ModelOption


def backtest(
    repository: Annotated[
        str, typer.Argument(metavar="OWNER/REPO", help="A repository on GitHub; GITHUB_TOKEN is used if set.")
    ],
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="NAME=AXIS:LABEL",
            help="A label of the repository means this, e.g. 'deadlock=symptom:runtime-hang'.",
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A configuration; default: .github/distriage.yml of the repository.")
    ] = None,
    output: Annotated[Path, typer.Option(help="The page.")] = Path("backtest.html"),
    limit: Annotated[int | None, typer.Option(min=1, help="Use the newest N issues.")] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Keep fetched issues here; default: OWNER-REPO.history.jsonl. Delete it to fetch anew."),
    ] = None,
    model: ModelOption = None,
) -> None:
    """Say what the model would have said of a repository's past issues, and how often people agree, as one HTML page.

    Writes nothing to GitHub.
    """
    with needs_extra("serve"):
        from distriage.base.types import Mode
        from distriage.classifier import Classifier
        from distriage.github.address import token_of_environment
        from distriage.github.client import Client
        from distriage_serving.backtest.mapping import typed, unused
        from distriage_serving.backtest.page import CAVEAT
        from distriage_serving.backtest.run import BacktestOptions
        from distriage_serving.backtest.run import backtest as run

        check_repository(repository)
        options = BacktestOptions(
            map_ or (), config, limit, cache or Path(f"{repository.replace('/', '-')}.history.jsonl"), output
        )
        console = Console(stderr=True, highlight=False)
        client = Client(token_of_environment(), max_wait_s=math.inf)
        result = run(client, Classifier(model), repository, options, console)
        if result.replay.trained_on:
            typer.echo(f"left out, because the model was trained on them: {result.replay.trained_on}")
        for measured in result.results:
            tally = measured.modes[Mode.BALANCED]
            right = (
                f"right in {tally.right.value:.0%} of {tally.right.n}"
                if tally.right.value is not None
                else "no label by people to compare with"
            )
            what = "labels or types of" if measured.axis in typed(result.meaning) else "labels"
            typer.echo(f"{measured.axis}: {what} {tally.given} of {tally.issues} issues, {right} (mode balanced)")
        if any(measured.modes[Mode.BALANCED].right.n for measured in result.results):
            say(CAVEAT)
        for sign in result.signs:
            carry = f", {sign.right.hits} of them carry it today" if sign.found.n else ", nobody set it by hand"
            typer.echo(f"{sign.name}: label {sign.label} on {sign.given} of {len(result.replay.items)} issues{carry}")
        carried = [label for issue in result.history.issues for label in issue.labels]
        for name in unused(options.extra, carried):
            say(f"--map {name}: no issue carries this label")
        typer.echo(f"written: {output}")
        typer.echo(
            f"next: look at it, name the labels in .github/distriage.yml, distriage backfill {repository} --dry-run"
        )
