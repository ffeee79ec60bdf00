"""A record -> its line of the answer: one function for this process, workers and clusters, so that all give the
same.
"""

from __future__ import annotations

from dataclasses import dataclass

from distriage.classifier import Classifier
from distriage.records import BadRecord, RawRecord, parse_record
from distriage.types import IssueReport, Mode
from distriage.verdict import FailedRecord

Item = RawRecord | IssueReport | BadRecord


@dataclass(frozen=True, slots=True)
class Settings:
    """What every answer of a run depends on.

    Attributes:
        model: A bundle's folder or name; None: the default model.
        own: A folder with a repository's own labels.
    """

    model: str | None
    mode: Mode
    explain: bool = False
    similar: bool = False
    own: str | None = None


class Answers:
    """A classifier with settings; one thread, since others work beside it."""

    def __init__(self, settings: Settings) -> None:
        """Load the model.

        Raises:
            BundleError: it does not load.
        """
        self._classifier = Classifier(settings.model, threads=1, own=settings.own)
        self._settings = settings

    def line(self, item: Item) -> str:
        """One JSON document, without a line feed."""
        found = parse_record(item) if isinstance(item, RawRecord) else item
        if isinstance(found, BadRecord):
            return FailedRecord(id=found.id, error=found.error).model_dump_json()
        settings = self._settings
        verdict = self._classifier.classify(found, settings.mode, explain=settings.explain, similar=settings.similar)
        return verdict.model_dump_json()
