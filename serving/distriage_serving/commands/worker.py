"""Sub-commands `distriage worker` and `distriage inbox`. Imports nothing heavy before a command runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from distriage.base.errors import InputError
from distriage.base.extras import needs_extra
from distriage.base.terminal import printable
from distriage_serving.commands.options import DatabaseOption, ModelOption, open_store

if TYPE_CHECKING:
    from distriage_serving.store import Delivery, Job, Store

State = Literal["waiting", "leased", "done", "dead", "ignored"]
MOST = 1_000_000
Identifier = Annotated[
    str,
    typer.Argument(metavar="ID|all", help="As `distriage inbox dead` shows it; `all`: all that was given up."),
]
inbox_app = typer.Typer(
    name="inbox", help="The bot's deliveries and jobs: waiting, failed, and why.", no_args_is_help=True
)


def worker(
    metrics_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port for /livez and /metrics; default: none.")
    ] = None,
    model: ModelOption = None,
) -> None:
    """Do the bot's work in a process of its own, beside `distriage serve`. Settings: see docs/settings.md."""
    with needs_extra("serve"):
        from distriage_serving.bot.service import run_worker
        from distriage_serving.settings import load_settings

    run_worker(load_settings({"model": model, "metrics_port": metrics_port}))


@inbox_app.command("list")
def list_(
    state: Annotated[State | None, typer.Option(help="Only those in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most this many of each.")] = 20,
    database: DatabaseOption = None,
) -> None:
    """Deliveries and jobs, the newest first."""
    with needs_extra("serve"), open_store(database, must_exist=True) as store:
        _show(store, state, limit)


@inbox_app.command()
def dead(
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most this many of each.")] = 100,
    database: DatabaseOption = None,
) -> None:
    """List items given up, and why; `distriage inbox replay` retries one, `distriage inbox drop` removes it."""
    with needs_extra("serve"), open_store(database, must_exist=True) as store:
        _show(store, "dead", limit)


@inbox_app.command()
def replay(identifier: Identifier, database: DatabaseOption = None) -> None:
    """Try something again that was given up."""
    with needs_extra("serve"), open_store(database, must_exist=True) as store:
        count = _each(store, "replay", identifier, store.replay)
        typer.echo(f"{count} wait again" if identifier == "all" else f"{identifier} waits again")


@inbox_app.command()
def drop(identifier: Identifier, database: DatabaseOption = None) -> None:
    """Drop an item given up: it is not retried, and is deleted 30 days later."""
    with needs_extra("serve"), open_store(database, must_exist=True) as store:
        count = _each(store, "drop", identifier, store.drop)
        typer.echo(f"{count if identifier == 'all' else identifier} dropped")


def _each(store: Store, command: str, identifier: str, change: Callable[[Any, str | int], bool]) -> int:
    """Change one dead item, or all; how many there were."""
    from distriage_serving.store import Delivery, Job

    if identifier == "all":
        changed = sum(change(Delivery, delivery.id) for delivery in store.dead(Delivery, MOST))
        return changed + sum(change(Job, job.id) for job in store.dead(Job, MOST))
    number = identifier.removeprefix("job:")
    is_job = number.isascii() and number.isdigit() and len(number) < 19
    if not (change(Job, int(number)) if is_job else change(Delivery, identifier)):
        raise InputError(
            f"inbox {command} {identifier!r}: expected the id of a delivery or job that was given up; `distriage inbox "
            "dead` lists them"
        )
    return 1


def _show(store: Store, state: State | None, limit: int) -> None:
    from distriage_serving.store import Delivery, Job

    for delivery in store.list_work(Delivery, state, limit):
        _line(delivery.id, f"{delivery.event}.{delivery.action}" if delivery.action else delivery.event, delivery)
    for job in store.list_work(Job, state, limit):
        _line(f"job:{job.id}", job.kind, job)
    typer.echo(
        "; ".join(
            f"{table}: {', '.join(f'{count} {name}' for name, count in states.items() if count) or 'none'}"
            for table, states in store.counts().items()
        )
    )


def _line(identifier: str, what: str, item: Delivery | Job) -> None:
    due = f"due {datetime.fromtimestamp(item.due_at, UTC):%Y-%m-%d %H:%M:%S}Z" if item.due_at is not None else ""
    place = f"{item.repository}#{item.issue}" if item.issue is not None else item.repository
    parts = (identifier, what, place, item.state, f"attempts {item.attempts}", due, item.last_error or "")
    # Parts of an error may be others' words: nothing of them may steer the terminal.
    typer.echo(printable("  ".join(filter(None, parts))))
