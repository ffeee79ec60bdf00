"""Verdicts of maintainers -> annotation records of origin `feedback`, with their texts in the local text store.

A thread that is annotated already keeps its reading, whatever its split: no verdict reaches the test split, and no test report reaches training.
A new one goes to `validation` where the hash of its id says so (one in five), else to `train`; no record changes its split.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from distriage.errors import CorpusError
from distriage.feedback import VerdictRecord
from distriage.taxonomy import Taxonomy
from distriage_training.corpus import BUG_AXES, Annotation, read_annotations, read_texts, thread_key
from distriage_training.jsonl import read_jsonl, write_jsonl

ORIGIN = "feedback"
VALIDATION_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class FeedbackReport:
    """What a call did with the threads of the verdicts.

    Attributes:
        train, validation: Records that the corpus holds now for threads of this file.
        changed: How many of them are new or differ from before.
        annotated: Threads that have a reading already.
        without_label: Threads on which people only said what is wrong, or judged an axis that does not apply to the kind they gave.
    """

    train: int
    validation: int
    changed: int
    annotated: int
    without_label: int


def read_verdicts(path: Path, taxonomy: Taxonomy) -> list[list[VerdictRecord]]:
    """Read what `distriage verdicts export` wrote.

    Returns:
        The verdicts of each thread, in the order of the file.

    Raises:
        CorpusError: the file cannot be read, or a line is not a verdict; names file, line and field.
    """
    threads: dict[str, list[VerdictRecord]] = defaultdict(list)
    seen: dict[tuple[str, str], int] = {}
    for number, row in read_jsonl(path):
        place = f"{path}:{number}"
        try:
            verdict = VerdictRecord.model_validate_json(json.dumps(row))
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            raise CorpusError(f"{place}: {'.'.join(map(str, first['loc'])) or 'verdict'}: {first['msg']}") from None
        if verdict.axis not in taxonomy.axes:
            raise CorpusError(f"{place}: axis: unknown axis {verdict.axis!r}; known: {', '.join(taxonomy.axes)}")
        if verdict.label is not None and verdict.label not in taxonomy.axes[verdict.axis].label_ids:
            raise CorpusError(f"{place}: label: unknown label {verdict.label!r} of axis {verdict.axis} (taxonomy {taxonomy.version})")
        key = thread_key(verdict.id)
        if (key, verdict.axis) in seen:
            raise CorpusError(f"{place}: {verdict.id}, axis {verdict.axis}: stands already on line {seen[key, verdict.axis]}; expected the latest verdict only")
        seen[key, verdict.axis] = number
        threads[key].append(verdict)
    return list(threads.values())


def labels_of(verdicts: Sequence[VerdictRecord], taxonomy: Taxonomy) -> dict[str, str]:
    """Axis -> label of one thread's verdicts, without axes that do not apply to the kind that a person gave."""
    said = {verdict.axis: verdict.label for verdict in verdicts if verdict.label is not None}
    result = {}
    for axis, label in said.items():
        requires = taxonomy.axes[axis].requires
        if requires is None or said.get(requires[0], requires[1]) == requires[1]:
            result[axis] = label
    return result


def split_of(identifier: str) -> Literal["train", "validation"]:
    """The split of a thread: by the hash of its id, so that it never changes."""
    draw = int(hashlib.sha256(thread_key(identifier).encode("utf-8", "replace")).hexdigest()[:8], 16) / 2**32
    return "validation" if draw < VALIDATION_SHARE else "train"


def import_verdicts(path: Path, corpus: Path, texts: Path, taxonomy: Taxonomy) -> FeedbackReport:
    """Bring verdicts into the corpus; a second call with the same file changes nothing.

    Args:
        corpus: Folder of annotations.jsonl; records of other origins stay as they are, byte for byte.
        texts: The local text store.

    Raises:
        CorpusError: a line of either file is not valid; nothing is written then.
    """
    threads = read_verdicts(path, taxonomy)
    place = corpus / "annotations.jsonl"
    numbered, problems = read_annotations(place, taxonomy)
    if problems:
        raise CorpusError(problems[0])
    frameworks: dict[str, Counter[str]] = defaultdict(Counter)
    for _, annotation in numbered:
        frameworks[_repository(annotation.id)][annotation.framework] += 1
    known = {thread_key(annotation.id) for _, annotation in numbered if annotation.origin != ORIGIN}
    fresh: dict[str, Annotation] = {}
    store = read_texts([texts])
    before = dict(store)
    annotated = without_label = 0
    for verdicts in threads:
        last = max(verdicts, key=lambda verdict: verdict.at)
        if thread_key(last.id) in known:
            annotated += 1
            continue
        labels = labels_of(verdicts, taxonomy)
        if not labels:
            without_label += 1
            continue
        common = frameworks[_repository(last.id)].most_common(1)
        fresh[thread_key(last.id)] = _annotation(last, labels, common[0][0] if common else "other")
        store[last.id] = (last.title, last.body)
    changed = _replace_records(place, fresh)
    if store != before:
        write_jsonl(texts, ({"id": i, "title": title, "body": body} for i, (title, body) in store.items()))
    splits = Counter(annotation.split for annotation in fresh.values())
    return FeedbackReport(splits["train"], splits["validation"], changed, annotated, without_label)


def _annotation(verdict: VerdictRecord, labels: dict[str, str], framework: str) -> Annotation:
    distributed = labels.get("distributed")
    return Annotation.model_validate(
        {
            "id": verdict.id,
            "kind": labels.get("kind"),
            "distributed": None if distributed is None else distributed == "true",
            **{axis: labels.get(axis) for axis in BUG_AXES},
            "cause_evidence": None,
            "fix_evidence": None,
            "confidence": "high",
            "note": "",
            "url": verdict.url,
            "origin": ORIGIN,
            "source": ORIGIN,
            "framework": framework,
            "created": verdict.created.strftime("%Y-%m-%dT%H:%M:%SZ") if verdict.created is not None else None,
            "readers": 1,
            "split": split_of(verdict.id),
        }
    )


def _repository(identifier: str) -> str:
    return thread_key(identifier).partition("#")[0]


def _replace_records(place: Path, fresh: dict[str, Annotation]) -> int:
    """Put the records into the place of earlier ones of the same thread, the rest at the end. Returns how many lines differ from before."""
    waiting = {key: json.dumps(annotation.model_dump(), ensure_ascii=False) for key, annotation in sorted(fresh.items())}
    changed = 0
    lines = []
    with place.open(encoding="utf-8", newline="") as stream:
        for line in stream:
            row = json.loads(line) if line.strip() else {}
            new = waiting.pop(thread_key(row["id"]), None) if row.get("origin") == ORIGIN else None
            changed += new is not None and new != line.rstrip("\r\n")
            lines.append(line if new is None else f"{new}\n")
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    lines += [f"{line}\n" for line in waiting.values()]
    changed += len(waiting)
    if changed:
        part = place.with_name(place.name + ".part")
        with part.open("w", encoding="utf-8", errors="replace", newline="") as stream:
            stream.writelines(lines)
        part.replace(place)
    return changed
