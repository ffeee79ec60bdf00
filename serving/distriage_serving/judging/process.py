"""The model in a separate process that can be ended: a pattern or a native call that never releases the GIL stops its
own process, but neither the server's event loop nor a worker's lease.

The kernel enforces the deadline in CPU time (`setitimer`, SIGPROF), so it holds against any code, on a busy machine
as on an idle one, and in a process whose parent died.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from distriage.answer.similar import Similar
from distriage.base.errors import BundleError, DistriageError, InputError
from distriage.classifier import Classifier
from distriage.model.bundle import Bundle
from distriage.own.shelf import OwnShelf
from distriage.signs.table import read_table
from distriage_serving.logs import configure_logging, log, without_message

P = ParamSpec("P")
T = TypeVar("T")

WALL_FACTOR: Final = 12  # a process that neither computes nor answers is ended after this many deadlines
# Imported once by the process that all others are forked from: a new one is there in the time that the model takes to
# load.
_CONTEXT: Final = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["distriage_serving.judging.judge", "distriage.answer.similar"])


def load_classifier(
    model: str | None, threads: int | None, own: str | None, log_level: str, releases: Path | None = None
) -> Classifier:
    """Load the model, and the heads of own labels; those that are put into their folder later are taken up with the
    next report.

    Raises:
        BundleError: the model or the heads cannot be loaded.
        InputError: the table of releases cannot.
    """
    classifier = Classifier(model, threads=threads)
    if releases is not None:
        classifier.releases = read_table(releases).releases
    if own is not None:
        configure_logging(log_level)  # the model's process has to do this itself
        classifier.own = OwnShelf(Path(own), classifier.bundle, _keep_heads)
    return classifier


def _keep_heads(error: BundleError) -> None:
    log(logging.ERROR, "own_labels_refused", reason=str(error))


class ModelError(Exception):
    """The model failed on a report, or its process died. The text names a type and a place, never a report."""


class ModelGoneError(ModelError):
    """The model's process was killed, as where memory runs out, or cannot be started: as a rule no fault of the report,
    which may be sent again.
    """


class ModelProcess:
    """One process; for one thread. It is started when it is first needed, and anew after it was ended."""

    def __init__(self, load: Callable[[], Classifier], deadline_s: float) -> None:
        """Set up; the process starts with the first work.

        Args:
            load: Makes the classifier, in the process; can be pickled.
            deadline_s: CPU time that one piece of work may take.
        """
        self._load = load
        self._deadline_s = deadline_s
        self._process: Any = None
        self._connection: Connection | None = None

    def start(self) -> Bundle:
        """Start the process and wait until its model is loaded.

        Returns:
            The model's bundle, verified there.

        Raises:
            BundleError: the model cannot be loaded.
        """
        ours, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(
            target=_serve, args=(theirs, self._load, self._deadline_s), name="distriage-model", daemon=True
        )
        self._process.start()
        theirs.close()
        self._connection = ours
        try:
            answer = ours.recv()
        except EOFError:
            answer = BundleError(f"the model cannot be loaded: its process ended with {self._end()}")
        if isinstance(answer, Bundle):
            return answer
        self.stop()
        raise answer

    def ready(self) -> None:
        """Start the process anew if it ended, or now if it has not been started.

        Raises:
            ModelGoneError: it cannot be started.
        """
        if self._connection is not None and not self._process.is_alive():
            self._end()  # killed while it waited, as where memory runs out
        if self._connection is None:
            try:
                self.start()
            except DistriageError as error:  # of the model, not of the work
                raise ModelGoneError(str(error)) from None

    def run(self, work: Callable[Concatenate[Classifier, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `work(classifier, ...)` in the process; arguments and result are pickled.

        Raises:
            InputError: it took longer than the deadline.
            ModelGoneError: the process was killed meanwhile, or cannot be started anew.
            ModelError: it failed otherwise.
            DistriageError: raised by `work`.
        """
        self.ready()
        connection = self._connection
        assert connection is not None
        try:
            connection.send((work, args, kwargs))
            if not connection.poll(WALL_FACTOR * self._deadline_s):
                self.stop()
                raise self._too_long()
            answer = connection.recv()
        except (EOFError, OSError):
            code = self._end()
            if code == -signal.SIGPROF:
                raise self._too_long() from None
            kind = ModelGoneError if code == -signal.SIGKILL else ModelError
            raise kind(f"the model's process ended with {code}") from None
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]

    def stop(self) -> None:
        """End the process, even a busy one."""
        if self._connection is not None:
            self._process.kill()
            self._end()

    def _end(self) -> int | None:
        """Collect the process; returns its exit code."""
        assert self._connection is not None
        self._connection.close()
        self._connection = None
        self._process.join(1)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        code: int | None = self._process.exitcode
        self._process.close()
        self._process = None
        return code

    def _too_long(self) -> InputError:
        return InputError(f"the report takes more than {self._deadline_s:g} s of computing time to read")


def _serve(connection: Connection, load: Callable[[], Classifier], deadline_s: float) -> None:
    """The process: loads the model, then works until its parent closes the pipe."""
    for number in (signal.SIGINT, signal.SIGTERM):  # meant for the parent, which finishes work under way
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    try:
        classifier = load()
        if Similar.available(classifier.bundle):
            _ = classifier.similar  # loaded now, not by the first report that asks for it
    except Exception as error:
        connection.send(error if isinstance(error, DistriageError) else BundleError(without_message(error)))
        return
    connection.send(classifier.bundle)
    while True:
        try:
            work, args, kwargs = connection.recv()
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_PROF, deadline_s)
        try:
            answer = work(classifier, *args, **kwargs)
        except DistriageError as error:
            answer = error
        except Exception as error:
            answer = ModelError(without_message(error))
        signal.setitimer(signal.ITIMER_PROF, 0)
        try:
            connection.send(answer)
        except OSError:  # the parent is gone
            os._exit(1)
