"""The App's tokens, the sweep, and the settings."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from distriage.base.errors import ConfigError, GitHubError, RefusedError
from distriage.base.times import epoch_s
from distriage.github.client import Client
from distriage_serving.bot.sweep import SWEEP_EVERY_S, look_around, sweep
from distriage_serving.github import app_auth
from distriage_serving.github.app_auth import FRESH_S, WORK, App, load_key, private_key
from distriage_serving.settings import load_settings
from distriage_serving.store import Delivery, Store, reconcile_job

from support import faults
from support.app_key import APP_ID, app_key, app_key_pem
from support.databases import NOW, Clock
from support.faults import Fault, Trouble
from support.github import INSTALLATION, GitHub
from support.github_shapes import hook_delivery
from support.work_items import delivery


@pytest.fixture
def github(app_github: GitHub) -> GitHub:
    return app_github


# ---------------------------------------------------------------- tokens


def test_a_token_is_kept_until_five_minutes_before_its_end(github: GitHub) -> None:
    clock = Clock(time.time())
    for name, at in (("first", clock.now + 3600), ("second", clock.now + 7200), ("third", clock.now + 7200)):
        expires_at = datetime.fromtimestamp(at, UTC).isoformat()
        github.troubles.append(
            Trouble("access_tokens", Fault(201, json.dumps({"token": name, "expires_at": expires_at})))
        )
    app = App(APP_ID, app_key(), github.url, clock=clock)
    assert app.token(INSTALLATION) == "first"
    clock.now += 3600 - 301
    assert app.token(INSTALLATION) == "first"
    clock.now += 2
    assert app.token(INSTALLATION) == "second" == app.token(INSTALLATION)
    app.forget(INSTALLATION)
    assert app.token(INSTALLATION) == "third"


def test_no_installation_waits_while_the_token_of_another_is_fetched(
    github: GitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.installations.add(INSTALLATION + 1)
    app = App(APP_ID, app_key(), github.url)
    known = app.token(INSTALLATION)
    asked, answered = Event(), Event()
    write = Client.write

    def slow(client: Client, *args: Any, **kwargs: Any) -> Any:
        asked.set()
        assert answered.wait(30)
        return write(client, *args, **kwargs)

    monkeypatch.setattr(Client, "write", slow)
    with ThreadPoolExecutor(2) as threads:
        other = threads.submit(app.token, INSTALLATION + 1)
        try:
            assert asked.wait(30)
            assert threads.submit(app.token, INSTALLATION).result(10) == known
            threads.submit(app.forget, INSTALLATION + 1).result(10)
        finally:
            answered.set()
        assert other.result(30)
    assert INSTALLATION + 1 not in app._tokens  # it was forgotten while it was on its way


def test_a_token_that_was_asked_for_before_a_grant_does_not_take_the_place_of_a_newer_one(
    github: GitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(time.time())
    app = App(APP_ID, app_key(), github.url, clock=clock)
    old = app.token(INSTALLATION)
    clock.now += FRESH_S
    asked, answered = Event(), Event()
    read = app_auth._read_token

    def slow(answer: Any, now: float) -> Any:
        if not asked.is_set():
            asked.set()
            assert answered.wait(30)
        return read(answer, now)

    monkeypatch.setattr(app_auth, "_read_token", slow)
    app._tokens[INSTALLATION] = replace(app._tokens[INSTALLATION], ends_at=clock.now)
    with ThreadPoolExecutor(1) as threads:
        before = threads.submit(app.token, INSTALLATION)
        try:
            assert asked.wait(30)
            newer = app.renew(INSTALLATION, old, WORK)
        finally:
            answered.set()
        assert before.result(30) != newer
    assert app.token(INSTALLATION) == newer


LABEL = {"color": "ededed", "description": ""}


def tokens_asked_for(github: GitHub) -> int:
    return sum("access_tokens" in write.path for write in github.written)


@pytest.mark.parametrize("refusal", [faults.integration(), faults.bad_credentials()])
def test_a_token_from_before_a_permission_is_replaced_once(github: GitHub, refusal: Fault) -> None:
    clock = Clock(time.time())
    app = App(APP_ID, app_key(), github.url, clock=clock)
    client, other = (app.installation_client(INSTALLATION) for _ in range(2))
    github.troubles.append(Trouble("^POST /repos", refusal, times=2))
    with pytest.raises(RefusedError):  # so new a token knows of every permission
        client.write("POST", "/repos/owner/repo/labels", LABEL | {"name": "a"}, repeatable=True)
    assert tokens_asked_for(github) == 1
    clock.now += 60
    client = app.installation_client(INSTALLATION)
    client.write("POST", "/repos/owner/repo/labels", LABEL | {"name": "a"}, repeatable=True)
    assert tokens_asked_for(github) == 2
    github.troubles.append(Trouble("^POST /repos", refusal))
    other.write("POST", "/repos/owner/repo/labels", LABEL | {"name": "b"}, repeatable=True)
    assert tokens_asked_for(github) == 2 and set(github.repository_labels["owner/repo"]) == {"a", "b"}
    github.troubles.append(Trouble("^GET /repos", faults.integration(), times=9))
    clock.now += 60
    with pytest.raises(RefusedError):
        app.installation_client(INSTALLATION).json("/repos/owner/repo")
    assert tokens_asked_for(github) == 3


def test_who_the_bot_is_and_a_token_of_an_app_that_is_not_installed(github: GitHub) -> None:
    app = App(APP_ID, app_key(), github.url)
    assert app.login() == "distriage[bot]" == app.login()
    assert [request.path for request in github.requests] == ["/app"]
    with pytest.raises(RefusedError) as error:
        app.token(99)
    assert error.value.status == 404


@pytest.mark.parametrize("body", ["{}", "[]", '{"token": 1, "expires_at": 2}'])
def test_an_answer_without_a_token_is_named(github: GitHub, body: str) -> None:
    github.troubles.append(Trouble("access_tokens", Fault(201, body)))
    with pytest.raises(GitHubError, match="holds no token"):
        App(APP_ID, app_key(), github.url).token(INSTALLATION)


def test_a_key_that_is_none_is_refused_without_being_shown() -> None:
    elliptic = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    for text in ("", "hunter2hunter2", elliptic.decode(), app_key_pem().replace("A", "B", 5)):
        with pytest.raises(ConfigError) as error:
            load_key(text)
        assert "BEGIN RSA PRIVATE KEY" in str(error.value) and "hunter2" not in str(error.value)
    assert load_key(app_key_pem()).key_size == 2048


# ---------------------------------------------------------------- sweep


def test_deliveries_that_never_arrived_are_asked_for_again(github: GitHub) -> None:
    github.page_items = 3
    github.hook_delivery("old", 500, age_s=4 * 86400)
    github.hook_delivery("hopeless", 500, age_s=3 * 86400 + 60)
    github.hook_delivery("hopeless", 500, age_s=2 * 86400)
    github.hook_delivery("soon again", 500, age_s=1500)
    github.hook_delivery("twice", 0, age_s=1300)
    github.hook_delivery("soon again", 500, age_s=700)
    twice = github.hook_delivery("twice", 500, age_s=690)
    failed = github.hook_delivery("failed", 502)
    github.hook_delivery("late", 502)
    github.hook_delivery("late", 202)
    github.hook_delivery("fine", 202)
    github.hook_delivery("replayed", 409)
    assert sweep(App(APP_ID, app_key(), github.url).client(), time.time()) == 2
    assert sorted(github.redelivered) == sorted([failed["id"], twice["id"]])


class Hook:
    """A GitHub that wants to hand one delivery over, from 0 s on, to a server that is away until `back_s`."""

    def __init__(self, back_s: float) -> None:
        self.now, self.back_s = 0.0, back_s
        self.attempts: list[dict[str, Any]] = []
        self.write()

    def write(self, *_: object, **__: object) -> None:
        attempt = hook_delivery(1, "g", 202 if self.now >= self.back_s else 502, NOW + self.now, again=self.now > 0)
        self.attempts.insert(0, attempt)

    def pages(self, *_: object) -> Iterator[tuple[list[dict[str, Any]], None]]:
        yield self.attempts, None


@pytest.mark.parametrize(("hours", "most"), [(0.0, 1), (0.75, 5), (10.0, 8), (60.0, 18), (1000.0, 19)])
def test_a_server_that_was_away_for_long_gets_what_it_missed_with_growing_pauses(hours: float, most: int) -> None:
    hook = Hook(hours * 3600)
    while hook.now < 10 * 86400:
        hook.now += SWEEP_EVERY_S
        sweep(hook, NOW + hook.now)  # type: ignore[arg-type]
    times = [epoch_s(attempt["delivered_at"]) - NOW for attempt in reversed(hook.attempts)]
    pauses = [after - before for before, after in pairwise(times)]
    assert len(times) <= most and pauses == sorted(pauses)
    if hours < 72:
        assert hook.attempts[0]["status_code"] == 202 and times[-1] <= 2 * hook.back_s + SWEEP_EVERY_S


def test_repositories_are_compared_though_deliveries_are_not_listed(github: GitHub, sqlite_store: Store) -> None:
    sqlite_store.save_repository("owner/repo", installation_id=INSTALLATION)
    github.troubles.append(Trouble("hook/deliveries", faults.status(404)))
    assert look_around(sqlite_store, App(APP_ID, app_key(), github.url)).jobs == (
        reconcile_job("owner/repo", INSTALLATION),
    )


def test_what_has_been_done_for_a_month_is_forgotten(
    github: GitHub, sqlite_store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_store, "clock", clock)
    for number, days in ((1, 2), (2, 29)):
        sqlite_store.add_delivery(delivery(f"d{number}", state="ignored"))
        clock.now += days * 86400
    look_around(sqlite_store, App(APP_ID, app_key(), github.url))
    assert [item.id for item in sqlite_store.list_work(Delivery)] == ["d2"]


# ---------------------------------------------------------------- settings

GOOD = {"GITHUB_APP_ID": "4711", "GITHUB_PRIVATE_KEY": "key", "GITHUB_WEBHOOK_SECRET": "0123456789abcdef"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"GITHUB_WEBHOOK_SECRET": None}, "all three"),
        ({"GITHUB_APP_ID": None}, "needs DISTRIAGE_GITHUB_APP_ID, DISTRIAGE_GITHUB_PRIVATE_KEY"),
        ({"GITHUB_PRIVATE_KEY": None}, "all three"),
        ({"GITHUB_WEBHOOK_SECRET": "short"}, "fewer than 16 characters"),
        ({"GITHUB_PRIVATE_KEY_FILE": "key.pem"}, "both given"),
        ({"WORKERS": "-1"}, "DISTRIAGE_WORKERS"),
    ],
)
def test_the_bot_does_not_start_without_all_its_secrets(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, str | None], message: str
) -> None:
    for name, value in {**GOOD, **changes}.items():
        if value is not None:
            monkeypatch.setenv(f"DISTRIAGE_{name}", value)
    with pytest.raises(ConfigError) as error:
        load_settings()
    assert message in str(error.value) and "0123456789abcdef" not in str(error.value)


def test_the_private_key_comes_from_a_variable_or_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in GOOD.items():
        monkeypatch.setenv(f"DISTRIAGE_{name}", value)
    monkeypatch.setenv("DISTRIAGE_GITHUB_PRIVATE_KEY", app_key_pem().replace("\n", "\\n"))
    assert load_settings().has_bot and private_key(load_settings()).strip() == app_key_pem().strip()
    monkeypatch.delenv("DISTRIAGE_GITHUB_PRIVATE_KEY")
    monkeypatch.setenv("DISTRIAGE_GITHUB_PRIVATE_KEY_FILE", str(tmp_path / "key.pem"))
    (tmp_path / "key.pem").write_text(app_key_pem())
    assert private_key(load_settings()).strip() == app_key_pem().strip()
