"""The browser, started once, and a queue for each file."""

from __future__ import annotations

import importlib.util

if importlib.util.find_spec("playwright") is not None:  # else each file is skipped, and says what it needs
    from support.queue_browser import browser, open_page, page, site  # noqa: F401  # fixtures
