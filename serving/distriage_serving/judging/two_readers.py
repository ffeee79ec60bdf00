"""The second reader in the bot: whom to ask, and a judge that adds its answer. Network and database I/O.

The bot asks in a separate job. The answer is kept under the report's digest, and every later triage joins it to the
first reader's scores anew: a changed configuration needs no further question, and a dying worker loses nothing. Without
a second reader, no module of `distriage.second_reader` is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from distriage.answer.verdict import Verdict
from distriage.base.types import IssueReport
from distriage.model.bundle import Bundle
from distriage.model.shipped import find_bundle
from distriage_serving.configuration.model import RepositoryConfig
from distriage_serving.judging.judge import Judge, Look, required
from distriage_serving.settings import Settings
from distriage_serving.store import ReaderAnswer, Store, report_digest
from distriage_serving.store.work.reader import DAY_S

if TYPE_CHECKING:
    from distriage.second_reader.answer import Shares
    from distriage.second_reader.reader import SecondReader

AWAITED: Final = "the second reader has not answered yet"
ASK_AGAIN_S: Final = (300.0, 3600.0, 21600.0)  # after a first, second and third failure that may pass


class StoreBudget:
    """A day's budget, shared by all processes; a `distriage.second_reader.endpoint.Budget`."""

    def __init__(self, store: Store, requests: int | None, tokens: int | None) -> None:
        self._store = store
        self._limits = (requests, tokens)

    def take(self, tokens: int) -> bool:
        """Reserve a request of that many tokens; False if today's rest is smaller."""
        return self._store.take_reader_budget(tokens, self._limits)

    def settle(self, tokens: int) -> None:
        """Add the use beyond the reservation; a negative number gives back."""
        self._store.settle_reader_budget(tokens)


class TwoReaders:
    """A judge: the first reader's verdict with the second one's answer, if there yet. Safe to share between threads.

    Attributes:
        bundle, past: The first reader's.
    """

    def __init__(self, judge: Judge, store: Store, reader: SecondReader) -> None:
        self._judge = judge
        self._store = store
        self._reader = reader
        self._since = store.clock()
        self.bundle, self.past = judge.bundle, judge.past

    def look(
        self,
        report: IssueReport,
        config: RepositoryConfig,
        filed_at: float = 0.0,
        axes: Sequence[str] = (),  # noqa: ARG002 - its own count
    ) -> Look:
        """The first reader's look with the second one's kept answer; asks nothing (see `is_awaited`)."""
        first = self._first_look(report, config, filed_at)
        if first.question is None:
            return first
        kept = self._kept(report)
        answer = AWAITED if kept is None else kept.note or _shares(kept)
        wanted = partial(required, config)
        verdict = self._reader.complete(first.verdict, first.question, answer, self.bundle.taxonomy, wanted)
        return replace(first, verdict=verdict)

    def _first_look(self, report: IssueReport, config: RepositoryConfig, filed_at: float = 0.0) -> Look:
        return self._judge.look(report, config, filed_at, self._reader.axes)

    def read(self, report: IssueReport, config: RepositoryConfig, failures: int = 0) -> tuple[str | None, float | None]:
        """Ask the second reader, unless it has answered, and keep its answer.

        Args:
            failures: How often it was asked in vain before.

        Returns:
            Why an answer is missing, if so; in how many seconds to ask again, if that may help.

        Raises:
            InputError: the report cannot be classified.
        """
        from distriage.second_reader.endpoint import Unanswered

        kept = self._kept(report)
        if kept is not None and kept.note is None:
            return None, None
        question = self._first_look(report, config).question
        # Kept, too: if a form has changed meanwhile, triage may be in doubt where this reading is not, and would wait.
        answer = {} if question is None else self._reader.ask(question, self.bundle.taxonomy)
        note = answer.why if isinstance(answer, Unanswered) else None if question else "nothing is in doubt"
        given = {} if isinstance(answer, Unanswered) else answer
        kept = ReaderAnswer(
            digest=report_digest(report.title, report.body),
            model=self.bundle.manifest.name,
            reader=self._reader.manner,
            shares={axis: list(shares.items()) for axis, shares in given.items()},
            note=note,
            made_at=self._store.clock(),
        )
        self._store.save_reader_answer(kept)
        if isinstance(answer, Unanswered) and answer.may_pass and failures < len(ASK_AGAIN_S):
            return note, max(answer.wait_s, ASK_AGAIN_S[failures])
        return note, None

    def _kept(self, report: IssueReport) -> ReaderAnswer | None:
        digest = report_digest(report.title, report.body)
        kept = self._store.get_reader_answer(digest, self.bundle.manifest.name, self._reader.manner)
        if kept is None or kept.note is None:
            return kept
        # A restart may have mended it, and a new day has a new budget. Another process whose clock is behind may have
        # kept it after either: what failed just now is not over.
        now = self._store.clock()
        is_older = kept.made_at < self._since or kept.made_at // DAY_S < now // DAY_S
        return None if is_older and kept.made_at < now - ASK_AGAIN_S[0] else kept


def is_awaited(verdict: Verdict) -> bool:
    """Whether the second reader is still to be asked."""
    return verdict.second_reading is not None and verdict.second_reading.note == AWAITED


def open_reader(settings: Settings, store: Store) -> SecondReader:
    """The second reader that the settings describe; nothing is sent yet.

    Raises:
        ConfigError: the address or the calibration is not valid.
        BundleError: the model is missing or fails verification.
    """
    from distriage.second_reader.calibration import load_calibration
    from distriage.second_reader.endpoint import Endpoint, EndpointSettings
    from distriage.second_reader.reader import SecondReader, check_axes

    url, model = settings.second_reader, settings.second_reader_model
    assert url is not None
    key = settings.second_reader_key.get_secret_value() if settings.second_reader_key is not None else ""
    bundle = Bundle(find_bundle(settings.model))
    endpoint = Endpoint(
        EndpointSettings(url, model, key.strip(), settings.second_reader_timeout_s),
        StoreBudget(store, settings.second_reader_requests_per_day, settings.second_reader_tokens_per_day),
        store.count_reader_result,
    )
    file = settings.second_reader_calibration
    fitted = load_calibration(file, model, bundle.manifest.name) if file is not None else None
    return SecondReader(endpoint, fitted, check_axes(settings.second_reader_axes, bundle.taxonomy))


def _shares(kept: ReaderAnswer) -> Mapping[str, Shares]:
    return {axis: dict(pairs) for axis, pairs in kept.shares.items()}
