"""A run's records by split, from any source."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from distriage.base.errors import ConfigError, CorpusError
from distriage.base.terminal import counted
from distriage.model.taxonomy import Taxonomy
from distriage_training.config import Config
from distriage_training.corpus.readings import join_readings
from distriage_training.corpus.records import FEEDBACK, Annotation, Record, valid_annotations
from distriage_training.corpus.tables import read_tables
from distriage_training.corpus.texts import own_texts, read_texts


@dataclass(frozen=True, slots=True)
class Splits:
    """A run's records.

    Attributes:
        train: With people's reviews in this split, and a second reader's labels.
        validation, test: Annotated reports only.
        feedback: People's reviews in validation. Their authors saw a model's answer, so they neither calibrate nor
            choose, and are measured separately.
        without_text: Split -> annotated reports without a text here.
        with_text: Split -> those with one, also where `data.limit` uses fewer.
    """

    train: list[Record]
    validation: list[Record]
    test: list[Record]
    feedback: list[Record]
    without_text: Mapping[str, int] = field(default_factory=dict)
    with_text: Mapping[str, int] = field(default_factory=dict)

    def measured(self, split: str) -> list[Record]:
        """The annotated reports of `validation` or `test`.

        Raises:
            CorpusError: none has a text here.
        """
        records = self.test if split == "test" else self.validation
        if not records:
            raise CorpusError(f"split {split}: no record with a text")
        return records

    def counts(self) -> dict[str, int]:
        """Split -> number of records, reviews included."""
        return {
            "train": len(self.train),
            "validation": len(self.validation) + len(self.feedback),
            "test": len(self.test),
        }

    def trained_sha256(self) -> str:
        """`data_sha256` of all data that a run learns from or chooses by."""
        return data_sha256([*self.train, *self.validation, *self.feedback])


PUBLIC = frozenset({"raw", "restated"})  # origins


def load_splits(config: Config, taxonomy: Taxonomy, console: Console | None = None) -> Splits:
    """Read the run's records.

    Args:
        console: Where to say that texts are missing.

    Raises:
        ConfigError, CorpusError: the data is missing or not valid.
    """
    data = config.data
    _check_weights(config, taxonomy)
    missing: Counter[str] = Counter()
    if data.format == "csv":
        records, leaked = read_tables(config, data, taxonomy)
        if leaked and console is not None:
            console.print(f"note: {counted(leaked, 'row')} of {data.train} left out of training: also in {data.test}")
    else:
        records, without = load_records(data.corpus, data.texts, taxonomy)
        missing.update(annotation.split for annotation in without)
        records = join_readings(records, data.corpus / "readings.jsonl", data.readers, taxonomy)
    if missing and console is not None:
        console.print(
            f"note: {missing.total():,} of {missing.total() + len(records):,} annotated reports have no text here and "
            "are left out (`python training/research corpus import FOLDER` or `hydrate` brings them)"
        )
    by_split: dict[str, list[Record]] = {"train": [], "validation": [], "test": [], "feedback": []}
    for record in records:
        reviewed = record.origin == FEEDBACK and record.split != "train"
        by_split["feedback" if reviewed else record.split].append(record)
    for name in ("train", "validation"):
        if not by_split[name]:
            raise CorpusError(f"{config.path}: no record with a text in split {name}")
    with_text = {name: len(found) for name, found in by_split.items()}
    if data.limit is not None:
        for name in ("train", "validation", "test"):
            by_split[name] = draw(by_split[name], data.limit, taxonomy, config.seed)
    splits = Splits(**by_split, without_text=missing, with_text=with_text)
    _check_axes(config, splits, taxonomy)
    return splits


def in_domain(records: Sequence[Record], config: Config) -> list[Record]:
    """Records of the groups that the model serves; see `DomainConfig.groups`."""
    groups = set(config.domain.groups)
    return [record for record in records if not groups or record.group in groups]


def validation_in_domain(splits: Splits, config: Config, taxonomy: Taxonomy) -> list[Record]:
    """The validation reports that are `in_domain`: those that calibrate.

    Raises:
        ConfigError: none of them has a label on an axis.
    """
    records = in_domain(splits.validation, config)
    for axis in taxonomy.axes:
        if not any(axis in record.labels for record in records):
            raise ConfigError(
                f"{config.path}: domain.groups: {', '.join(config.domain.groups) or 'all'}: no validation report of "
                f"theirs has a label on axis {axis}; expected one or more"
            )
    return records


def _check_weights(config: Config, taxonomy: Taxonomy) -> None:
    weights = {f"label_weights.{source}": weights for source, weights in config.training.label_weights.items()}
    for key, by_axis in {**weights, "unsure_weights": config.training.unsure_weights}.items():
        if unknown := by_axis.keys() - taxonomy.axes.keys():
            raise ConfigError(
                f"{config.path}: training.{key}: unknown axis {', '.join(sorted(unknown))}; "
                f"known: {', '.join(taxonomy.axes)}"
            )


def _check_axes(config: Config, splits: Splits, taxonomy: Taxonomy) -> None:
    for axis in taxonomy.axes:
        found = {record.labels[axis] for record in splits.train if axis in record.labels}
        if len(found) < 2 or not any(axis in record.labels for record in splits.validation):
            names = ", ".join(sorted(found)) or "none"
            raise CorpusError(
                f"{config.path}: axis {axis}: labels in split train: {names}; "
                f"expected two or more, and one in validation (records in train: {len(splits.train):,}, in "
                f"validation: {len(splits.validation):,})"
            )


def load_records(corpus: Path, texts: Path, taxonomy: Taxonomy) -> tuple[list[Record], list[Annotation]]:
    """Join annotations with texts.

    Args:
        corpus: Folder with annotations.jsonl and our own texts.
        texts: The local text store; may be missing.

    Returns:
        Records with a text, and annotations without one.

    Raises:
        CorpusError: invalid annotations; names the first problem and their number.
    """
    annotations = valid_annotations(corpus / "annotations.jsonl", taxonomy)
    store = read_texts([texts, *own_texts(corpus)])
    records, missing = [], []
    for annotation in annotations:
        if annotation.id not in store:
            missing.append(annotation)
            continue
        title, body = store[annotation.id]
        labels = {axis: label for axis in taxonomy.axes if (label := annotation.label(axis)) is not None}
        records.append(
            Record(
                id=annotation.id,
                title=title,
                body=body,
                labels=labels,
                split=annotation.split,
                source=annotation.source,
                origin=annotation.origin,
                group=annotation.framework,
                url=annotation.url,
                note=annotation.note,
                sure=annotation.confidence != "low",
            )
        )
    return records, missing


def draw(records: Sequence[Record], limit: int, taxonomy: Taxonomy, seed: int) -> list[Record]:
    """At random, but with two labels of every axis if it has two, without which it cannot be learned."""
    order = random.Random(seed).sample(records, len(records))
    first: dict[tuple[str, str], Record] = {}
    for axis in taxonomy.axes:
        found: dict[str, Record] = {}
        for record in order:
            if axis in record.labels:
                found.setdefault(record.labels[axis], record)
            if len(found) == 2:
                break
        first |= {(axis, label): record for label, record in found.items()}
    needed = {record.id for record in first.values()}
    return sorted(order, key=lambda record: record.id not in needed)[:limit]


def data_sha256(records: Sequence[Record]) -> str:
    """A hash of the training data: ids, texts, splits, notes, and labels, sources and doubts of all readings."""
    digest = hashlib.sha256()
    for record in sorted(records, key=lambda r: r.id):
        row = [
            record.id,
            record.title,
            record.body,
            record.split,
            record.note,
            *(
                [dict(one.labels), one.source, one.sure, dict(one.odds), dict(one.alternatives)]
                for one in record.readings
            ),
        ]
        digest.update(json.dumps(row, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace"))
    return digest.hexdigest()


def known_issues(records: Sequence[Record], taxonomy: Taxonomy) -> list[Record]:
    """The training records worth showing: threads with a label on every axis, hence bugs.

    They are public, but for a table of one's own with addresses. Excludes origin generated, without a thread, and
    feedback and second-reader, whose threads may be private.
    """
    shown = [record for record in records if record.split == "train" and record.origin in PUBLIC and record.url]
    return [record for record in shown if record.labels.keys() == taxonomy.axes.keys()]
