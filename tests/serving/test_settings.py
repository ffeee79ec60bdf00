from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from distriage.base.errors import ConfigError
from distriage_serving.server import listen
from distriage_serving.settings import SECRETS, Settings, load_settings
from distriage_serving.web.keys import KeyRing
from distriage_serving.web.problem import ProblemError

from support.command_line import Command, assert_one_line
from support.settings_page import BEGIN, END, PAGE, page
from support.webhook import BOT

KEY = "0123456789abcdef"


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("DISTRIAGE_")]:
        monkeypatch.delenv(name)


def test_options_go_before_the_environment_and_that_before_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISTRIAGE_PORT", "9000")
    monkeypatch.setenv("DISTRIAGE_MAX_REPORTS", "7")
    settings = load_settings({"port": 9001, "host": None})
    assert (settings.port, settings.max_reports, settings.host) == (9001, 7, "127.0.0.1")


@pytest.mark.parametrize(
    ("name", "hint"), [("PROT", "did you mean DISTRIAGE_PORT?"), ("FOO", "docs/settings.md lists all")]
)
def test_an_unknown_variable_is_refused_with_its_likely_name(
    monkeypatch: pytest.MonkeyPatch, name: str, hint: str
) -> None:
    monkeypatch.setenv(f"DISTRIAGE_{name}", "9000")
    with pytest.raises(ConfigError) as error:
        load_settings()
    assert str(error.value) == f"environment: unknown variable DISTRIAGE_{name}; {hint}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "65536"),
        ("PORT", "http"),
        ("MAX_BODY_BYTES", "0"),
        ("REQUEST_TIMEOUT_S", "nan"),
        ("REQUEST_TIMEOUT_S", "inf"),
        ("LOG_LEVEL", "loud"),
        ("QUEUE_REPORTS", "3"),
        ("QUEUE_EXPLAINED_REPORTS", "1"),
        ("API_KEYS", ""),
        ("API_KEYS", " , "),
    ],
)
def test_a_value_out_of_range_is_refused_with_its_place(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"DISTRIAGE_{name}", value)
    with pytest.raises(ConfigError, match=f"DISTRIAGE_{name}"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("PORT", "70000", " is '70000': expected a whole number of at least 0 and at most 65535"),
        ("PORT", "", " is '': expected a whole number of at least 0 and at most 65535"),
        ("METRICS_PORT", "-1", " is '-1': expected a whole number of at least 0 and at most 65535"),
        ("MAX_BODY_BYTES", "8MB", " is '8MB': expected a whole number of at least 1024"),
        ("LEASE_S", "inf", " is 'inf': expected a number above 0"),
        ("SECOND_READER_TIMEOUT_S", "0", " is '0': expected a number above 0 and at most 600"),
        ("LOG_LEVEL", "verbose", " is 'verbose': expected debug, info, warning or error"),
        ("HOST", "", " is '': expected some text"),
        ("MODEL", "", " is '': expected some text"),
        ("PUBLIC_URL", "ftp://x", " is 'ftp://x': expected a URL without a path, such as https://triage.example.org"),
        ("PUBLIC_URL", "https://a:s3cret@x", ": expected a URL without a path, such as https://triage.example.org"),
        ("ADMIN_TOKEN", "s3cret", ": has fewer than 16 characters; e.g. `openssl rand -hex 32` makes one"),
    ],
)
def test_a_fault_is_named_with_place_value_and_what_was_expected(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv(f"DISTRIAGE_{name}", value)
    with pytest.raises(ConfigError) as error:
        load_settings()
    assert str(error.value) == f"DISTRIAGE_{name}{message}"


def test_whatever_may_be_wrong_with_a_setting_is_said_in_our_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        for value in ("", "\x01", "-1", "1e999", "s3cret"):
            with monkeypatch.context() as environment:
                environment.setenv(f"DISTRIAGE_{name.upper()}", value)
                try:
                    load_settings()
                except ConfigError as error:
                    assert not re.search(r"Input|String|should|pattern", str(error)), error


def test_a_folder_of_past_issues_that_is_missing_is_refused_at_the_start(
    command: Command, keyword_bundle: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DISTRIAGE_PAST", str(tmp_path / "nope"))
    monkeypatch.setenv("DISTRIAGE_DATABASE", f"sqlite:///{tmp_path}/x.db")
    refused = command("serve", "--model", keyword_bundle, "--port", 0)
    assert_one_line(refused, "DISTRIAGE_PAST", f"{tmp_path}/nope: no such folder; expected one with indexes")


def test_keys_are_split_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISTRIAGE_API_KEYS", f"{KEY}, {KEY[::-1]}\n")
    settings = load_settings()
    assert [key.get_secret_value() for key in settings.api_keys] == [KEY, KEY[::-1]]
    assert KEY not in repr(settings)
    monkeypatch.setenv("DISTRIAGE_API_KEYS", f"{KEY},sh0rt")
    with pytest.raises(ConfigError, match="key 2 has fewer than 16") as refused:
        load_settings()
    assert "sh0rt" not in str(refused.value) and KEY not in str(refused.value)


@pytest.mark.parametrize("name", SECRETS)
def test_each_secret_may_stand_in_a_file(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    values = {"database": "sqlite:///x.db", "admins": f"ada:{'0' * 32}:{'0' * 64}"}
    value, variable = values.get(name, "0123456789abcdef"), f"DISTRIAGE_{name.upper()}"
    rest = ("github_app_id", "github_private_key", "github_webhook_secret") if name in BOT else ()
    rest = ("github_client_id", "github_client_secret", "public_url") if name == "github_client_secret" else rest
    for other in {*rest} - {name}:
        monkeypatch.setenv(f"DISTRIAGE_{other.upper()}", "https://example.org" if other == "public_url" else KEY)
    monkeypatch.setenv(f"{variable}_FILE", str(tmp_path / "secret"))
    with pytest.raises(ConfigError, match=rf"^{variable}_FILE: .*secret: cannot be read: No such file"):
        load_settings()
    (tmp_path / "secret").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"it is not UTF-8$"):
        load_settings()
    (tmp_path / "secret").write_text(f"{value}\n")
    from_file = load_settings()
    if name == "database":
        assert load_settings({"database": "sqlite:///option.db"}).database == "sqlite:///option.db"
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError, match=rf"^{variable} and {variable}_FILE are both given"):
        load_settings()
    monkeypatch.delenv(f"{variable}_FILE")
    assert load_settings() == from_file


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", f"Basic {KEY}", f"Bearer {KEY}x", f"Bearer {KEY[:-1]}", "Bearer \xff\xfe"]
)
def test_a_key_ring_refuses_all_but_its_keys(header: str | None) -> None:
    ring = KeyRing([SecretStr(KEY), SecretStr(KEY[::-1])])
    with pytest.raises(ProblemError) as refused:
        ring.check(header)
    assert refused.value.status == 401 and refused.value.headers["WWW-Authenticate"].startswith("Bearer ")
    ring.check(f"Bearer {KEY}")
    ring.check(f"bearer {KEY[::-1]}")
    KeyRing([]).check(header)


