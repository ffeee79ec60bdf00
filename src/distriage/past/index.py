"""The index of past issues: content, search, and how its file is written; `file.py` reads it.

The nearness of two issues comes from their words, the encoder's vectors, and the time between them:

    similarity = words of the cleaned report + 0.25 words of the title + 0.5 vectors - 0.05 ln(1 + weeks apart)

with cosines of TF-IDF over the hashed n-grams that the model reads and over the title's words, and of the encoder's
mean vectors. By these weights, of 120 tried, most of 1,004 pairs of issues of which one names the other are among the
five nearest; see training/LOG.md.

FILE.npz  format   []             `FORMAT`
          model    []             name of the model that made the vectors
          issues   [bytes]        uint8, JSON in UTF-8: a list of the fields of `PastIssue`, in order; an older file
                                lacks the last ones
          idf      [BUCKETS]      float32, inverse document frequency; of n-grams, error lines and words of titles, as
                                  `features_of` and `titled` number them; an older file lacks titles, or lines too
          starts   [BUCKETS + 1]  uint32: where the postings of a bucket begin
          rows     [postings]     uint32, issues that have the bucket
          weights  [postings]     float16; those of one issue and view have unit length
          vectors  [issues, width]  int8, of length 1 once multiplied by
          scales   [issues]       float32
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from distriage.base.disk import replaced
from distriage.base.errors import InputError
from distriage.past.issue import PastIssue
from distriage.past.same import FEW, Alike, likelihood, titles_alike
from distriage.past.words import (
    BUCKETS,
    LINES,
    TITLES,
    Features,
    Floats,
    Postings,
    postings,
    rarity,
    titled,
    unit,
    weighted,
)
from distriage.recipe.features import HASH_BUCKETS
from distriage.recipe.weights import cosines

if TYPE_CHECKING:
    from distriage.github.releases import Release

FORMAT = 5
WORDS = np.array([1, 0, 0, 0.25], np.float32)  # of each view, as `POSTINGS`; error lines only count in `same.py`
VECTOR, APART = 0.5, 0.05
LEAD_WORDS = 0.3  # weight of the reports' words in the lead over other issues: a lead in words alone says little


@dataclass(frozen=True, slots=True)
class PastQuery:
    """A report to look up among past issues.

    Attributes:
        features: From `features_of`.
        vector: The encoder's; may be empty.
        id: `owner/repo#12`, or anything else if it is not an issue yet.
        filed_at: Unix time in seconds; 0: after all that are indexed.
        title, version, signature: As in `PastIssue`.
        releases: Its repository's, as far as known.
    """

    features: Features
    vector: Floats
    id: str = ""
    filed_at: float = 0.0
    title: str = ""
    version: str = ""
    signature: str = ""
    releases: Sequence[Release] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """A past issue that is near.

    Attributes:
        similarity: For ordering; not a probability.
        alike: Evidence that it is the same; only for the nearest, and only where its time and vector are known.
    """

    issue: PastIssue
    similarity: float
    alike: Alike | None = None

    @property
    def same(self) -> float | None:
        """Probability of being the same issue; None if it is beyond the measured range."""
        return None if self.alike is None else likelihood(self.alike)


@dataclass(frozen=True, eq=False)
class PastIndex:
    """An index, ready to search; safe to share between threads.

    Attributes:
        filed_at: [issues], Unix time in seconds; 0 where unknown.
    """

    model: str
    issues: Sequence[PastIssue]
    idf: Floats
    starts: NDArray[np.int64]
    rows: NDArray[np.uint32]
    weights: NDArray[np.float16]
    vectors: Floats
    filed_at: NDArray[np.float64]

    def made_with(self, model: str, file: Path) -> PastIndex:
        """This index, read from a file, if its vectors can be compared with those of a model.

        Raises:
            InputError: another model made them.
        """
        if self.vectors.size and self.model != model:
            raise InputError(f"{file}: made with the model {self.model}; expected {model}: index anew")
        return self

    def find(self, query: PastQuery, k: int = 5) -> list[Match]:
        """The nearest past issues, nearest first, without the report itself and later ones."""
        if not self.issues:
            return []
        scores, words, days = self.scores(query)
        later = self._not_earlier(query)
        scores[later] = -np.inf
        count = min(k, len(scores))
        nearest = np.argpartition(-scores, count - 1)[:count]
        order = [int(row) for row in nearest[np.argsort(-scores[nearest], kind="stable")] if np.isfinite(scores[row])]
        leading = scores + (LEAD_WORDS - WORDS[0]) * words
        return [
            Match(
                self.issues[row],
                float(scores[row]),
                self._alike(query, row, _lead(leading, row), float(days[row]), later) if place == 0 else None,
            )
            for place, row in enumerate(order)
        ]

    def scores(self, query: PastQuery) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Similarity of each issue, later ones too; its part from the reports' words; days between. Each [issues]."""
        filed_at = query.filed_at or float(self.filed_at.max())
        days = np.where(self.filed_at > 0, np.abs(filed_at - self.filed_at), 0.0) / 86400
        features = titled(query.features, query.title)
        words = self._words(features, 0)
        scores = words + self._words(features, TITLES // HASH_BUCKETS) - APART * np.log1p(days / 7)
        if self.vectors.size and query.vector.size == self.vectors.shape[1]:
            scores += VECTOR * (self.vectors @ unit(query.vector))
        return scores, words, days

    def _alike(self, query: PastQuery, row: int, ahead: float, days: float, later: NDArray[np.bool_]) -> Alike | None:
        """For the nearest issue; None without its time or vectors to compare."""
        if not self.filed_at[row] or not self.vectors.size or query.vector.size != self.vectors.shape[1]:
            return None
        cosine = float(self.vectors[row] @ unit(query.vector))
        titles = titles_alike(query.title, self.issues[row].title)
        return Alike(cosine, ahead, days, titles, self._shares_errors(query.features[0], row, later))

    def _shares_errors(self, buckets: NDArray[np.int32], row: int, later: NDArray[np.bool_]) -> bool:
        """Whether most error lines of the report and an issue are shared, one of them with few other earlier issues."""
        asked = np.asarray(buckets, np.int64)
        having = [self.rows[self.starts[line] : self.starts[line + 1]] for line in asked[asked >= LINES]]
        shared = [int((~later[rows]).sum()) for rows in having if (rows == row).any()]
        if not shared or min(shared) > FEW:
            return False
        known = int((self.rows[self.starts[LINES] : self.starts[TITLES]] == row).sum())
        return 2 * len(shared) > len(having) + known - len(shared)

    def known(self, id_: str) -> PastIssue | None:
        """The issue of an id, in any spelling, if it is there."""
        row = self._rows_of.get(id_.lower())
        return None if row is None else self.issues[row]

    def _not_earlier(self, query: PastQuery) -> NDArray[np.bool_]:
        asked = PastIssue(query.id.lower(), "")
        codes, places = self._places
        later: NDArray[np.bool_] = places == codes.get(asked.place, -1)
        later &= self._numbers >= (asked.number or np.inf)
        if (itself := self._rows_of.get(asked.id)) is not None:  # an id of a tracker without `#`, such as PROJ-12
            later[itself] = True
        return later | (self.filed_at > (query.filed_at or np.inf))

    @cached_property
    def _rows_of(self) -> dict[str, int]:
        return {issue.id.lower(): row for row, issue in enumerate(self.issues)}

    @cached_property
    def _numbers(self) -> NDArray[np.float64]:
        return np.array([issue.number for issue in self.issues], np.float64)

    @cached_property
    def _places(self) -> tuple[dict[str, int], NDArray[np.int32]]:
        """Repository -> its code, and the code of each issue, [issues]."""
        codes: dict[str, int] = {}
        return codes, np.array([codes.setdefault(issue.place, len(codes)) for issue in self.issues], np.int32)

    def _words(self, features: Features, view: int) -> NDArray[np.float64]:
        """Weighted cosine of TF-IDF of a view, [issues]."""
        own = features[0] // HASH_BUCKETS == view
        buckets, values = weighted((features[0][own], features[1][own]), self.idf)
        return cosines(buckets, values * WORDS[view], self.starts, self.rows, self.weights, len(self.issues))

    def save(self, file: Path) -> None:
        """Write the file; an older one stays until this one is whole.

        Raises:
            InputError: it cannot be written.
        """
        scales = np.abs(self.vectors).max(1, initial=1e-12) / 127 if self.vectors.size else np.zeros(0)
        with replaced(file) as (part,), part.open("wb") as stream:
            np.savez_compressed(
                stream,
                format=np.asarray(FORMAT),
                model=np.asarray(self.model),
                issues=np.frombuffer(json.dumps([astuple(issue) for issue in self.issues]).encode(), np.uint8),
                idf=self.idf,
                starts=self.starts.astype(np.uint32),
                rows=self.rows,
                weights=self.weights,
                vectors=np.round(self.vectors / scales[:, None]).astype(np.int8) if self.vectors.size else scales,
                scales=scales.astype(np.float32),
            )


def _lead(scores: NDArray[np.float64], row: int) -> float:
    """By how much an issue is ahead of all others; without any, its own score."""
    others = np.delete(scores, row).max(initial=-np.inf)
    return float(scores[row] - (others if np.isfinite(others) else 0))


def make_index(
    issues: Sequence[PastIssue], features: Sequence[Features], vectors: Sequence[Floats], model: str
) -> PastIndex:
    """The index of issues.

    Args:
        features: Each one's, from `all_features`.
        vectors: Each one's; all empty if the model lacks them.
    """
    known = [titled(one, issue.title) for one, issue in zip(features, issues, strict=True)]
    idf = rarity(known)
    has_vectors = all(vector.size for vector in vectors) and len(issues) > 0
    matrix = np.array([unit(vector) for vector in vectors], np.float32) if has_vectors else np.zeros((0, 0), np.float32)
    return assemble(model, issues, idf, postings(known, idf), matrix)


def assemble(model: str, issues: Sequence[PastIssue], idf: Floats, found: Postings, vectors: Floats) -> PastIndex:
    """The index of issues, whose rows are numbered in their order; vectors of length 1."""
    order = np.argsort(found.columns, kind="stable")
    return PastIndex(
        model=model,
        issues=list(issues),
        idf=idf,
        starts=np.concatenate([[0], np.cumsum(np.bincount(found.columns, minlength=BUCKETS))]).astype(np.int64),
        rows=found.rows[order],
        weights=found.weights[order].astype(np.float16),
        vectors=vectors,
        filed_at=np.array([issue.filed_at for issue in issues]),
    )
