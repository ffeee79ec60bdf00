"""Where the labels of a study come from: the corpus, reviews, verdicts, or a tracker that is classified now."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np
from pydantic import ValidationError
from rich.console import Console
from rich.progress import track

from distriage.answer.verdict import Verdict
from distriage.base.errors import CorpusError, TaxonomyError
from distriage.base.times import epoch_s
from distriage.base.types import Prediction
from distriage.base.validation import first_fault
from distriage.classifier import Classifier
from distriage.facts.environment import find_versions
from distriage.github.address import token_of_environment
from distriage.github.client import Client
from distriage.github.listed import list_issues, reactions
from distriage.model.taxonomy import Taxonomy
from distriage.past.clusters import Cluster, clusters
from distriage.past.issue import PastIssue
from distriage.past.signature import signature_of
from distriage.past.words import unit
from distriage.recipe.text import model_input
from distriage.segments import split
from distriage_training.corpus.jsonl import read_jsonl
from distriage_training.corpus.records import Annotation, valid_annotations
from distriage_training.corpus.reviews import labels_of
from distriage_training.corpus.reviews import read_reviews as read_threads
from distriage_training.corpus.texts import own_texts, read_texts
from distriage_training.study.faults import Fault, Origin, Source, framework_of, release_of

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_EXPECTED = "expected the corpus' folder, a .jsonl file of annotations, reviews, verdicts or reports, or owner/repo"
Kind = Literal["corpus", "repository", "reviews", "verdicts", "reports"]


def kind_of(source: str) -> Kind:
    """The kind of a source, by its name and first line.

    Raises:
        CorpusError: unusable source.
    """
    path = Path(source)
    if path.is_dir():
        return "corpus"
    if not path.is_file():
        if _REPOSITORY.fullmatch(source) and not source.endswith(".jsonl"):
            return "repository"
        raise CorpusError(f"{source}: no such file or folder; {_EXPECTED}")
    first = next((row for _, row in read_jsonl(path)), {})
    for key, kind in _KEYS.items():
        if key in first:
            return kind
    found = ", ".join(list(first)[:8]) or "nothing"
    raise CorpusError(f"{source}: a line has {found[:200]}; {_EXPECTED}")


STUDIED: Final = ("raw", "restated")  # origins
_WHY_NOT: Final = {"generated": "; generated reports have no thread, and we chose their labels"}
_KEYS: Mapping[str, Kind] = {
    "origin": "corpus",
    "who": "reviews",
    "axes": "verdicts",
    "error": "verdicts",
    "title": "reports",
}


def read_corpus(path: Path, taxonomy: Taxonomy, keep: Mapping[str, str], texts: Path | None = None) -> Source:
    """The annotated corpus; generated reports, reviews and a second reader's labels are left out.

    Args:
        path: Its folder, or the annotations themselves.
        keep: Field -> the value that a record must have: split, origin, confidence.
        texts: The local store of raw texts; releases are read from it and from the texts beside the annotations.

    Raises:
        CorpusError: the annotations are not valid, or no record may have such a value.
    """
    for name, value in keep.items():
        known = STUDIED if name == "origin" else get_args(Annotation.model_fields[name].annotation)
        if value not in known:
            raise CorpusError(f"--{name}: {value!r}; expected {', '.join(known)}{_WHY_NOT.get(value, '')}")
    file = path / "annotations.jsonl" if path.is_dir() else path
    annotations = valid_annotations(file, taxonomy)
    stores = [*own_texts(file.parent), *([texts] if texts is not None else [])]
    written = read_texts(stores)
    faults = [
        Fault(
            annotation.id,
            annotation.framework,
            (annotation.created or "")[:10],
            {axis: label for axis in taxonomy.axes if (label := annotation.label(axis)) is not None},
            release_of(annotation.framework, find_versions(*written[annotation.id], annotation.id))
            if annotation.id in written
            else None,
            annotation.origin,
            annotation.confidence,
        )
        for annotation in annotations
        if annotation.origin in STUDIED and all(getattr(annotation, name) == value for name, value in keep.items())
    ]
    description = (
        "Threads that language models annotated with the guide. Raw ones were chosen by words of distributed "
        "computing, "
        "restated ones were sought label by label, rare labels on purpose: frequencies describe this corpus, no "
        "tracker."
    )
    files = [store for store in (file, *stores) if store.is_file()]
    return Source("the annotated corpus", Origin.ANNOTATED, faults, description, files=files, taxonomy=taxonomy)


def read_reviews(path: Path, taxonomy: Taxonomy) -> Source:
    """Reviews given in the queue, by command or by label, as `distriage reviews export` writes them.

    Raises:
        CorpusError: a line is not a review, or its axis or label is not of the taxonomy.
    """
    try:
        threads = read_threads(path, taxonomy, retired=True)
    except TaxonomyError as error:
        raise CorpusError(f"{error}; reviews of another model's verdicts need its --model") from None
    faults = [
        Fault(
            thread[-1].id,
            framework_of(thread[-1].id),
            thread[-1].created.strftime("%Y-%m-%d") if thread[-1].created else "",
            labels,
        )
        for thread in threads
        if (labels := labels_of(thread, taxonomy))
    ]
    description = (
        "Issues that maintainers reviewed with the model's answer in view. They chose which issues to review, and "
        "agreement with the model is overstated."
    )
    return Source(path.name, Origin.REVIEWED, faults, description, files=[path], taxonomy=taxonomy)


def read_verdicts(path: Path, taxonomy: Taxonomy) -> Source:
    """Verdicts of `distriage classify` on a .jsonl file; failed records are left out.

    Raises:
        CorpusError: a line is no verdict, or its axis or label is not of the taxonomy.
    """
    faults, model = [], ""
    for number, row in read_jsonl(path):
        if "error" in row:
            continue
        try:
            verdict = Verdict.model_validate(row)
        except ValidationError as error:
            raise CorpusError(f"{path}:{number}: {first_fault(error, Verdict, show_value=False)}") from None
        labels = {axis: found.label for axis, found in verdict.axes.items()}
        try:
            for axis, label in labels.items():
                taxonomy.axis(axis).label(label)
        except TaxonomyError as error:
            raise CorpusError(f"{path}:{number}: {error}; a verdict by {verdict.model} needs its --model") from None
        framework = framework_of(verdict.id)
        release = release_of(framework, verdict.environment)
        faults.append(Fault(verdict.id, framework, "", taxonomy.applicable(labels), release))
        model = verdict.model
    return _predicted(path.name, faults, (), model, taxonomy, [path])


def classify_reports(path: Path, classifier: Classifier, console: Console) -> Source:
    """Classify a .jsonl file of reports (id, title, body, perhaps created).

    Raises:
        CorpusError: a line has no title, or a label, which the model would replace.
    """
    rows, taxonomy = [], classifier.bundle.taxonomy
    for number, row in read_jsonl(path):
        if not isinstance(row.get("title"), str):
            raise CorpusError(f"{path}:{number}: title: expected a string")
        for axis in taxonomy.axes.values():
            if row.get(axis.id) in axis.label_ids:
                raise CorpusError(
                    f"{path}:{number}: {axis.id}: {row[axis.id]} is a label; expected reports without labels, since "
                    "the model gives them (people's labels are studied as annotations or reviews)"
                )
        rows.append({**row, "id": str(row.get("id") or f"{path.name}:{number}")})
    name = classifier.bundle.manifest.name
    return _predicted(path.name, *_classify(rows, classifier, console), name, taxonomy, [path])


def classify_repository(repository: str, classifier: Classifier, console: Console, limit: int) -> Source:
    """Fetch the newest issues of a repository and classify them.

    Raises:
        GitHubError: unknown repository, no network, or access refused.
    """
    client = Client(token_of_environment())
    issues = islice(list_issues(client, repository, state="all", sort="created", direction="desc"), limit)
    rows = [
        {
            "id": f"{repository}#{issue.number}",
            "title": issue.title,
            "body": issue.body,
            "state": "open" if issue.is_open else "closed",
            "reactions": issue.reactions,
            "created": datetime.fromtimestamp(issue.created_at, UTC).isoformat() if issue.created_at else "",
        }
        for issue in track(
            issues,
            f"issues of {repository}",
            total=None,
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
    ]
    fetched = {
        "day": datetime.now(UTC).date().isoformat(),
        "sha256": hashlib.sha256(json.dumps(rows).encode()).hexdigest(),
    }
    bundle = classifier.bundle
    found = _predicted(repository, *_classify(rows, classifier, console), bundle.manifest.name, bundle.taxonomy)
    return replace(found, fetched=fetched)


def _classify(
    rows: Iterable[Mapping[str, Any]], classifier: Classifier, console: Console
) -> tuple[list[Fault], list[Cluster]]:
    faults, issues, vectors = [], [], []
    for row in track(list(rows), "classifying", console=console, transient=True, disable=not console.is_terminal):
        title, body = str(row["title"]), str(row.get("body") or "")
        segments = split(title, body)
        (prediction,) = classifier.predict_inputs([model_input(segments)])
        identifier = str(row["id"])
        framework = framework_of(identifier)
        created = str(row.get("created") or row.get("created_at") or "")
        release = release_of(framework, find_versions(title, body, identifier))
        labels = classifier.bundle.taxonomy.applicable(dict(likeliest(prediction)))
        faults.append(Fault(identifier, framework, created[:10], labels, release))
        issues.append(
            PastIssue(
                *(identifier, " ".join(title.split()), "", str(row.get("state") or "").lower()),
                filed_at=epoch_s(created),
                version=release,
                reactions=reactions(row),
                signature=signature_of(segments),
            )
        )
        vectors.append(unit(prediction.vector))
    return faults, clusters(issues, np.array(vectors, np.float32))


def likeliest(prediction: Prediction) -> Iterator[tuple[str, str]]:
    """Axis and likeliest label, sure or not, for counting and correction."""
    for axis, scores in prediction.scores.items():
        yield axis, scores.ranked()[0][0]


def _predicted(
    name: str,
    faults: list[Fault],
    found: Sequence[Cluster],
    model: str,
    taxonomy: Taxonomy,
    files: Sequence[Path] = (),
) -> Source:
    description = (
        f"The likeliest labels by {model}, sure or not: a model's errors move reports from one label to another. "
        "Where validation reports are at hand, shares are corrected for that."
    )
    return Source(name, Origin.PREDICTED, faults, description, model, files, found, taxonomy=taxonomy)