def test_wrong_calls_end_in_one_line(command: Command, keyword_bundle: Path) -> None:
    assert_one_line(command("serve", "--port", "99999"), "--port")
    assert_one_line(command("serve", "--model", "no-such-model"), "no-such-model")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert_one_line(
            command("serve", "--model", keyword_bundle, "--port", port), f"127.0.0.1:{port}", "cannot listen"
        )


def test_without_the_extra_the_command_names_it(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        name
        for name in sys.modules
        if name.startswith("distriage_serving.") and name != "distriage_serving.commands.serve"
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert_one_line(command("serve"), "pip install 'distriage[serve]'")


def test_neither_the_library_nor_its_command_line_imports_the_web() -> None:
    script = (
        "import sys, pkgutil, importlib, distriage\n"
        "for module in pkgutil.iter_modules(distriage.__path__):\n"
        "    if module.name != '__main__': importlib.import_module(f'distriage.{module.name}')\n"
        "import distriage_serving.commands.serve\n"
        "print(sorted({'fastapi', 'starlette', 'uvicorn', 'prometheus_client', 'pydantic_settings'} & "
        "set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_defaults_pass_the_checks_of_their_own_fields() -> None:
    """Pydantic itself looks only at values that are given."""
    given = {name: field.default for name, field in Settings.model_fields.items() if field.default is not None}
    assert Settings(**given) == Settings()


def test_the_page_of_the_settings_names_each_with_its_default() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(written), "docs/settings.md is old: run `python -m support.settings_page` in tests/"
    assert "GITHUB_API_URL" in written.partition(END)[2]
    assert all(f"`{name.upper()}`" in written.partition(BEGIN)[0] for name in SECRETS)
    of_type = {name for name, field in Settings.model_fields.items() if "SecretStr" in str(field.annotation)}
    assert of_type <= set(SECRETS)


def test_connections_send_at_once_and_do_not_wait_for_receipts() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
