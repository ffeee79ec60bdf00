"""The sub-commands that this package adds to `distriage`. Heavy imports wait until a command runs."""

from __future__ import annotations

import typer

from distriage.base.terminal import MAINTAIN
from distriage_serving.commands.action import action
from distriage_serving.commands.backfill import backfill
from distriage_serving.commands.backtest import backtest
from distriage_serving.commands.config import config_app
from distriage_serving.commands.database import import_database
from distriage_serving.commands.reviews import reviews_app
from distriage_serving.commands.serve import serve
from distriage_serving.commands.sessions import admins_app, sessions_app
from distriage_serving.commands.worker import inbox_app, worker


def register(app: typer.Typer) -> None:
    """Add the serving commands to the command line."""
    for command in (action, serve, worker, backtest, backfill, import_database):
        app.command(rich_help_panel=MAINTAIN)(command)
    for group in (config_app, inbox_app, reviews_app, sessions_app, admins_app):
        app.add_typer(group, rich_help_panel=MAINTAIN)
