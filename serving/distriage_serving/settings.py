"""Settings of the server, from defaults, `DISTRIAGE_*` variables and options; the later wins. Reads the environment."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import NoDecode

from distriage.base.errors import ConfigError
from distriage.base.texts import decoded
from distriage.second_reader import AXES
from distriage_serving.administrators import read_entries
from distriage_serving.http_settings import MIN_KEY_CHARS, PREFIX, HttpSettings

# Others compare these with their own copy, so a stray character would go unnoticed.
LITERAL: Final = (
    *("admin_token", "github_app_id", "github_client_id", "github_client_secret", "github_webhook_secret"),
    *("second_reader_key", "second_reader_model"),
)
# Each may stand in a file, as orchestrators hand secrets over; DISTRIAGE_ADMIN_TOKEN_FILE, say, names it.
SECRETS: Final = (
    *("admin_token", "admins", "api_keys", "database", "github_client_secret", "github_private_key"),
    *("github_webhook_secret", "second_reader_key"),
)
_NUMBERS: Final = {"integer": "a whole number", "number": "a number"}


class Settings(HttpSettings):
    """All settings; in the environment each is `DISTRIAGE_` and its name in capitals. docs/settings.md lists them."""

    database: str = Field(
        default="sqlite:///distriage.db",
        min_length=1,
        description="Database of bot, queue and past issues: `sqlite:///FILE` or `postgresql://USER:PASSWORD@HOST/DATABASE`.",
    )
    replicas: int = Field(
        default=1,
        ge=1,
        description="Processes on several machines that share the database; more than one refuses SQLite.",
    )
    github_app_id: Annotated[
        str | None, BeforeValidator(lambda value: str(value) if isinstance(value, int) else value)
    ] = Field(
        default=None,
        min_length=1,
        description="App ID or client ID of the GitHub App. With its private key and webhook secret the bot is on.",
    )
    github_private_key: SecretStr | None = Field(default=None, description="The App's private key in PEM.")
    github_webhook_secret: SecretStr | None = Field(
        default=None,
        description="Secret of the App's webhook, 16 characters or more; deliveries not signed with it are refused.",
    )
    workers: int = Field(
        default=1, ge=0, le=64, description="Threads of the bot in this process; 0: `distriage worker` does the work."
    )
    metrics_port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="Port on which `distriage worker` answers `/livez` and `/metrics`; default: none.",
    )
    debounce_s: float = Field(
        default=30, ge=0, description="The bot looks at an edited issue this long after its last edit."
    )
    lease_s: float = Field(
        default=60, gt=0, description="Time after which another worker takes over a dead worker's jobs."
    )
    past: Path | None = Field(
        default=None,
        description="A folder with an index of each repository's [past issues](past-issues.md), `owner--name.npz` in "
        "lower case; used where the database has none from `backfill --past`.",
    )
    admin_token: SecretStr | None = Field(
        default=None,
        description="Login to the triage queue, all repositories, as the administrator `default`; 16 characters or "
        "more.",
    )
    admins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="More administrators of the queue: `NAME:SALT:HASH` each, as `distriage admins new NAME` makes "
        "them.",
    )
    github_client_id: str | None = Field(
        default=None,
        min_length=1,
        description="Client ID of the GitHub App. With its client secret and the public URL, people who may label a "
        "repository's issues (role triage and up) can log in to the queue.",
    )
    github_client_secret: SecretStr | None = Field(default=None, description="Client secret of the GitHub App.")
    public_url: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s/?#@]+/?$",
        description="Where people reach the server, such as `https://triage.example.org`. With https, cookies are "
        "marked Secure, whatever the proxy in front says.",
    )

    second_reader: str | None = Field(
        default=None,
        min_length=1,
        description="Base URL of an OpenAI-compatible endpoint that the bot asks about issues in doubt; see [A second "
        "reader](second-reader.md).",
    )
    second_reader_model: str = Field(default="", description="The model's name at that endpoint.")
    second_reader_key: SecretStr | None = Field(default=None, description="Key of that endpoint, if it wants one.")
    second_reader_timeout_s: float = Field(
        default=30, gt=0, le=600, description="Time in which that endpoint must answer."
    )
    second_reader_requests_per_day: int | None = Field(
        default=None, ge=0, description="Maximum requests to it in a day (UTC), over all processes; default: no limit."
    )
    second_reader_tokens_per_day: int | None = Field(default=None, ge=0, description="The same for tokens.")
    second_reader_axes: Annotated[tuple[str, ...], NoDecode] = Field(
        default=AXES,
        description="The axes that it may be asked about.",
    )
    second_reader_calibration: Path | None = Field(
        default=None,
        description="Written by `distriage second-reader calibrate`; without it, its labels are suggestions.",
    )

    @field_validator("second_reader_axes", "admins", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check_reader(self) -> Settings:
        if self.second_reader is not None and not self.second_reader_model:
            raise ValueError(
                "DISTRIAGE_SECOND_READER needs DISTRIAGE_SECOND_READER_MODEL, the model's name at that endpoint"
            )
        return self

    @field_validator("admins")
    @classmethod
    def _check_admins(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        read_entries(entries)
        return entries

    @field_validator(*LITERAL)
    @classmethod
    def _check_literal(cls, value: str | SecretStr | None) -> str | SecretStr | None:
        text = value.get_secret_value() if isinstance(value, SecretStr) else value or ""
        if text != text.strip() or not text.isprintable():
            raise ValueError("has a line feed or a blank at an end, or a control character; expected the value alone")
        if text[:1] in {"'", '"'} and text[:1] == text[-1:]:
            raise ValueError("has quotes around it, which Docker's --env-file keeps; expected the value alone")
        return value

    @field_validator("admin_token", "github_client_secret", "github_webhook_secret")
    @classmethod
    def _check_secret(cls, secret: SecretStr | None) -> SecretStr | None:
        if secret is not None and len(secret.get_secret_value()) < MIN_KEY_CHARS:
            raise ValueError(f"has fewer than {MIN_KEY_CHARS} characters; e.g. `openssl rand -hex 32` makes one")
        return secret

    @model_validator(mode="after")
    def _check_github_login(self) -> Settings:
        needed = (self.github_client_id, self.github_client_secret, self.public_url)
        if (self.github_client_id is not None or self.github_client_secret is not None) and None in needed:
            raise ValueError(
                "the login with GitHub needs DISTRIAGE_GITHUB_CLIENT_ID, DISTRIAGE_GITHUB_CLIENT_SECRET and "
                "DISTRIAGE_PUBLIC_URL, all three"
            )
        return self

    @model_validator(mode="after")
    def _check_replicas(self) -> Settings:
        if self.replicas > 1 and self.database.startswith("sqlite"):
            raise ValueError(
                f"DISTRIAGE_REPLICAS is {self.replicas}, but each replica would have an SQLite database of its own; "
                "expected DISTRIAGE_DATABASE=postgresql://..."
            )
        return self

    @model_validator(mode="after")
    def _check_bot(self) -> Settings:
        given = [each is not None for each in (self.github_app_id, self.github_private_key, self.github_webhook_secret)]
        if any(given) and not all(given):
            raise ValueError(
                "the bot needs DISTRIAGE_GITHUB_APP_ID, DISTRIAGE_GITHUB_PRIVATE_KEY (or _FILE) and "
                "DISTRIAGE_GITHUB_WEBHOOK_SECRET (or _FILE), all three"
            )
        return self

    @property
    def has_bot(self) -> bool:
        """Whether the GitHub App bot is on."""
        return self.github_app_id is not None

    @property
    def has_queue(self) -> bool:
        """Whether there is a triage queue, that is, any way to log in."""
        return self.has_administrators or self.github_client_id is not None

    @property
    def has_store(self) -> bool:
        """Whether the server opens the database: for bot or queue, or for past issues that its callers ask about."""
        return self.has_bot or self.has_queue or (bool(self.api_keys) and "database" in self.model_fields_set)

    @property
    def has_administrators(self) -> bool:
        """Whether a token can log in."""
        return self.admin_token is not None or bool(self.admins)


def load_settings(options: Mapping[str, Any] | None = None) -> Settings:
    """Read the settings.

    Args:
        options: Setting -> value from the command line; None if not given there.

    Raises:
        ConfigError: an unknown `DISTRIAGE_` variable, a value that is not valid, or a file that cannot be read.
    """
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    known += [f"{PREFIX}{name.upper()}_FILE" for name in SECRETS]
    unknown = sorted(name for name in os.environ if name.upper().startswith(PREFIX) and name.upper() not in known)
    if unknown:
        names = [name.removeprefix(PREFIX) for name in known]
        near = difflib.get_close_matches(unknown[0].upper().removeprefix(PREFIX), names, n=1)
        hint = f"did you mean {PREFIX}{near[0]}?" if near else "docs/settings.md lists all"
        raise ConfigError(f"environment: unknown variable {unknown[0]}; {hint}")
    given = {name: value for name, value in (options or {}).items() if value is not None}
    try:
        return Settings(**{**_from_files(), **given})
    except ValidationError as error:
        raise ConfigError(_fault(error, options or {})) from None


def _from_files() -> dict[str, str]:
    """The secrets that the environment names a file for."""
    environment = {name.upper(): value for name, value in os.environ.items()}
    found = {}
    for name in SECRETS:
        variable = PREFIX + name.upper()
        file = environment.get(f"{variable}_FILE")
        if file is None:
            continue
        if variable in environment:
            raise ConfigError(f"{variable} and {variable}_FILE are both given; expected one of them")
        try:
            found[name] = decoded(Path(file).read_bytes()).strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise ConfigError(f"{variable}_FILE: {file}: cannot be read: {why}") from None
    return found


def _fault(error: ValidationError, options: Mapping[str, Any]) -> str:
    """The first fault: its place, the value unless it may be a secret, and what was expected."""
    first = error.errors(include_context=False, include_url=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:
        return f"settings: {message}"
    name, value = str(first["loc"][0]), str(first["input"])
    place = f"--{name}" if options.get(name) is not None else f"{PREFIX}{name.upper()}"
    if first["type"] == "value_error":  # a message of ours
        return f"{place}: {message}"
    may_tell = "SecretStr" not in str(Settings.model_fields[name].annotation) and "@" not in value  # a URL's password
    return f"{place}{f' is {value!r:.60}' if may_tell else ''}: expected {_expected(name)}"


def _expected(name: str) -> str:
    """The values that a setting may have."""
    if name == "public_url":
        return "a URL without a path, such as https://triage.example.org"
    shape = Settings.model_json_schema()["properties"][name]
    shape = shape.get("anyOf", [shape])[0]  # an optional one's second is null
    if "enum" in shape:
        return f"{', '.join(shape['enum'][:-1])} or {shape['enum'][-1]}"
    if shape["type"] not in _NUMBERS:
        return "some text"
    above, least, most = (shape.get(key) for key in ("exclusiveMinimum", "minimum", "maximum"))
    low = f"above {above}" if above is not None else f"of at least {least}"
    return f"{_NUMBERS[shape['type']]} {low}{f' and at most {most}' if most is not None else ''}"
