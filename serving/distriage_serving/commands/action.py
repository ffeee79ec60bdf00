"""`distriage action`. Needs the core only; imports nothing heavy before it runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer


def _text(variable: str, help_text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(envvar=variable, help=help_text, show_default=False)
    return option


def action(
    issue_number: Annotated[str, _text("DISTRIAGE_ISSUE_NUMBER", "The issue; default: that of the event.")] = "",
    event: Annotated[str, _text("GITHUB_EVENT_PATH", "File with the event's JSON.")] = "",
    repository: Annotated[str, _text("GITHUB_REPOSITORY", "owner/repo; default: that of the event.")] = "",
    configuration_path: Annotated[str, _text("DISTRIAGE_CONFIGURATION_PATH", "Default: .github/distriage.yml.")] = "",
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --dry-run true: a configuration on this machine to try."),
    ] = None,
    mode: Annotated[
        str, _text("DISTRIAGE_MODE", "best, balanced or precise; default: what the configuration says.")
    ] = "",
    dry_run: Annotated[str, _text("DISTRIAGE_DRY_RUN", "true: say what would be done, write nothing to GitHub.")] = "",
    strict: Annotated[
        str, _text("DISTRIAGE_STRICT", "true: an error fails the step; default: it ends in a warning.")
    ] = "",
    model: Annotated[str, _text("DISTRIAGE_MODEL", "A bundle's folder or the name of a shipped model.")] = "",
    own_labels: Annotated[str, _text("DISTRIAGE_OWN_LABELS", "A folder that `distriage learn` wrote.")] = "",
    past_issues: Annotated[str, _text("DISTRIAGE_PAST_ISSUES", "A file that `distriage past index` wrote.")] = "",
    releases: Annotated[str, _text("DISTRIAGE_RELEASES", "A table that `distriage releases update` wrote.")] = "",
    second_reader: Annotated[
        str,
        _text("DISTRIAGE_SECOND_READER", "Base URL of an OpenAI-compatible endpoint to ask about what is in doubt."),
    ] = "",
    reader_model: Annotated[str, _text("DISTRIAGE_SECOND_READER_MODEL", "The model's name at that endpoint.")] = "",
    reader_calibration: Annotated[
        str,
        _text("DISTRIAGE_SECOND_READER_CALIBRATION", "What `distriage second-reader calibrate` wrote for that model."),
    ] = "",
    login: Annotated[str, _text("DISTRIAGE_LOGIN", "The token's account, where it is known, such as x[bot].")] = "",
    max_wait_s: Annotated[
        float, typer.Option(min=0, help="Longest time to wait for GitHub's rate limits, in seconds.")
    ] = 300.0,
) -> None:
    """Label one issue from inside GitHub Actions; the token comes from GITHUB_TOKEN. See action.yml."""
    from distriage_serving.action.run import Inputs, run_action

    inputs = Inputs(
        token=os.environ.get("GITHUB_TOKEN", ""),
        login=login,
        repository=repository,
        event_path=event,
        issue_number=issue_number,
        configuration_path=configuration_path,
        config=config,
        mode=mode,
        dry_run=dry_run,
        model=model,
        own_labels=own_labels,
        past_issues=past_issues,
        releases=releases,
        second_reader=second_reader,
        reader_model=reader_model,
        reader_calibration=reader_calibration,
        max_wait_s=max_wait_s,
    )
    raise typer.Exit(run_action(inputs, strict=strict))
