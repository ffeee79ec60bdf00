"""Reviews of maintainers, as `distriage reviews export` writes them: read, and the labels that they give."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from distriage.answer.feedback import ReviewRecord, own_label
from distriage.base.errors import CorpusError, TaxonomyError
from distriage.base.references import thread_key
from distriage.base.validation import first_fault
from distriage.model.taxonomy import Taxonomy
from distriage_training.corpus.jsonl import read_jsonl


def read_review_records(path: Path) -> Iterator[tuple[int, ReviewRecord]]:
    """Line numbers and lines of an export by `distriage reviews export`, on every axis.

    Raises:
        CorpusError: unreadable file, or a line that is not a review; names file, line and field.
    """
    for number, row in read_jsonl(path):
        try:
            yield number, ReviewRecord.model_validate_json(json.dumps(row))
        except ValidationError as error:
            fault = first_fault(error, ReviewRecord, "review", show_value=False)
            raise CorpusError(f"{path}:{number}: {fault}") from None


def read_reviews(path: Path, taxonomy: Taxonomy, *, retired: bool = False) -> list[list[ReviewRecord]]:
    """Read an export by `distriage reviews export`.

    Args:
        retired: Take labels that are no longer used, too: they can be counted, and not learned.

    Returns:
        The reviews of each thread, in the order of the file.

    Raises:
        CorpusError: the file cannot be read, or a line is not a review; names file, line and field.
        TaxonomyError: its axis or label is not of the taxonomy; names file and line.
    """
    threads: dict[str, list[ReviewRecord]] = defaultdict(list)
    seen: dict[tuple[str, str], int] = {}
    for number, review in read_review_records(path):
        place = f"{path}:{number}"
        if own_label(review.axis) is not None:  # of a repository's own labels: for `distriage learn`
            continue
        if review.axis not in taxonomy.axes:
            raise TaxonomyError(f"{place}: axis: unknown axis {review.axis!r}; known: {', '.join(taxonomy.axes)}")
        axis = taxonomy.axes[review.axis]
        known = [label.id for label in axis.labels] if retired else axis.label_ids
        if review.label is not None and review.label not in known:
            raise TaxonomyError(
                f"{place}: label: unknown label {review.label!r} of axis {review.axis} (taxonomy {taxonomy.version})"
            )
        key = thread_key(review.id)
        if (key, review.axis) in seen:
            raise CorpusError(
                f"{place}: {review.id}, axis {review.axis}: duplicate of line {seen[key, review.axis]}; "
                "expected the latest review only"
            )
        seen[key, review.axis] = number
        threads[key].append(review)
    return list(threads.values())


def labels_of(reviews: Sequence[ReviewRecord], taxonomy: Taxonomy) -> dict[str, str]:
    """Axis -> label of one thread's reviews, without axes that do not apply to the kind that a person gave."""
    return taxonomy.applicable({review.axis: review.label for review in reviews if review.label is not None})
