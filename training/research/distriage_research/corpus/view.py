"""The output of `python training/research corpus stats`, `agreement` and `check`."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ValidationError
from rich.console import Console
from rich.table import Table

from distriage.base.errors import CorpusError, InputError
from distriage.base.references import parse_reference, thread_key
from distriage.base.validation import first_fault
from distriage.model.taxonomy import Taxonomy
from distriage_research.corpus.digests import DIGESTS, is_withheld, read_digests
from distriage_research.corpus.near_duplicates import near_duplicates
from distriage_training.corpus.agreement import compare
from distriage_training.corpus.readings import labels_of_reading, read_readings
from distriage_training.corpus.records import OWN_TEXTS, Annotation, Record, read_annotations, valid_annotations
from distriage_training.corpus.texts import own_texts, read_texts

ANNOTATIONS = "annotations"  # names the corpus' own labels as a reader


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, justify="left" if column == columns[0] else "right")
    return table


def print_stats(console: Console, corpus: Path, taxonomy: Taxonomy) -> None:
    """Records by split and origin, by framework, and labels by axis and split.

    Raises:
        CorpusError: an annotation is not valid.
    """
    annotations = valid_annotations(corpus / "annotations.jsonl", taxonomy)
    splits = ("train", "validation", "test")
    for title, key in (("origin", "origin"), ("framework", "framework")):
        counts: Counter[tuple[str, str]] = Counter((getattr(a, key), a.split) for a in annotations)
        table = _table(f"{len(annotations):,} records by {title}", title, *splits, "all")
        for value, total in Counter(getattr(a, key) for a in annotations).most_common():
            table.add_row(value, *(f"{counts[value, split]:,}" for split in splits), f"{total:,}")
        console.print(table)
    by_split = {split: count_labels((a for a in annotations if a.split == split), taxonomy) for split in splits}
    for axis in taxonomy.axes.values():
        table = _table(axis.name, axis.id, *splits, "all")
        totals = {label: sum(by_split[split][axis.id][label] for split in splits) for label in axis.label_ids}
        for label in sorted(totals, key=lambda name: -totals[name]):
            table.add_row(label, *(f"{by_split[split][axis.id][label]:,}" for split in splits), f"{totals[label]:,}")
        console.print(table)


def count_labels(annotations: Iterable[Annotation], taxonomy: Taxonomy) -> dict[str, Counter[str]]:
    """Axis -> how often each label occurs; labels that never occur count 0."""
    counts = {axis.id: Counter(dict.fromkeys(axis.label_ids, 0)) for axis in taxonomy.axes.values()}
    for annotation in annotations:
        for axis in counts:
            label = annotation.label(axis)
            if label is not None:
                counts[axis][label] += 1
    return counts


def print_agreement(console: Console, corpus: Path, first: str, second: str, taxonomy: Taxonomy) -> None:
    """Kappa per axis and the commonest disagreements.

    Args:
        first, second: Readers of `readings.jsonl`, or `ANNOTATIONS`: the corpus' own labels.

    Raises:
        CorpusError: unknown reader, two readers without a common report, or a label outside the taxonomy.
    """
    path = corpus / "readings.jsonl"
    readings = dict(read_readings(path))
    if ANNOTATIONS in (first, second):
        readings[ANNOTATIONS] = {
            a.id: a.model_dump() for a in valid_annotations(corpus / "annotations.jsonl", taxonomy)
        }
    for name in (first, second):
        if name not in readings:
            raise CorpusError(f"{path}: no reader {name!r}; readers: {', '.join(sorted(readings))}")
    labels = [
        {i: labels_of_reading(row, taxonomy, f"{path}: {i}, read by {name!r}") for i, row in readings[name].items()}
        for name in (first, second)
    ]
    result = compare(labels[0], labels[1], taxonomy)
    if not result:
        raise CorpusError(f"{path}: {first} and {second} share no report")
    table = _table(f"{first} against {second}", "axis", "n", "kappa", "accuracy", "macro-F1")
    for axis, found in result.items():
        table.add_row(axis, str(found.n), f"{found.kappa:.2f}", f"{found.accuracy:.3f}", f"{found.macro_f1:.3f}")
    console.print(table)
    differences = _table("where they differ", "axis", first, second, "times")
    for axis, found in result.items():
        for one, other, times in found.differences[:5]:
            differences.add_row(axis, one, other, str(times))
    console.print(differences)
    console.print(_who_read(corpus, (first, second)), style="dim", markup=False)


class _Reader(BaseModel):
    kind: str | None = None


class _Readers(BaseModel):
    default: _Reader = _Reader()
    readings: dict[str, _Reader] = {}


def _who_read(corpus: Path, readers: Iterable[str]) -> str:
    """What `readers.toml` says of them; of readers that it does not name, nothing is known."""
    path = corpus / "readers.toml"
    try:
        known = _Readers.model_validate(tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {})
    except ValidationError as error:
        raise CorpusError(f"{path}: {first_fault(error, _Readers)}") from None
    except (OSError, ValueError) as error:
        raise CorpusError(f"{path}: cannot be read: {error}") from None
    named = {ANNOTATIONS: known.default, **known.readings}
    kinds = {one: (named[one].kind or known.default.kind) if one in named else None for one in readers}
    if set(kinds.values()) == {"language model"}:
        return "The readers are language models; such readers agree more than people do."
    return "Who read, by readers.toml: " + "; ".join(f"{one}: {kind or 'not recorded'}" for one, kind in kinds.items())


def check_corpus(
    console: Console, corpus: Path, texts: Path, taxonomy: Taxonomy, withheld: frozenset[str] = frozenset()
) -> int:
    """Print every finding, errors first.

    Args:
        withheld: Digests of threads that are kept for a last test.

    Returns:
        How many errors: breaches of the schema, withheld threads and leaks. Near-duplicates within a split are notes
        only.
    """
    path = corpus / "annotations.jsonl"
    numbered, problems = read_annotations(path, taxonomy)
    problems += [
        f"{path}:{number}: {annotation.id} is withheld for a last test; take it out"
        for number, annotation in numbered
        if withheld and is_withheld(annotation.id, withheld)
    ]
    problems += _same_threads(path, numbered)
    problems += _wrong_readings(corpus, {annotation.id for _, annotation in numbered}, taxonomy)
    store = read_texts([texts, *own_texts(corpus)])
    lines, records = [], []
    for number, annotation in numbered:
        if annotation.origin in OWN_TEXTS and annotation.id not in store:
            problems.append(
                f"{path}:{number}: {annotation.id} is {annotation.origin} but has no text in "
                f"{OWN_TEXTS[annotation.origin]}"
            )
        if annotation.id in store:
            title, body = store[annotation.id]
            lines.append(number)
            records.append(
                Record(
                    annotation.id,
                    title,
                    body,
                    {},
                    annotation.split,
                    annotation.source,
                    annotation.origin,
                    annotation.framework,
                )
            )
    notes: list[str] = []
    for pair in near_duplicates(records):
        one, other = records[pair.first], records[pair.second]
        leak = one.split != other.split
        text = (
            f"{path}:{lines[pair.second]}: {other.id} ({other.split}) {'leaks: it ' if leak else ''}is a "
            f"near-duplicate of {one.id} "
            f"({one.split}, line {lines[pair.first]}): {pair.similarity:.0%} of the word triples are shared"
        )
        (problems if leak else notes).append(text)
    for (number, before), (later, annotation) in _same_digests(corpus, numbered, store):
        leak = before.split != annotation.split
        (problems if leak else notes).append(
            f"{path}:{later}: {annotation.id} ({annotation.split}) {'leaks: it ' if leak else ''}has the digest of "
            f"{before.id} ({before.split}, line {number}) in {DIGESTS}: the same text"
        )
    for problem in problems:
        console.print(f"error: {problem}", markup=False)
    for note in notes:
        console.print(f"note: {note}", markup=False)
    console.print(
        f"{len(numbered):,} valid records, {len(records):,} with a text; {len(problems)} errors, {len(notes)} "
        "near-duplicates within a split"
    )
    return len(problems)


def _wrong_readings(corpus: Path, annotated: Collection[str], taxonomy: Taxonomy) -> Iterator[str]:
    path = corpus / "readings.jsonl"
    if not path.is_file():
        return
    try:
        readings = read_readings(path)
    except CorpusError as error:
        yield str(error)
        return
    for reader, rows in readings.items():
        for identifier, row in rows.items():
            place = f"{path}: {identifier}, read by {reader!r}"
            if identifier not in annotated:
                yield f"{place}: not in annotations.jsonl"
            try:
                labels_of_reading(row, taxonomy, place)
            except CorpusError as error:
                yield str(error)


def _same_threads(path: Path, numbered: Sequence[tuple[int, Annotation]]) -> Iterator[str]:
    """Records whose `id` or `url` names the thread of an earlier one."""
    lines: dict[str, int] = {}
    for number, annotation in numbered:
        threads = {thread_key(annotation.id), annotation.url and _thread_at(annotation.url)} - {""}
        yield from (
            f"{path}:{number}: {annotation.id}: its id or url names the thread of line {lines[thread]}"
            for thread in sorted(threads & lines.keys())
        )
        lines |= dict.fromkeys(threads, number)


def _thread_at(url: str) -> str:
    with suppress(InputError):  # a page of another form
        return thread_key(str(parse_reference(url)))
    return url


def _same_digests(
    corpus: Path, numbered: Sequence[tuple[int, Annotation]], store: Mapping[str, object]
) -> Iterator[tuple[tuple[int, Annotation], tuple[int, Annotation]]]:
    """Pairs of records that were annotated with the same text, of which one at least is not here to compare."""
    digests = read_digests(corpus) if (corpus / DIGESTS).is_file() else {}
    first: dict[str, tuple[int, Annotation]] = {}
    for number, annotation in numbered:
        if (digest := digests.get(annotation.id)) is None:
            continue
        number_before, before = first.setdefault(digest, (number, annotation))
        if before is not annotation and not {before.id, annotation.id} <= store.keys():
            yield (number_before, before), (number, annotation)
