"""Sub-commands that need the core only: `distriage action`, `distriage config`. Imports nothing heavy before a command runs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

config_app = typer.Typer(name="config", help="A repository's configuration, .github/distriage.yml.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(action)
    app.add_typer(config_app)


def _text(variable: str, help_text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(envvar=variable, help=help_text, show_default=False)
    return option


def action(
    issue_number: Annotated[str, _text("DISTRIAGE_ISSUE_NUMBER", "The issue; default: that of the event.")] = "",
    event: Annotated[str, _text("GITHUB_EVENT_PATH", "File with the event's JSON.")] = "",
    repository: Annotated[str, _text("GITHUB_REPOSITORY", "owner/repo; default: that of the event.")] = "",
    configuration_path: Annotated[str, _text("DISTRIAGE_CONFIGURATION_PATH", "Default: .github/distriage.yml.")] = "",
    mode: Annotated[str, _text("DISTRIAGE_MODE", "best, balanced or precise; default: what the configuration says.")] = "",
    dry_run: Annotated[str, _text("DISTRIAGE_DRY_RUN", "true: say what would be done, write nothing to GitHub.")] = "",
    strict: Annotated[str, _text("DISTRIAGE_STRICT", "true: an error fails the step; default: it ends in a warning.")] = "",
    model: Annotated[str, _text("DISTRIAGE_MODEL", "A bundle's folder or the name of a shipped model.")] = "",
    max_wait_s: Annotated[float, typer.Option(min=0, help="Longest time to wait for GitHub's rate limits, in seconds.")] = 300.0,
) -> None:
    """Label one issue from inside GitHub Actions; the token comes from GITHUB_TOKEN. See action.yml."""
    from distriage_serving.action import Inputs, run_action

    inputs = Inputs(
        token=os.environ.get("GITHUB_TOKEN", ""),
        repository=repository,
        event_path=event,
        issue_number=issue_number,
        configuration_path=configuration_path,
        mode=mode,
        dry_run=dry_run,
        model=model,
        max_wait_s=max_wait_s,
    )
    raise typer.Exit(run_action(inputs, strict=strict))


@config_app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A configuration, such as .github/distriage.yml.")],
    model: Annotated[str | None, typer.Option(help="Check against the labels of this model instead of those of the packaged taxonomy.")] = None,
) -> None:
    """Check a configuration: one line an error, exit code 2; inside GitHub Actions the lines are marked in the pull request."""
    from distriage.bundle import Bundle, find_bundle
    from distriage.taxonomy import default_taxonomy
    from distriage_serving import workflow_commands
    from distriage_serving.repo_config import RepositoryConfigError, load_config

    taxonomy = Bundle(find_bundle(model)).taxonomy if model is not None else default_taxonomy()
    try:
        load_config(file, taxonomy)
    except RepositoryConfigError as error:
        for problem in error.problems:
            sys.stderr.write(f"{' '.join(str(problem).split())}\n")
            if os.environ.get("GITHUB_ACTIONS") == "true":
                workflow_commands.error_at(problem.file, problem.line, problem.message)
        raise typer.Exit(2) from None
    typer.echo(f"{file}: valid")


@config_app.command()
def schema() -> None:
    """Print the JSON Schema of the configuration, as in schemas/distriage-config.schema.json."""
    from distriage.taxonomy import default_taxonomy
    from distriage_serving.repo_config_schema import config_schema

    sys.stdout.write(json.dumps(config_schema(default_taxonomy()), indent=2, ensure_ascii=False) + "\n")
