"""Runs the application with uvicorn until a signal ends it. Listens on a port."""

from __future__ import annotations

import logging
import socket
from contextlib import ExitStack, nullcontext

import uvicorn

from distriage.base.errors import BundleError, ConfigError, DistriageError
from distriage.model.shipped import find_bundle
from distriage.signs.table import read_table
from distriage_serving.app import create_app
from distriage_serving.logs import configure_logging, log
from distriage_serving.settings import Settings
from distriage_serving.store import Store
from distriage_serving.web.connections import BACKLOG, protocol
from distriage_serving.web.rooms import rooms_of


def run_server(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; requests under way are finished first.

    Raises:
        BundleError: the model is missing or fails verification.
        InputError: the table of releases cannot be read.
        ConfigError: the address cannot be listened on, the database not opened, or the bot's private key not read.
    """
    find_bundle(settings.model)  # a wrong name ends here, not after the port is open
    if settings.releases is not None:
        read_table(settings.releases)
    with Store.open(settings.database) if settings.has_store else nullcontext() as store:
        _serve(settings, store)


def _serve(settings: Settings, store: Store | None) -> None:
    def stop() -> None:
        server.should_exit = True

    app = create_app(settings, store=store, on_load_error=stop)
    listener = listen(settings.host, settings.port)
    port = listener.getsockname()[1]
    # A socket of IPv6 takes no IPv4, and if it did, a sender's address would have two spellings.
    listeners = [listener, listen("0.0.0.0", port)] if settings.host == "::" else [listener]
    configure_logging(settings.log_level)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,  # ours has the request id
        server_header=False,
        ws="none",
        lifespan="on",
        http=protocol(settings, rooms_of(app).door),  # type: ignore[arg-type]
        backlog=BACKLOG,
        timeout_graceful_shutdown=settings.shutdown_timeout_s,
    )
    server = uvicorn.Server(config)
    engine = rooms_of(app).engine
    host = listener.getsockname()[0]
    log(logging.INFO, "listening", host=host, port=port, keys=len(settings.api_keys))
    if store is None and "database" in settings.model_fields_set:
        log(logging.WARNING, "database_not_used", reason="no bot, no queue and no API keys")
    if settings.second_reader is not None and not settings.has_bot:
        log(logging.WARNING, "second_reader_not_used", reason="no GitHub App, and requests never ask it")
    if not settings.api_keys and not _is_loopback(host):
        log(logging.WARNING, "open_to_the_network_without_keys", host=host)
    with ExitStack() as open_sockets:
        for each in listeners:
            open_sockets.enter_context(each)
        server.run(sockets=listeners)
    if engine.load_error is not None:
        raise (
            engine.load_error
            if isinstance(engine.load_error, DistriageError)
            else BundleError(f"the model cannot be loaded: {type(engine.load_error).__name__}")
        )


def _is_loopback(host: str) -> bool:
    return host == "::1" or host.startswith("127.")


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections; port 0: any that is free.

    Raises:
        ConfigError: the address is not valid, or taken.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server((str(address[0]), port), family=family, backlog=BACKLOG)
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"{host}:{port}: cannot listen there: {getattr(error, 'strerror', None) or error}") from None
    # Connections inherit it. asyncio sets it only on sockets that name their protocol, which these do not; without it
    # an answer's body waits 40 ms for the receipt of its head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
