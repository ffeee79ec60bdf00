"""A browser before a queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import pytest

pytest.importorskip("playwright", reason="needs playwright: pip install 'distriage[dev]'")

from playwright.sync_api import expect

from distriage.classifier import Classifier

from support import chromium
from support.queue_demo import log_in
from support.queue_server import TOKEN, Queue, queue

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Error, Page

WAIT_MS = 60_000  # on a machine that is busy with other things
# Rule and elements of all that axe has to complain of, which are few enough to read.
COMPLAINTS = """options => axe.run({resultTypes: ["violations"], ...options}).then(({violations}) =>
    violations.map(({id, nodes}) => [id, nodes.map(({html}) => html.slice(0, 200))]))"""
OpenPage = Callable[..., "Page"]
ColorScheme = Literal["light", "dark"]


@pytest.fixture(scope="module")
def site(keyword_classifier: Classifier, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    """A queue without issues."""
    with queue(keyword_classifier, tmp_path_factory.mktemp("queue")) as opened:
        yield opened


def choose_filter(page: Page, name: str, value: str) -> None:
    """Choose in a filter of the list."""
    if page.locator(".fold[open]").count() == 0:
        page.locator(".fold summary").click()
    page.locator(f".panel select[name={name.lower()}]").select_option(value)


def check_access(page: Page) -> None:
    """In the light scheme, axe has nothing to complain of; nor, in the dark one, of the colours."""
    axe = pytest.importorskip(
        "axe_playwright_python.base", reason="needs axe-playwright-python: pip install 'distriage[dev]'"
    )
    page.evaluate(axe.AXE_SCRIPT)
    of_colours = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
    schemes: dict[ColorScheme, dict[str, Any]] = {"light": {}, "dark": of_colours}
    for scheme, options in schemes.items():
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(COMPLAINTS, options) == [], scheme


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Started once for `tests/serving/browser`: to start it takes a second of CPU."""
    expect.set_options(timeout=WAIT_MS)
    with chromium.browser() as launched:
        yield launched


@pytest.fixture(scope="module")
def page(site: Queue, browser: Browser) -> Page:
    """One page for all tests of a module, logged in: a new one starts a process of its own."""
    made = browser.new_page()
    made.set_default_timeout(WAIT_MS)
    log_in(made, site.url, TOKEN)
    return made


@pytest.fixture
def open_page(site: Queue, page: Page) -> Iterator[OpenPage]:
    """Shows an address; at the end no script has failed and none was blocked."""
    complaints: list[str] = []

    def failed(error: Error) -> None:
        complaints.append(str(error))

    def printed(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            complaints.append(message.text)

    def open_one(path: str = "/queue", *, width: int = 1280, height: int = 800) -> Page:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="light")
        page.goto(site.url + path)
        return page

    page.on("pageerror", failed)
    page.on("console", printed)
    yield open_one
    page.remove_listener("pageerror", failed)
    page.remove_listener("console", printed)
    page.unroute_all()
    assert complaints == []
