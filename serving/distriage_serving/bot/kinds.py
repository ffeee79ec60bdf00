"""The kinds of jobs, one row each. A new kind is a function that works on such a job, and its row in `KINDS`.

The function that makes a job to store belongs beside `triage_job` (`store/work/jobs.py`), or in the file of the
function that works on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from distriage.base.references import IssueReference
from distriage.github.client import Client
from distriage.model.taxonomy import Taxonomy
from distriage_serving.bot.answers import answer
from distriage_serving.bot.asking.questions import ask
from distriage_serving.bot.checks import check_pull_request
from distriage_serving.bot.follow_up import Done
from distriage_serving.bot.reconcile import bring_in_step, reconcile
from distriage_serving.bot.repositories import configure, take_stock
from distriage_serving.bot.suggestions.decided import decide_closed
from distriage_serving.bot.suggestions.hourly import poll_next
from distriage_serving.bot.sweep import look_around
from distriage_serving.bot.triage import read_again, triage
from distriage_serving.github.app_auth import App
from distriage_serving.judging.judge import Judge
from distriage_serving.store import Job, Store


@dataclass(frozen=True, slots=True)
class Tools:
    """Tools for working on a job.

    Attributes:
        installation: Speaks to GitHub as the job's installation, if the kind needs one.
    """

    store: Store
    app: App
    judge: Judge
    installation: Client | None = None

    @property
    def client(self) -> Client:
        """The same, for kinds that need one."""
        assert self.installation is not None
        return self.installation

    @property
    def taxonomy(self) -> Taxonomy:
        """The model's labels."""
        return self.judge.bundle.taxonomy


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of job is worked on.

    Attributes:
        work: Does it. It may be called again for a job that it did before.
        on_github: It needs the client of an installation.
        reads_lists: It reads lists of a repository, which would silently be those of the repository's new place.
    """

    work: Callable[[Tools, Job], Done]
    on_github: bool = True
    reads_lists: bool = False


def _issue(job: Job) -> IssueReference:
    return IssueReference(job.repository, job.issue or 0)


def _triage(tools: Tools, job: Job) -> Done:
    return triage(tools.client, tools.store, tools.judge, _issue(job), job.installation_id)


def _close(tools: Tools, job: Job) -> Done:
    done = bring_in_step(tools.client, tools.store, job)
    refused = decide_closed(tools.client, tools.store, _issue(job))
    return replace(done, note=f"{done.note}, {refused}") if refused is not None else done


KINDS: Final[Mapping[str, Kind]] = {
    "triage": Kind(_triage),
    "decide": Kind(_triage),  # the same; a person waits for it, so it goes ahead (`OF_PEOPLE`)
    "command": Kind(lambda tools, job: answer(tools.client, tools.store, tools.taxonomy, job)),
    "check": Kind(lambda tools, job: check_pull_request(tools.client, tools.taxonomy, job)),
    "configure": Kind(lambda tools, job: configure(tools.client, tools.store, tools.taxonomy, job), reads_lists=True),
    "reconcile": Kind(lambda tools, job: reconcile(tools.client, tools.store, tools.taxonomy, job), reads_lists=True),
    "poll": Kind(lambda tools, job: poll_next(tools.client, tools.store, job.repository, job.installation_id)),
    "ask": Kind(lambda tools, job: ask(tools.client, tools.store, job)),
    "close": Kind(_close),
    "access": Kind(lambda tools, job: take_stock(tools.client, tools.store, job.installation_id or 0)),
    "second-read": Kind(lambda tools, job: read_again(tools.client, tools.store, tools.judge, job)),
    "sweep": Kind(lambda tools, _: look_around(tools.store, tools.app), on_github=False),
}
