"""Records -> lines of the answer: one function for this process, workers and clusters, so that all agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from distriage.answer.verdict import FailedRecord
from distriage.base.texts import one_line
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.engine import Settings
from distriage.model.bundle import Bundle
from distriage.model.shipped import MANIFEST, find_bundle, sha256_of
from distriage.own.labels import MANIFEST as OWN_MANIFEST
from distriage.own.labels import OwnLabels
from distriage.reports.records import BadRecord, RawRecord, parse_record
from distriage.signs.table import read_table

Item = RawRecord | IssueReport | BadRecord
CHUNK = 8  # items that are answered together: about a fifth of a second


def parsed(item: Item) -> IssueReport | BadRecord:
    """The report of a record; other items unchanged."""
    return parse_record(item) if isinstance(item, RawRecord) else item


def id_of(item: Item) -> str:
    """The id as the answer to an item holds it."""
    return parsed(item).id.encode("utf-8", "replace").decode()


def title_of(item: Item) -> str | None:
    """The title as the answer to an item holds it; None for a record that cannot be read."""
    read = parsed(item)
    return one_line(read.title).encode("utf-8", "replace").decode() if isinstance(read, IssueReport) else None


def checked(settings: Settings) -> tuple[Settings, Bundle]:
    """Settings that hold in any working directory, and their bundle; before anything is written or started.

    Raises:
        BundleError: the bundle or the own labels are missing or damaged.
        InputError: the table of releases is.
    """
    bundle, model, own = Bundle(find_bundle(settings.model)), settings.model, settings.own
    if model is not None and Path(model).is_dir():  # a shipped model keeps its name: each node has it elsewhere
        model = str(Path(model).resolve())
    if own is not None:
        OwnLabels(Path(own), bundle)
        own = str(Path(own).resolve())
    releases = settings.releases
    if releases is not None:
        read_table(releases)
        releases = releases.resolve()
    return replace(settings, model=model, own=own, releases=releases), bundle


def run_options(settings: Settings, bundle: Bundle) -> dict[str, Any]:
    """The options of a run, as JSON; files by their content, not their place."""
    own = None if settings.own is None else sha256_of(Path(settings.own) / OWN_MANIFEST)
    releases = None if settings.releases is None else sha256_of(settings.releases)
    model, content = bundle.manifest.name, sha256_of(bundle.path / MANIFEST)
    return {**asdict(settings), "model": model, "model_sha256": content, "own": own, "releases": releases}


class Answers:
    """A classifier with settings; one thread, as other processes work too."""

    def __init__(self, settings: Settings) -> None:
        """Load the model.

        Raises:
            BundleError: it does not load.
        """
        self._classifier = Classifier(settings.model, threads=1, own=settings.own)
        if settings.releases is not None:
            self._classifier.releases = read_table(settings.releases).releases
        self._settings = settings

    def lines(self, items: Sequence[Item]) -> list[str]:
        """A JSON document each, without a line feed."""
        records = list(map(parsed, items))
        reports = [record for record in records if not isinstance(record, BadRecord)]
        settings = self._settings
        findings = iter(self._classifier.examine_all(reports, explain=settings.explain, similar=settings.similar))
        return [
            (
                FailedRecord(id=record.id, error=record.error)
                if isinstance(record, BadRecord)
                else next(findings).verdict(settings.mode)
            ).model_dump_json()
            for record in records
        ]
