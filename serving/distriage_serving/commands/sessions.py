"""Sub-commands `distriage sessions` and `distriage admins`. Imports nothing heavy before a command runs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from distriage.base.errors import InputError
from distriage.base.extras import needs_extra
from distriage.base.terminal import say
from distriage_serving.commands.options import DatabaseOption, open_store

ID_CHARS = 12
sessions_app = typer.Typer(name="sessions", help="Who is logged in to the triage queue.", no_args_is_help=True)
admins_app = typer.Typer(name="admins", help="Administrators of the triage queue.", no_args_is_help=True)


@sessions_app.command("list")
def list_(database: DatabaseOption = None) -> None:
    """Sessions that last, the newest first: id, who, since when, until when; and whether the settings refuse it."""
    with needs_extra("serve"), open_store(database, must_exist=True) as store:
        from distriage_serving.queue.login.sessions import Sessions
        from distriage_serving.settings import load_settings

        settings, sessions = load_settings({"database": database}), store.list_sessions()
        logins = Sessions(settings, store)
        if not sessions:
            say("nobody is logged in")
        for session in sessions:
            times = [
                f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}Z" for at in (session.created_at, session.ends_at)
            ]
            # Settings without any login are not those of the server.
            refused = "  refused by the settings" if settings.has_queue and not logins.lets_in(session) else ""
            typer.echo(f"{session.id[:ID_CHARS]}  {session.who}  since {times[0]}  until {times[1]}{refused}")


@sessions_app.command()
def end(
    which: Annotated[str, typer.Argument(metavar="ID|WHO|all", help="As `distriage sessions list` shows them.")],
    database: DatabaseOption = None,
) -> None:
    """End sessions; their owners have to log in again."""
    with needs_extra("serve"), open_store(database, must_exist=True) as store:
        ids = [
            session.id
            for session in store.list_sessions()
            if which in {"all", session.who} or (len(which) >= ID_CHARS and session.id.startswith(which))
        ]
        if not ids and which != "all":
            raise InputError(
                f"sessions end {which!r}: expected the id or the name of somebody who is logged in, or `all`"
            )
        typer.echo(f"{store.end_sessions(*ids)} ended")


@admins_app.command()
def new(name: Annotated[str, typer.Argument(help="Of the administrator: letters, digits, dots and dashes.")]) -> None:
    """Make a token for an administrator, and the entry of DISTRIAGE_ADMINS that lets it in."""
    with needs_extra("serve"):
        from distriage_serving.administrators import DEFAULT, NAME, make_entry
    import secrets

    if not NAME.fullmatch(name) or name == DEFAULT:
        raise InputError(
            f"admins new {name!r}: expected up to 39 letters, digits, dots and dashes, other than {DEFAULT!r}"
        )
    token = secrets.token_urlsafe(32)
    typer.echo(f"token (give it to {name}; it is stored nowhere): {token}")
    typer.echo(f"entry of DISTRIAGE_ADMINS: {make_entry(name, token)}")
