"""Settings of the server: defaults, `DISTRIAGE_*` environment variables, options of the command line, the last one first. Reads the environment only."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
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

    @model_validator(mode="after")
    def _check_queues(self) -> Settings:
        if self.queue_reports < self.max_reports:
            raise ValueError(f"queue_reports is {self.queue_reports}; expected at least max_reports, {self.max_reports}")
        if self.queue_explained_reports < self.max_explained_reports:
            raise ValueError(
                f"queue_explained_reports is {self.queue_explained_reports}; expected at least max_explained_reports, {self.max_explained_reports}"
            )
        return self


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
