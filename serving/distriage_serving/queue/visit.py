"""The basis of every page: the person, the request, and the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Self

from starlette.datastructures import QueryParams
from starlette.requests import Request

from distriage.model.taxonomy import Taxonomy
from distriage_serving.queue.decisions import Decisions
from distriage_serving.queue.listing import Field, Filters, display_name, read_filters, read_number
from distriage_serving.queue.login.desk import desk
from distriage_serving.queue.login.routes import session_of
from distriage_serving.queue.login.sessions import Fields, Session, check_form
from distriage_serving.queue.pages import StaleError, page_of
from distriage_serving.store import Issue, IssueFilter, Repository, StoredVerdict
from distriage_serving.web.problem import ProblemError
from distriage_serving.web.rooms import rooms


class Visit:
    """One request of a logged-in person. Reads the database: make it in a thread."""

    def __init__(self, request: Request, fields: Fields | None = None) -> None:
        self.session: Session = session_of(request)
        if fields is not None:
            try:
                check_form(fields, self.session.csrf)
            except ProblemError as error:  # the person logged in again in another tab, say
                again = page_of(request, fields.get("query", [""])[0][:2000])
                happened = "The form is older than your login or was not sent from this page; load the page again."
                raise StaleError(happened, again, error.status, error.code) from None
        self.store, self.engine = desk(request).store, rooms(request).engine
        self.taxonomy: Taxonomy = self.engine.bundle.taxonomy
        self.decisions = Decisions(self.store, self.session)

    @classmethod
    @contextmanager
    def reading(cls, request: Request) -> Iterator[Self]:
        """A request that writes nothing, in one transaction.

        Raises:
            UnavailableError: the database is gone, or locked for long.
            LoginNeededError: the request lacks a session.
        """
        with desk(request).store.reading():
            yield cls(request)

    @property
    def seen(self) -> tuple[str, ...] | None:
        """The repositories that this person sees; all if None."""
        return self.session.repositories

    @cached_property
    def _known(self) -> dict[str, Repository]:
        """Those of these repositories that are in the store, by name."""
        return {known.name: known for known in self.store.list_repositories() if self.session.sees(known.name)}

    def repositories(self) -> dict[str, str]:
        """The repositories in the store that this person sees: name -> name as GitHub writes it."""
        return {name: known.display_name for name, known in self._known.items()}

    def filters(self, query: QueryParams) -> tuple[Filters, list[Field]]:
        """The filters of an address; `ProblemError` (400) for values that no field holds."""
        return read_filters(query, self.taxonomy, self.repositories())

    def sent(self, fields: Fields) -> Filters:
        """The filters of the page that a form was sent from; `ProblemError` (400) as `filters`."""
        return self.filters(QueryParams(fields.get("query", [""])[0][:2000]))[0]

    def label_name(self, axis: str, label: str | None) -> str:
        """A label for people; empty without one, or if the taxonomy no longer has the axis."""
        return display_name(self.taxonomy, axis, label) if label and axis in self.taxonomy.axes else ""

    def issue_filter(self, filters: Filters) -> IssueFilter:
        """Filters for the store, now and for this person."""
        return filters.issue_filter(self.taxonomy, self.seen, self.session.who, self.store.clock())

    def spelled(self, repository: str, number: int) -> str:
        """An issue's name, as GitHub writes it."""
        known = self._known.get(repository.lower())
        return f"{repository if known is None else known.display_name}#{number}"

    def reaches(self, repository: str | None = None) -> bool:
        """Whether the App is on a repository (on any visible one if None), so that decisions and acts reach GitHub."""
        return any(known.has_app for name, known in self._known.items() if repository in {None, name})

    def warnings(self, repository: str | None = None) -> list[tuple[str, str]]:
        """Repositories whose configuration cannot be read, and why: nothing is labelled there meanwhile.

        Args:
            repository: Only this one; all visible ones if None.
        """
        return [
            (known.display_name, known.config_error)
            for name, known in self._known.items()
            if known.config_error is not None and known.enabled and repository in {None, name}
        ]

    def issue_at(self, key: str) -> Issue | None:
        """The issue `owner/repo#12`; None if the person sees no such issue."""
        repository, _, text = key.rpartition("#")
        number = read_number(text)
        if number is None or not self.session.sees(repository):
            return None
        return self.store.get_issue(repository, number)

    def issue(self, repository: str, number: int) -> tuple[Issue, StoredVerdict | None]:
        """An issue that this person may see; `ProblemError` (404) otherwise."""
        issue = self.store.get_issue(repository, number) if self.session.sees(repository) else None
        if issue is None:
            raise ProblemError(404, "not-found", "no such issue in the repositories that you may triage")
        return issue, self.store.latest_verdict(repository, number)
