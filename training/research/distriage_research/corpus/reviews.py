"""Reviews of maintainers -> annotation records of origin `feedback`, with their texts in the local text store.

An annotated thread keeps its reading, whatever its split: no review reaches the test split, and no test report reaches
training. A new thread goes to `validation` if the hash of its id says so (one in five), else to `train`; no record
changes its split. A second reader's record gives way to a review and stays in `train`. Withheld threads never become
records.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from distriage.answer.feedback import ReviewRecord
from distriage.base.references import thread_key
from distriage.model.taxonomy import Taxonomy
from distriage_research.corpus.digests import is_withheld
from distriage_research.corpus.replace import Frameworks, store_records
from distriage_training.corpus.records import BUG_AXES, FEEDBACK, PARTIAL, Annotation, valid_annotations
from distriage_training.corpus.reviews import labels_of, read_reviews

VALIDATION_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class ReviewsResult:
    """Outcome for the threads of the reviews.

    Attributes:
        train, validation: Records that the corpus now holds for threads of this file.
        changed: How many of them are new or different, and how many earlier ones were withdrawn.
        withheld: Threads kept for a last test.
        annotated: Threads that have a reading already.
        without_label: Threads on which people only said that a label is wrong, or judged an axis that does not apply to
            the kind they gave; the record of an earlier review is withdrawn.
    """

    train: int
    validation: int
    changed: int
    withheld: int
    annotated: int
    without_label: int


def split_of(identifier: str) -> Literal["train", "validation"]:
    """The split of a thread: by the hash of its id, so that it never changes."""
    draw = int(hashlib.sha256(thread_key(identifier).encode("utf-8", "replace")).hexdigest()[:8], 16) / 2**32
    return "validation" if draw < VALIDATION_SHARE else "train"


def import_reviews(
    path: Path, corpus: Path, texts: Path, taxonomy: Taxonomy, withheld: frozenset[str] = frozenset()
) -> ReviewsResult:
    """Bring reviews into the corpus; a second call with the same file changes nothing.

    Args:
        corpus: Folder of annotations.jsonl; records of other origins stay as they are, byte for byte.
        withheld: Digests of threads kept for a last test.

    Raises:
        CorpusError: a line of either file is not valid; nothing is written then.
    """
    threads = read_reviews(path, taxonomy)
    place = corpus / "annotations.jsonl"
    annotations = valid_annotations(place, taxonomy)
    frameworks = Frameworks(annotations)
    known = {thread_key(annotation.id) for annotation in annotations if annotation.origin not in PARTIAL}
    taught = {thread_key(annotation.id) for annotation in annotations if annotation.split == "train"} - known
    fresh: dict[str, Annotation] = {}
    stored: dict[str, tuple[str, str]] = {}
    withdrawn: dict[str, str] = {}
    kept = annotated = 0
    for reviews in threads:
        last = max(reviews, key=lambda review: review.at)
        key = thread_key(last.id)
        if is_withheld(last.id, withheld):
            kept += 1
            continue
        if key in known:
            annotated += 1
            continue
        labels = labels_of(reviews, taxonomy)
        if not labels:
            withdrawn[key] = FEEDBACK
            continue
        # A second reader may have taught a model this thread: it stays in train.
        split = "train" if key in taught else split_of(last.id)
        fresh[key] = _annotation(last, labels, frameworks.of(last.id), split)
        stored[last.id] = (last.title, last.body)
    changed = store_records(place, texts, fresh, stored, withdrawn)
    splits = Counter(annotation.split for annotation in fresh.values())
    return ReviewsResult(splits["train"], splits["validation"], changed, kept, annotated, len(withdrawn))


def _annotation(review: ReviewRecord, labels: dict[str, str], framework: str, split: str) -> Annotation:
    distributed = labels.get("distributed")
    return Annotation.model_validate(
        {
            "id": review.id,
            "kind": labels.get("kind"),
            "distributed": None if distributed is None else distributed == "true",
            **{axis: labels.get(axis) for axis in BUG_AXES},
            "cause_evidence": None,
            "fix_evidence": None,
            "confidence": "high",
            "note": "",
            "url": review.url,
            "origin": FEEDBACK,
            "source": FEEDBACK,
            "framework": framework,
            "created": review.created.strftime("%Y-%m-%dT%H:%M:%SZ") if review.created is not None else None,
            "readers": 1,
            "split": split,
        }
    )
