"""`python training/research`: experiments and the upkeep of the corpus. Imports nothing heavy before a command runs."""

from __future__ import annotations

import sys

import typer

from distriage.base.errors import DistriageError
from distriage.base.terminal import say, speak_utf8
from distriage.commands.typed import run
from distriage_research.commands.bench import bench
from distriage_research.commands.corpus import corpus_app
from distriage_research.commands.experiments import (
    clusters,
    curve,
    domain,
    duplicates,
    errors,
    leave_out,
    own_labels,
    peers,
    pretrain,
    recover,
    sources,
)
from distriage_research.commands.published import import_tosem, matrix, report
from distriage_research.commands.verdicts import explain, readers, similar, versions, worth

_COMMANDS = (
    *(peers, curve, leave_out, sources, domain, errors, clusters, duplicates, own_labels, recover, pretrain),
    *(explain, similar, worth, versions, readers, report, import_tosem, matrix, bench),
)


def build_app() -> typer.Typer:
    """The command line."""
    app = typer.Typer(
        name="research",
        help="Experiments around Distriage, and the upkeep of its corpus; of a checkout, in no wheel.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for command in _COMMANDS:
        app.command()(command)
    app.add_typer(corpus_app)
    return app


def main() -> None:
    """Run the command line: our own errors end in one line and exit code 2."""
    speak_utf8()
    try:
        run(build_app(), "python training/research")
    except DistriageError as error:
        say(str(error))
        sys.exit(2)
