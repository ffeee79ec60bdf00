"""A queue, and its administrator."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from distriage.classifier import Classifier

from support.queue_server import Queue, log_in, queue, visitor


@pytest.fixture(scope="module")
def site(keyword_classifier: Classifier, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    """An empty queue."""
    with queue(keyword_classifier, tmp_path_factory.mktemp("queue")) as opened:
        yield opened


@pytest.fixture
def stranger(site: Queue) -> Iterator[httpx.Client]:
    """A visitor who is not logged in."""
    with visitor(site) as client:
        yield client


@pytest.fixture
def admin(stranger: httpx.Client) -> httpx.Client:
    """The administrator, logged in."""
    assert log_in(stranger).headers["location"] == "/queue"
    return stranger
