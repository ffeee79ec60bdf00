"""Make a study: read the source, learn the errors of a model that predicted its labels, write the pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from distriage.base.errors import CorpusError
from distriage.classifier import Classifier
from distriage.model.bundle import Bundle
from distriage.model.shipped import MANIFEST, find_bundle, sha256_of
from distriage.model.taxonomy import Taxonomy, default_taxonomy
from distriage_training.checkout import commit_of, name_in_checkout
from distriage_training.config import Config
from distriage_training.corpus.load import load_splits
from distriage_training.corpus.records import label_numbers
from distriage_training.measure.predict import predict
from distriage_training.study.faults import Source, judged_axes
from distriage_training.study.page import load_pdf_writer, write_study
from distriage_training.study.report import MakeSection, study
from distriage_training.study.sources import (
    classify_reports,
    classify_repository,
    kind_of,
    likeliest,
    read_corpus,
    read_reviews,
    read_verdicts,
)

LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a study.

    Attributes:
        model: The bundle that classifies, whose labels are studied and whose errors are corrected; the default model
            if None.
        config: Names the validation reports for the correction; no correction if None.
        keep: Field of a record of the corpus -> the value that those to study have.
        limit: How many of a repository's newest issues; `LIMIT` if None.
        texts: The local store of raw texts, for the releases stated in corpus reports.
        more: Make further sections.
        pdf: Write the figures as PDF, too.
        command: The words that start the command, as study.json records it.
    """

    model: str | None = None
    config: Config | None = None
    keep: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    texts: Path | None = None
    more: Sequence[MakeSection] = ()
    pdf: bool = False
    command: Sequence[str] = ("distriage", "study", "report")


Read = Callable[[str, Options, Console], tuple[Source, Classifier | None]]


def read_source(source: str, options: Options, console: Console) -> tuple[Source, Classifier | None]:
    """Read a study's material, and the classifier that chose its labels.

    Raises:
        CorpusError: unusable source, or options that do not fit it.
        GitHubError: the repository cannot be read.
    """
    kind = kind_of(source)
    if options.keep and kind != "corpus":
        raise CorpusError(f"{source}: --{next(iter(options.keep))} goes with the corpus, found {kind}")
    if options.config is not None and kind in {"corpus", "reviews"}:
        raise CorpusError(f"{source}: --validation goes with labels that a model chose, found {kind}")
    if options.limit is not None and kind != "repository":
        raise CorpusError(f"{source}: --limit goes with OWNER/REPO, found {kind}")
    if kind == "corpus":
        if options.model is not None:
            raise CorpusError(f"{source}: --model goes with reviews, verdicts or reports, found annotations")
        found = read_corpus(Path(source), default_taxonomy(), options.keep, options.texts)
        return _note_missing(found, console), None
    if kind in {"reviews", "verdicts"} and options.model is None and options.config is None:
        read = read_reviews if kind == "reviews" else read_verdicts
        return read(Path(source), default_taxonomy()), None
    bundle = Bundle(find_bundle(options.model), whole=False)
    taxonomy, name = bundle.taxonomy, bundle.manifest.name
    if not judged_axes(taxonomy):
        raise CorpusError(
            f"{bundle.path}: axes {', '.join(taxonomy.axes)}; expected one that requires a label of another, such as "
            "kind = bug, for a study"
        )
    if kind == "reviews":
        return read_reviews(Path(source), taxonomy), None
    if kind == "verdicts":
        found = read_verdicts(Path(source), taxonomy)
        if name != found.model:
            raise CorpusError(f"{source}: verdicts by {found.model or 'no model'}; expected {name}, or another --model")
        given = {(axis, label) for fault in found.faults for axis, label in fault.labels.items()}
        retired = sorted(label for axis, label in given if label not in taxonomy.axes[axis].label_ids)
        if retired and options.config is not None:
            raise CorpusError(
                f"{source}: {', '.join(retired)}: retired in {name}, whose errors on this are unknown; "
                "expected verdicts without retired labels for --validation"
            )
        return found, Classifier(bundle.path)
    classifier = Classifier(bundle.path)
    if kind == "reports":
        return classify_reports(Path(source), classifier, console), classifier
    return classify_repository(source, classifier, console, options.limit or LIMIT), classifier


