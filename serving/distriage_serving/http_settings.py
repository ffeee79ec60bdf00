"""The server's settings that concern HTTP and the model; `settings.py` has the others and reads them all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from distriage.reading.report import MAX_REPORT_BYTES

PREFIX: Final = "DISTRIAGE_"
MIN_KEY_CHARS: Final = 16
MAX_WEBHOOK_BYTES: Final = 25 << 20  # GitHub sends no larger one


class HttpSettings(BaseSettings):
    """The first part of `Settings`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True
    )

    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address to listen on; `0.0.0.0`: all of IPv4, `::`: all of IPv6 and IPv4. Beyond `127.0.0.1`, "
        "set `DISTRIAGE_API_KEYS`.",
    )
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0: any free one.")
    model: str | None = Field(
        default=None,
        min_length=1,
        description="A bundle's folder or a shipped model's name; default: that of `models/DEFAULT`.",
    )
    own: str | None = Field(
        default=None,
        min_length=1,
        description="A folder that `distriage learn` wrote, or one with several such as `OWNER/REPO`; read again when "
        "it changes. If it holds one repository alone, reports whose id names no repository get its labels too.",
    )
    releases: Path | None = Field(
        default=None,
        description="A table that `distriage releases update` wrote, for [signs](signs.md#releases) in the HTTP API. "
        "The App asks GitHub.",
    )
    threads: int | None = Field(
        default=None, ge=1, le=1024, description="Threads of one pass of the model; default: one per core."
    )
    api_keys: Annotated[tuple[SecretStr, ...], NoDecode] = Field(
        default=(),
        description="Keys for `/v1`, of 16 characters or more: callers send `Authorization: Bearer KEY`.",
    )
    max_body_bytes: int = Field(
        default=8 * MAX_REPORT_BYTES,
        ge=1024,
        description=f"Largest body (report: {MAX_REPORT_BYTES >> 20} MiB, webhook: {MAX_WEBHOOK_BYTES >> 20} MiB).",
    )
    max_reports: int = Field(default=64, ge=1, description="Maximum reports of one request.")
    max_explained_reports: int = Field(
        default=4,
        ge=1,
        description="Maximum reports of one request with `explain`, which costs up to 40 passes of the model per "
        "report.",
    )
    max_requests: int = Field(
        default=128,
        ge=1,
        description="Maximum requests of one kind (`/v1`, webhook, queue with login, the rest) at once, and maximum "
        "bodies being received, per kind; more are refused with a 503. `/livez`, `/readyz` and `/metrics` always "
        "answer.",
    )
    max_held_bytes: int = Field(
        default=32 << 20,
        ge=MAX_WEBHOOK_BYTES,
        description="Largest total size of all request bodies held at once; the first 64 KiB of each do not count.",
    )
    max_connections: int = Field(
        default=512,
        ge=8,
        description="Maximum connections, capped at half the file-descriptor limit.",
    )
    head_timeout_s: float = Field(default=10, gt=0, description="Time in which a request's head must arrive.")
    queue_reports: int = Field(
        default=512, ge=1, description="Maximum reports that wait for the model; at least `DISTRIAGE_MAX_REPORTS`."
    )
    queue_explained_reports: int = Field(
        default=16,
        ge=1,
        description="The same for reports with `explain`, which have a queue and a process of their own.",
    )
    processes: int = Field(
        default=1,
        ge=1,
        le=64,
        description="Processes that read reports, each with a model of its own. Reports with `explain` have one more.",
    )
    report_timeout_s: float = Field(
        default=10,
        gt=0,
        description="Computing time for one report; then its process ends and the report is refused.",
    )
    body_timeout_s: float = Field(default=10, gt=0, description="Time in which a request's body must arrive.")
    request_timeout_s: float = Field(default=30, gt=0, description="Time in which the request must then be answered.")
    shutdown_timeout_s: int = Field(default=30, ge=1, description="Time that requests under way have after SIGTERM.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Lowest level that is logged: `debug`, `info`, `warning` or `error`."
    )

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
                    f"key {number} has fewer than {MIN_KEY_CHARS} characters or others than printable ASCII; "
                    "e.g. `openssl rand -hex 32` makes one"
                )
        return keys

    @model_validator(mode="after")
    def _check_queues(self) -> HttpSettings:
        if self.queue_reports < self.max_reports:
            raise ValueError(
                f"{PREFIX}QUEUE_REPORTS is {self.queue_reports}; "
                f"expected at least {PREFIX}MAX_REPORTS, {self.max_reports}"
            )
        if self.queue_explained_reports < self.max_explained_reports:
            raise ValueError(
                f"{PREFIX}QUEUE_EXPLAINED_REPORTS is {self.queue_explained_reports}; "
                f"expected at least {PREFIX}MAX_EXPLAINED_REPORTS, {self.max_explained_reports}"
            )
        return self
