"""Test processes that are forked once all tests are collected: `pytest -n 0 --forks 4`.

Each process of pytest-xdist imports and collects everything for itself, which takes it nine seconds of CPU.
"""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable
from itertools import pairwise
from multiprocessing.connection import Connection, wait
from typing import Any

import pytest

Group = list[int]  # places of tests among those of the session


def run(session: pytest.Session, count: int, group_of: Callable[[str], str]) -> None:
    """Run all tests in so many processes; those of a group go to one, in their order.

    Args:
        group_of: Name of a test's group, by the test's id.
    """
    groups: dict[str, Group] = {}
    for place, item in enumerate(session.items):
        groups.setdefault(group_of(item.nodeid), []).append(place)
    waiting = iter(groups.values())
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one for all
    children = [_Child(session, next(waiting)) for _ in range(min(count, len(groups)))]
    while children:
        for ready in wait([child.parent_end for child in children]):
            child = next(child for child in children if child.parent_end is ready)
            if not child.goes_on(lambda: None if session.shouldfail or session.shouldstop else next(waiting, None)):
                children.remove(child)
                if child.given:  # it was killed in the middle
                    children += [_Child(session, rest)] if (rest := child.given[1:]) else []
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)


class _Child:
    """A process that runs groups, seen from its parent.

    Attributes:
        given: The tests that it has still to finish, the one under way first.
    """

    def __init__(self, session: pytest.Session, first: Group) -> None:
        self._session, self._hook, self.given = session, session.config.hook, first
        self.parent_end, child_end = multiprocessing.Pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                self.parent_end.close()
                _work(session, first, child_end)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        child_end.close()

    def goes_on(self, next_group: Callable[[], Group | None]) -> bool:
        """Answer what it says; False: it has ended."""
        try:
            kind, value = self.parent_end.recv()
        except (EOFError, ConnectionResetError):
            code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
            if self.given:
                item, said = self._session.items[self.given[0]], f"the process of this test ended with {code}"
                self._log(pytest.TestReport(item.nodeid, item.location, {}, "failed", said, "call"))
            return False
        if kind == "finished":
            self.given = self.given[1:]
        elif kind == "report":
            self._log(self._hook.pytest_report_from_serializable(config=self._session.config, data=value))
        else:
            group = next_group() or []
            self.given = [*self.given, *group]
            self.parent_end.send(group)
        return True

    def _log(self, report: pytest.TestReport) -> None:
        self._hook.pytest_runtest_logreport(report=report)


class _Reports:
    """Hands over what the parent counts and prints."""

    def __init__(self, config: pytest.Config, child_end: Connection) -> None:
        self._config, self._child_end = config, child_end

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed:
            data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
            self._child_end.send(("report", data))


def _work(session: pytest.Session, group: Group, child_end: Connection) -> None:
    """In the child: a group, and those that the parent gives then; the next is known before the last test ends."""
    plugins = session.config.pluginmanager
    plugins.unregister(name="terminalreporter")
    plugins.register(_Reports(session.config, child_end))
    capture: Any = plugins.getplugin("capturemanager")  # its files would be those of all children
    capture.stop_global_capturing()
    capture.start_global_capturing()

    def one(place: int, following: int | None) -> None:
        after = session.items[following] if following is not None else None
        session.config.hook.pytest_runtest_protocol(item=session.items[place], nextitem=after)
        child_end.send(("finished", None))

    while group:
        for place, following in pairwise(group):
            one(place, following)
        child_end.send(("next", None))
        then: Group = child_end.recv()
        one(group[-1], then[0] if then else None)
        group = then
