"""The tree of commands. Those of the other packages join through the entry-point group `distriage.commands`."""

from __future__ import annotations

from typing import Annotated

import typer

import distriage
from distriage.base.errors import InputError
from distriage.base.terminal import READ
from distriage.base.terminal import output as standard_output
from distriage.commands.agents import mcp
from distriage.commands.classify import classify
from distriage.commands.doctor import doctor
from distriage.model.taxonomy import default_taxonomy


def _version(show: bool) -> None:
    if show:
        typer.echo(f"distriage {distriage.__version__}")
        raise typer.Exit


def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


def taxonomy(
    axis: Annotated[str | None, typer.Argument(help="Show one axis with its definitions.")] = None,
    label: Annotated[str | None, typer.Argument(help="Show one label with its playbook.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show the labels: stages, symptoms, root causes, fix patterns, kinds."""
    from distriage.commands.taxonomy import print_label, print_taxonomy, taxonomy_answer

    loaded = default_taxonomy()
    axes = [loaded.axis(axis)] if axis else list(loaded.axes.values())
    if label is not None and json_:
        raise InputError("--json shows whole axes; leave LABEL out")
    if label is not None:
        print_label(standard_output(), loaded, axes[0], axes[0].label(label))
    elif json_:
        typer.echo(taxonomy_answer(loaded, axes).model_dump_json(indent=2))
    else:
        print_taxonomy(standard_output(), loaded, axes, with_definitions=axis is not None)


_CORE = (classify, taxonomy, doctor, mcp)


def build_app(typed: str = "") -> typer.Typer:
    """A new command line; Typer lists grow, so it is never reused.

    Args:
        typed: The command that was typed. If it exists, the others are left out: finding those of all installed
            packages and building their options takes longer than many a command.
    """
    app = typer.Typer(
        name="distriage",
        help="What kind of distributed-training failure is this issue about, and what fixes such failures?",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_main)
    for command in _CORE:
        app.command(rich_help_panel=READ)(command)
    if not _keep(app, typed):
        from importlib.metadata import entry_points

        from distriage.commands.past import past_app
        from distriage.commands.releases import releases_app
        from distriage.commands.second_reader import second_reader_app

        app.add_typer(past_app, rich_help_panel=READ)
        app.add_typer(releases_app, rich_help_panel=READ)
        app.add_typer(second_reader_app, rich_help_panel=READ)
        for point in entry_points(group="distriage.commands"):
            point.load().register(app)
        _keep(app, typed)
    return app


def _keep(app: typer.Typer, typed: str) -> bool:
    """Drop all commands but this one, or its group, if it exists."""
    commands = [one for one in app.registered_commands if one.callback and one.callback.__name__ == typed]
    groups = [one for one in app.registered_groups if one.typer_instance and one.typer_instance.info.name == typed]
    if found := bool(commands or groups):
        app.registered_commands, app.registered_groups = commands, groups
    return found
