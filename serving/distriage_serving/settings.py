"""Settings of the server: defaults, `DISTRIAGE_*` environment variables, options of the command line, the last one first. Reads the environment only."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from distriage.classifier import BATCH_SIZE, MAX_REPORT_BYTES
from distriage.errors import ConfigError

PREFIX: Final = "DISTRIAGE_"
MIN_KEY_CHARS: Final = 16


class Settings(BaseSettings):
    """All settings; each is `DISTRIAGE_` and its name in capitals in the environment.

    Attributes:
        host, port: Where to listen; port 0: any free one.
        model: A bundle's folder or a shipped model's name; None: the default model.
        threads: Threads of one model pass; None: one per core.
        api_keys: Where given, `/v1` answers only to `Authorization: Bearer KEY` with one of them. In the environment separated by commas or blanks.
        max_body_bytes: Largest request body.
        max_reports: Most reports of one request.
        max_explained_reports: Most reports of one request with `explain`, which costs hundreds of model passes a report.
        max_requests: Most requests at the same time, other than those to /livez, /readyz and /metrics; more are refused at once.
        queue_reports: Most reports that wait for the model.
        queue_explained_reports: The same for those with `explain`; they have a queue and a thread of their own, so that they delay no other.
        batch_reports: Most reports of one model pass; 1: each on its own, so that the figures of an int8 model never depend on its neighbours.
        body_timeout_s: A request's body must arrive within this time.
        request_timeout_s: Then the request must be answered within this time.
        shutdown_timeout_s: After SIGTERM, requests under way have this long to finish.
        log_level: Least level of the log.
        database: Where the bot and the queue keep what they know: `sqlite:///FILE` or `postgresql://USER:PASSWORD@HOST/DATABASE`.
        github_app_id: App ID or client ID of the GitHub App; with its private key and webhook secret, the bot is on.
        github_private_key: In PEM; or `github_private_key_file`, a file with it.
        github_webhook_secret: Deliveries that are not signed with it are refused.
        workers: Threads of the bot in this process; 0: none, `distriage worker` does the work.
        debounce_s: The bot looks at an edited issue once nobody has touched it for so long.
        lease_s: So long after a worker's death another takes over what it had.
        admin_token: Lets whoever knows it into the triage queue, all repositories of it.
        github_client_id, github_client_secret: Of the GitHub App: lets people into the queue who have write access to a repository with the App.
        public_url: Where people reach the server; needed for the login with GitHub. Cookies are marked Secure where it is https.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)

    host: str = Field(default="127.0.0.1", min_length=1)
    port: int = Field(default=8000, ge=0, le=65535)
    model: str | None = Field(default=None, min_length=1)
    threads: int | None = Field(default=None, ge=1, le=1024)
    api_keys: Annotated[tuple[SecretStr, ...], NoDecode] = ()
    max_body_bytes: int = Field(default=8 * MAX_REPORT_BYTES, ge=1024)
    max_reports: int = Field(default=64, ge=1)
    max_explained_reports: int = Field(default=4, ge=1)
    max_requests: int = Field(default=128, ge=1)
    queue_reports: int = Field(default=512, ge=1)
    queue_explained_reports: int = Field(default=16, ge=1)
    batch_reports: int = Field(default=BATCH_SIZE, ge=1)
    body_timeout_s: float = Field(default=10, gt=0)
    request_timeout_s: float = Field(default=30, gt=0)
    shutdown_timeout_s: int = Field(default=30, ge=1)
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    database: str = Field(default="sqlite:///distriage.db", min_length=1)
    github_app_id: Annotated[str | None, BeforeValidator(lambda value: str(value) if isinstance(value, int) else value)] = Field(default=None, min_length=1)
    github_private_key: SecretStr | None = None
    github_private_key_file: Path | None = None
    github_webhook_secret: SecretStr | None = None
    workers: int = Field(default=1, ge=0, le=64)
    debounce_s: float = Field(default=30, ge=0)
    lease_s: float = Field(default=60, gt=0)
    admin_token: SecretStr | None = None
    github_client_id: str | None = Field(default=None, min_length=1)
    github_client_secret: SecretStr | None = None
    public_url: str | None = Field(default=None, pattern=r"^https?://[^\s/?#@]+/?$")

    @field_validator("api_keys", mode="before")
    @classmethod
    def _split_keys(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        keys = [key for key in re.split(r"[,\s]+", value) if key]
        if not keys:  # a secret that failed to arrive must not open the server
            raise ValueError("is empty; expected one or more keys, or no such variable")
        return keys

    @field_validator("api_keys")
    @classmethod
    def _check_keys(cls, keys: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        for number, key in enumerate(keys, 1):
            text = key.get_secret_value()
            if len(text) < MIN_KEY_CHARS or not (text.isascii() and text.isprintable()) or " " in text:
                raise ValueError(
                    f"key {number} has fewer than {MIN_KEY_CHARS} characters or others than printable ASCII; e.g. `openssl rand -hex 32` makes one"
                )
        return keys

    @field_validator("admin_token", "github_client_secret")
    @classmethod
    def _check_secret(cls, secret: SecretStr | None) -> SecretStr | None:
        if secret is not None and len(secret.get_secret_value()) < MIN_KEY_CHARS:
            raise ValueError(f"has fewer than {MIN_KEY_CHARS} characters; e.g. `openssl rand -hex 32` makes a token")
        return secret

    @model_validator(mode="after")
    def _check_github_login(self) -> Settings:
        needed = (self.github_client_id, self.github_client_secret, self.public_url)
        if (self.github_client_id is not None or self.github_client_secret is not None) and None in needed:
            raise ValueError("the login with GitHub needs github_client_id, github_client_secret and public_url, all three")
        return self

    @model_validator(mode="after")
    def _check_queues(self) -> Settings:
        if self.queue_reports < self.max_reports:
            raise ValueError(f"queue_reports is {self.queue_reports}; expected at least max_reports, {self.max_reports}")
        if self.queue_explained_reports < self.max_explained_reports:
            raise ValueError(
                f"queue_explained_reports is {self.queue_explained_reports}; expected at least max_explained_reports, {self.max_explained_reports}"
            )
        return self

    @field_validator("github_webhook_secret")
    @classmethod
    def _check_webhook_secret(cls, secret: SecretStr | None) -> SecretStr | None:
        if secret is not None and len(secret.get_secret_value()) < MIN_KEY_CHARS:
            raise ValueError(f"has fewer than {MIN_KEY_CHARS} characters; e.g. `openssl rand -hex 32` makes one")
        return secret

    @model_validator(mode="after")
    def _check_bot(self) -> Settings:
        keys = [key for key in (self.github_private_key, self.github_private_key_file) if key is not None]
        given = (self.github_app_id is not None, bool(keys), self.github_webhook_secret is not None)
        if any(given) and not all(given):
            raise ValueError("the bot needs github_app_id, github_private_key (or github_private_key_file) and github_webhook_secret, all three")
        if len(keys) > 1:
            raise ValueError("github_private_key and github_private_key_file are both given; expected one of them")
        return self

    @property
    def has_bot(self) -> bool:
        """Whether the GitHub App bot is on."""
        return self.github_app_id is not None

    def read_private_key(self) -> str:
        """The App's private key, PEM.

        Raises:
            ConfigError: the file cannot be read.
        """
        if self.github_private_key is not None:
            return self.github_private_key.get_secret_value().replace("\\n", "\n")  # as it gets through an .env file
        assert self.github_private_key_file is not None
        try:
            return self.github_private_key_file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{PREFIX}GITHUB_PRIVATE_KEY_FILE: {self.github_private_key_file}: cannot be read: {error}") from None

    @property
    def has_queue(self) -> bool:
        """Whether anybody can log in to the triage queue; without, there is none."""
        return self.admin_token is not None or self.github_client_id is not None


def load_settings(options: Mapping[str, Any] | None = None) -> Settings:
    """Read the settings.

    Args:
        options: Setting -> value from the command line; None: not given there.

    Raises:
        ConfigError: an unknown `DISTRIAGE_` variable, or a value that is not valid.
    """
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    unknown = sorted(name for name in os.environ if name.upper().startswith(PREFIX) and name.upper() not in known)
    if unknown:
        raise ConfigError(f"environment: unknown variable {', '.join(unknown)}; known: {', '.join(known)}")
    try:
        return Settings(**{name: value for name, value in (options or {}).items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False, include_url=False)[0]
        place = f"{PREFIX}{str(first['loc'][0]).upper()}" if first["loc"] else "settings"
        if first["loc"] and (options or {}).get(str(first["loc"][0])) is not None:
            place = f"--{first['loc'][0]}"
        raise ConfigError(f"{place}: {first['msg'].removeprefix('Value error, ')}") from None
