"""The command line. Sub-commands of the other packages join through the entry-point group `distriage.commands`."""

from __future__ import annotations

import atexit
import gc
import sys
import traceback
from typing import Annotated

import typer

import distriage
from distriage.base.errors import DistriageError, InputError
from distriage.base.terminal import READ, give_up_output, is_full, say, speak_utf8
from distriage.base.terminal import output as standard_output
from distriage.commands.classify import classify
from distriage.model.taxonomy import default_taxonomy

# Nearly all that imports make stays. One answer took a seventh longer with the search for cycles among it, which Python
# begins after every 700 new objects and repeats at exit.
GC_THRESHOLD = 50_000
atexit.register(gc.freeze)


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


_CORE = (classify, taxonomy)


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
        from distriage.commands.second_reader import second_reader_app

        app.add_typer(past_app, rich_help_panel=READ)
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


def main() -> None:
    """Entry point: errors of ours end in one line and exit code 2."""
    gc.set_threshold(GC_THRESHOLD)
    speak_utf8()
    try:
        build_app(sys.argv[1] if sys.argv[1:] else "")()
    except DistriageError as error:
        say(str(error))
        sys.exit(2)
    except OSError as error:
        if not is_full(error):
            raise
        give_up_output(error)
        sys.exit(2)
    except KeyboardInterrupt:  # while packages load; Typer ends a command so, and one whose reader went away with 1
        sys.exit(130)
    except Exception as error:
        if "KeyboardInterrupt" in "".join(traceback.format_exception(error, limit=0)):  # a package made its own of it
            sys.exit(130)
        raise
