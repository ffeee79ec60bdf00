"""A judge whose model runs in the processes of a lane."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from distriage.base.errors import InputError
from distriage.base.types import IssueReport
from distriage.model.bundle import Bundle
from distriage_serving.configuration.model import RepositoryConfig
from distriage_serving.judging.indexes import PastIndexes
from distriage_serving.judging.judge import Look, look
from distriage_serving.judging.lane import Lane
from distriage_serving.judging.process import ModelError
from distriage_serving.logs import log
from distriage_serving.metrics import Metrics


@dataclass(frozen=True, slots=True)
class LaneJudge:
    """A `Judge` for any thread."""

    lane: Lane
    bundle: Bundle
    past: PastIndexes
    metrics: Metrics

    def look(
        self, report: IssueReport, config: RepositoryConfig, filed_at: float = 0.0, axes: Sequence[str] = ()
    ) -> Look:
        """Look at a report in one of the lane's processes.

        Raises:
            InputError: the report cannot be classified.
            ModelError: the model failed on it.
        """
        try:
            seen = self.lane.call(look, report, config, filed_at, axes)
        except (InputError, ModelError) as error:
            self.metrics.reports.labels("failed").inc()
            if isinstance(error, InputError):
                log(logging.WARNING, "report_given_up", reason=str(error))
            raise
        self.metrics.decided(seen.verdict)
        return seen
