"""A browser before a queue: Debian's chromium, driven by Playwright."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="needs playwright: pip install 'distriage[dev]'")

from playwright.sync_api import expect, sync_playwright

from distriage.classifier import Classifier

from support.queue_demo import log_in
from support.queue_server import TOKEN, Queue, queue

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = Path("/usr/bin/chromium")
WAIT_MS = 60_000  # on a machine that is busy with other things
OpenPage = Callable[..., "Page"]


@pytest.fixture(scope="module")
def site(keyword_classifier: Classifier, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    """A queue without issues."""
    with queue(keyword_classifier, tmp_path_factory.mktemp("queue")) as opened:
        yield opened


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Started once for all tests of a module."""
    expect.set_options(timeout=WAIT_MS)
    if not CHROMIUM.is_file():
        pytest.skip("needs chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        yield (launched := playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]))
        launched.close()


@pytest.fixture
def open_page(site: Queue, browser: Browser) -> Iterator[OpenPage]:
    """Logs in and opens a page; at the end no script has failed and none was blocked."""
    complaints: list[str] = []
    contexts = []

    def open_one(path: str = "/queue", *, width: int = 1280, **options: object) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console", lambda message: complaints.append(message.text) if message.type in {"error", "warning"} else None
        )
        log_in(page, site.url, TOKEN)
        page.goto(site.url + path)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert complaints == []
