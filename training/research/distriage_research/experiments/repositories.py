"""Repositories left out: does the sparse head know a repository that it never saw?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import track

from distriage.base.errors import CorpusError
from distriage_research.experiments.linear import EVERYTHING, AxisScores, Linear
from distriage_training.config import Config
from distriage_training.corpus.load import load_splits
from distriage_training.corpus.records import repository_of

MIN_REPORTS = 20  # validation reports of a repository that is left out


def leave_out_repositories(
    config: Config, output: Path, console: Console, repositories: Sequence[str] = ()
) -> dict[str, AxisScores]:
    """Each repository's validation reports, by heads fitted with and without that repository's training records.

    Args:
        output: Folder for linear.json.
        repositories: `owner/name`; none: all with `MIN_REPORTS` validation reports.

    Returns:
        `REPOSITORY, with it in training` and `... without ...` -> scores.

    Raises:
        CorpusError: a repository has no validation report, or none has enough.
    """
    taxonomy = config.load_taxonomy()
    splits = load_splits(config, taxonomy, console)
    records = splits.validation
    members: dict[str, list[int]] = {}
    for row, record in enumerate(records):
        members.setdefault(repository_of(record.id), []).append(row)
    wanted = _wanted(config, members, repositories)
    linear = Linear(config, taxonomy, splits, output)
    known = linear.labels(EVERYTHING, splits.train, records)
    result: dict[str, AxisScores] = {}
    for name in track(wanted, "repositories", console=console, transient=True):
        own = [records[row] for row in members[name]]
        others = [record for record in splits.train if repository_of(record.id) != name]
        result[f"{name}, with it in training"] = linear.scores(own, known[members[name]])
        result[f"{name}, without it in training"] = linear.scores(own, linear.labels(f"without {name}", others, own))
    return result


def _wanted(config: Config, members: dict[str, list[int]], repositories: Sequence[str]) -> list[str]:
    wanted = [repository_of(f"{name}#0") for name in repositories]
    largest = sorted(members, key=lambda name: -len(members[name]))
    if unknown := [name for name in wanted if name not in members]:
        raise CorpusError(
            f"{config.path}: no validation report of {', '.join(unknown)}; most are of {', '.join(largest[:5])}"
        )
    wanted = wanted or [name for name in largest if len(members[name]) >= MIN_REPORTS]
    if not wanted:
        raise CorpusError(f"{config.path}: no repository with {MIN_REPORTS} validation reports")
    return wanted
