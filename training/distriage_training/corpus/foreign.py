"""Reports of other software, for the domain gate. Texts as filed are never committed; the corpus has restated ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from distriage.base.errors import ConfigError
from distriage_training.config import Config
from distriage_training.corpus.jsonl import read_jsonl
from distriage_training.corpus.records import Record
from distriage_training.corpus.tables import read_csv


def missing_foreign(config: Config) -> ConfigError | None:
    """The error that `read_foreign` would raise for missing files, known before hours of work."""
    files = [("reports", path) for path in config.domain.reports]
    for key, path in (*files, *(("restated", path) for path in config.domain.restated)):
        if not path.is_file():
            return ConfigError(
                f"{config.path}: domain.{key}: {path}: no such file; expected reports of other software, or "
                "`distriage export --no-gate` for a model without a domain gate (docs/training.md)"
            )
    return None


def read_foreign(config: Config) -> list[Record]:
    """The reports that `domain` of the configuration names; `group` is the repository, in lower case.

    Raises:
        ConfigError: the configuration names no reports, a repository without reports, or fewer than two repositories.
        CorpusError: a file is missing or not a table of reports.
    """
    settings = config.domain
    if not settings.reports:
        raise ConfigError(f"{config.path}: domain.reports: expected files with reports of other software")
    wanted = {repository.lower() for repository in settings.repositories}
    records = [
        Record(f"{repository}#{place}", title, body, {}, "train", "foreign", "raw", repository)
        for path in settings.reports
        for place, repository, title, body in _rows(path)
        if repository in wanted
    ]
    if missing := wanted - {record.group for record in records}:
        raise ConfigError(f"{config.path}: domain.repositories: no report of {', '.join(sorted(missing))}")
    records += [
        Record(f"{repository}#{number}", title, body, {}, "train", "foreign", "restated", repository)
        for path in settings.restated
        for number, repository, title, body in _rows(path)
    ]
    if len({record.group for record in records}) < 2:  # the reports of each are read by regressions that did not see it
        raise ConfigError(
            f"{config.path}: domain.repositories: {', '.join(sorted(wanted)) or 'none'}; expected two or more"
        )
    return records


def _rows(path: Path) -> Iterator[tuple[str, str, str, str]]:
    if ".jsonl" in path.suffixes:
        for _, report in read_jsonl(path):
            repository, _, number = str(report.get("id", "")).lower().partition("#")
            yield number, repository, str(report.get("title") or ""), str(report.get("body") or "")
        return
    for place, row in enumerate(read_csv(path, ["repo", "title", "body"]), 1):
        yield f"{path.name}:{place}", row["repo"].lower(), row["title"], row["body"]
