"""Reads `.github/distriage.yml` strictly, merged over the organization's. Pure except for `load_config`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from distriage.base.errors import ConfigError
from distriage.base.texts import decoded
from distriage.model.taxonomy import Taxonomy
from distriage_serving.configuration.lines import Path as ValuePath
from distriage_serving.configuration.lines import YamlLineError, read_yaml
from distriage_serving.configuration.model import CONFIG_PATH, RepositoryConfig, merge
from distriage_serving.configuration.problems import (
    ConfigProblem,
    RepositoryConfigError,
    meaning_problems,
    structure_problems,
)


def parse_config(text: str, file: str, taxonomy: Taxonomy) -> RepositoryConfig:
    """Read and check a configuration; see `parse_document`."""
    return RepositoryConfig.model_validate(parse_document(text, file, taxonomy))


def parse_document(text: str, file: str, taxonomy: Taxonomy) -> dict[str, Any]:
    """Read and check a configuration.

    Args:
        file: Its name in messages.
        taxonomy: Knows the axes and labels that may be named.

    Returns:
        The content as written; `RepositoryConfig.model_validate` reads it.

    Raises:
        RepositoryConfigError: with all problems, each with its line.
    """
    try:
        document = read_yaml(text)
    except YamlLineError as error:
        raise RepositoryConfigError([ConfigProblem(file, error.line, error.message)]) from None
    value: Any = {} if document.value is None else document.value
    problems: list[tuple[ValuePath, str]] = []
    try:
        RepositoryConfig.model_validate(value)
    except ValidationError as error:
        problems += structure_problems(error, value)
    told = {path for path, _ in problems}
    told.add(("suggestions",))  # `off` is one of its values
    doubtful = {path: why for path, why in document.doubtful.items() if path not in told}
    problems += [(path, f"`{'.'.join(map(str, path))}`: {why}") for path, why in doubtful.items()]
    problems += meaning_problems(value, taxonomy)
    if problems:
        raise RepositoryConfigError(ConfigProblem(file, document.line(path), why) for path, why in problems)
    return dict(value)


def load_config(path: Path, taxonomy: Taxonomy) -> RepositoryConfig:
    """Read a configuration file.

    Raises:
        RepositoryConfigError: as for `parse_config`.
        ConfigError: the file cannot be read.
    """
    try:
        return parse_config(decoded(path.read_bytes()), str(path), taxonomy)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid UTF-8 at byte {error.start}") from None


def merge_configs(
    organization: Mapping[str, Any], repository: Mapping[str, Any], taxonomy: Taxonomy
) -> RepositoryConfig:
    """The repository's settings over the organization's: tables key by key, everything else is replaced.

    Args:
        organization: As written, see `parse_document`: once it is read, `false` is a table like any other.

    Raises:
        RepositoryConfigError: each is valid, but together they are not, e.g. a prefix of one and a name of the other
            are too long.
    """
    merged = merge(organization, repository)
    problems = [
        ConfigProblem(f"{CONFIG_PATH} merged over the organization's", 1, message)
        for _, message in meaning_problems(merged, taxonomy)
    ]
    if problems:
        raise RepositoryConfigError(problems)
    return RepositoryConfig.model_validate(merged)


def dump_config(config: RepositoryConfig) -> dict[str, object]:
    """A configuration as JSON values, which `RepositoryConfig.model_validate` reads."""
    return config.model_dump(mode="json", by_alias=True, exclude_unset=True)


def config_digest(config: RepositoryConfig) -> str:
    """Tells whether two configurations set the same."""
    return hashlib.sha256(json.dumps(dump_config(config), sort_keys=True).encode()).hexdigest()[:16]
