"""The sub-commands that this package adds to `distriage`. Heavy imports wait until a command runs."""

from __future__ import annotations

import typer

import distriage_training.commands.second_reader  # noqa: F401 - its commands join the library's group
from distriage.base.terminal import MAINTAIN, READ, TRAIN
from distriage_training.commands.bench import bench
from distriage_training.commands.learn import learn
from distriage_training.commands.model import calibrate, evaluate, export, gate, index, promote, train
from distriage_training.commands.study import study_app


def register(app: typer.Typer) -> None:
    """Add the training commands to the command line."""
    app.add_typer(study_app, rich_help_panel=TRAIN)
    for command in (train, export, calibrate, index, gate, evaluate, promote):
        app.command(rich_help_panel=TRAIN)(command)
    app.command(rich_help_panel=MAINTAIN)(learn)
    app.command(rich_help_panel=READ)(bench)
