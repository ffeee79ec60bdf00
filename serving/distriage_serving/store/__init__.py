"""The bot's memory: deliveries, jobs, repositories, issues, verdicts of the model and reviews of people, in SQLite
or PostgreSQL.

Every method is one short transaction, or part of `Store.transaction`; any of them raises `UnavailableError` when the
database is gone.
"""

from __future__ import annotations

from distriage_serving.store.acts import ASK, ASSIGN, CLOSES, SNOOZE, Act, Acts, answer_of
from distriage_serving.store.columns import report_digest
from distriage_serving.store.database import UnavailableError
from distriage_serving.store.issues import Issues, Wait
from distriage_serving.store.paging import ASCENDING, IssueFilter, Page, Sort, place_of
from distriage_serving.store.past import PastIssues, PastRow, PastState
from distriage_serving.store.repositories import LabelNames, Repositories
from distriage_serving.store.reviews import Reviews, review_of
from distriage_serving.store.schema import (
    NOBODY_WAITS,
    How,
    Issue,
    IssueStatus,
    Lifecycle,
    Repository,
    Review,
    StoredVerdict,
    VerdictAxis,
    WorkState,
)
from distriage_serving.store.sessions import LoginSession, LoginSessions
from distriage_serving.store.verdicts import WEEK_S, AxisCount, Backfilled, Verdicts, week_of
from distriage_serving.store.work.figures import Figures, FigureStore
from distriage_serving.store.work.jobs import (
    OF_PEOPLE,
    CheckArgument,
    CommandArgument,
    NewJob,
    SecondReadArgument,
    access_job,
    ask_job,
    check_job,
    close_job,
    command_job,
    configure_job,
    decide_job,
    moved_job,
    poll_job,
    reconcile_job,
    second_read_job,
    sweep_job,
    triage_job,
)
from distriage_serving.store.work.leases import MAX_ATTEMPTS, LeaseLostError
from distriage_serving.store.work.pace import Pace
from distriage_serving.store.work.reader import ReaderAnswer
from distriage_serving.store.work.suggested import SuggestionRow, SuggestionRows
from distriage_serving.store.work.tables import WORK_STATES, Delivery, Job


class Store(
    FigureStore,
    Issues,
    Verdicts,
    Reviews,
    Acts,
    Repositories,
    LoginSessions,
    Pace,
    PastIssues,
    SuggestionRows,
):
    """All of it; `Store.open` makes one. Any thread may use it."""