def make_study(
    source: str, output: Path, options: Options, console: Console, read: Read = read_source
) -> tuple[Source, Path]:
    """Write a study of a source.

    Returns:
        The material, and the page.

    Raises:
        CorpusError: unusable source, a source without failures, or options that do not fit it.
        MissingExtraError: PDF is wanted, and the library for it is missing.
        GitHubError: the repository cannot be read.
    """
    if options.pdf:
        load_pdf_writer()
    found, classifier = read(source, options, console)
    if not found.bugs:
        raise CorpusError(f"{source}: {len(found.faults):,} reports and no failure among them; nothing to study")
    confusions, rests_on = None, Counter[str]()
    if classifier is not None and options.config is not None:
        confusions, rests_on = errors_on_validation(classifier, options.config, console)
    made = provenance_of(found, source, options, classifier)
    if rests_on:
        made["validation"] = dict(rests_on)
    sections = study(found, found.taxonomy, confusions, options.more, _rests_on(rests_on))
    return found, write_study(found, sections, output, made, pdf=options.pdf)


def _rests_on(reports: Mapping[str, int]) -> str:
    """What the correction's errors were seen on: a model errs otherwise on texts of another origin."""
    if not reports:
        return ""
    said = " and ".join(f"{number:,} {origin}" for origin, number in reports.items())
    return f"The correction rests on {said} validation reports{'' if 'raw' in reports else ', none of them raw'}."


def _note_missing(source: Source, console: Console) -> Source:
    if missing := sum(fault.release is None for fault in source.faults):
        console.print(
            f"note: {missing:,} of {len(source.faults):,} reports have no text here; releases are read from the others "
            "(`python training/research corpus hydrate` brings the texts)"
        )
    return source


def provenance_of(source: Source, place: str, options: Options, classifier: Classifier | None) -> dict[str, Any]:
    """The content of study.json.

    Args:
        place: The argument of the command: a folder, a file, or `owner/repo`.
    """
    path = Path(place)
    config = options.config.path if options.config is not None else None
    near = config if config is not None and not path.exists() else path
    given = {
        **options.keep,
        "model": options.model and _named(options.model),
        "validation": config and _named(str(config)),
        "limit": options.limit and str(options.limit),
    }
    typed = [word for name, value in given.items() if value for word in (f"--{name}", value)]
    return {
        "commit": commit_of(near if near.is_dir() else near.parent) if near.exists() else "unknown",
        "command": [*options.command, _named(place), *typed, *(["--pdf"] if options.pdf else [])],
        "source": source.name,
        "files": {name_in_checkout(file): sha256_of(file) for file in source.files},
        **({"fetched": dict(source.fetched)} if source.fetched else {}),
        "reports": len(source.faults),
        "failures": len(source.bugs),
        "labels": source.origin.value,
        "model": _model(classifier) if classifier is not None else source.model or None,
        "taxonomy": f"{source.taxonomy.name} {source.taxonomy.version}",
    }


def _named(place: str) -> str:
    """What was typed, a path as it is in a clone."""
    return name_in_checkout(Path(place)) if Path(place).exists() else place


def _model(classifier: Classifier) -> dict[str, str]:
    bundle = classifier.bundle
    return {"name": bundle.manifest.name, MANIFEST: sha256_of(bundle.path / MANIFEST)}


def errors_on_validation(
    classifier: Classifier, config: Config, console: Console
) -> tuple[dict[str, NDArray[np.integer]], Counter[str]]:
    """Axis -> validation reports by true and predicted label [labels, labels]; origin of their texts -> reports.

    Raises:
        ConfigError, CorpusError: the validation reports cannot be read.
    """
    taxonomy: Taxonomy = classifier.bundle.taxonomy
    records = load_splits(config, taxonomy, console).measured("validation")
    predictions = [dict(likeliest(prediction)) for prediction in predict(classifier, records, console)]
    truth = np.array([label_numbers(record, taxonomy) for record in records])
    result: dict[str, NDArray[np.integer]] = {}
    for i, axis in enumerate(taxonomy.axes.values()):
        matrix = np.zeros((len(axis.label_ids), len(axis.label_ids)), np.int64)
        for row, labels in zip(truth[:, i], predictions, strict=True):
            if row >= 0:
                matrix[row, axis.label_ids.index(labels[axis.id])] += 1
        result[axis.id] = matrix
    return result, Counter(record.origin for record in records)
