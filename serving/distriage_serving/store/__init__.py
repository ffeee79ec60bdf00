"""What is remembered: deliveries, jobs, repositories, issues, predictions and people's verdicts, in SQLite or PostgreSQL.

Every method is one short transaction, or part of `Store.transaction`; any of them raises `UnavailableError` when the database is gone.
"""

from __future__ import annotations

from distriage_serving.store.database import UnavailableError
from distriage_serving.store.issues import AxisCount, Issues
from distriage_serving.store.pace import Pace
from distriage_serving.store.paging import IssueFilter, Page, Sort
from distriage_serving.store.repositories import Repositories
from distriage_serving.store.schema import (
    WORK_STATES,
    Delivery,
    How,
    Issue,
    IssueState,
    IssueStatus,
    Job,
    JobKind,
    PersonVerdict,
    Prediction,
    PredictionAxis,
    Repository,
    WorkState,
    report_digest,
)
from distriage_serving.store.verdicts import Verdicts
from distriage_serving.store.work import MAX_ATTEMPTS, LeaseLostError, Work

__all__ = [
    "MAX_ATTEMPTS",
    "WORK_STATES",
    "AxisCount",
    "Delivery",
    "How",
    "Issue",
    "IssueFilter",
    "IssueState",
    "IssueStatus",
    "Job",
    "JobKind",
    "LeaseLostError",
    "Page",
    "PersonVerdict",
    "Prediction",
    "PredictionAxis",
    "Repository",
    "Sort",
    "Store",
    "UnavailableError",
    "WorkState",
    "report_digest",
]


class Store(Work, Issues, Verdicts, Repositories, Pace):
    """All of it; `Store.open` makes one. Any thread may use it."""
