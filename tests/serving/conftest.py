"""The tests of `serving/` need the extra `serve`, and models to serve; what several of them share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.databases import new_sqlite, write_sql_once
from support.extras import module_or_skip
from support.github import GitHub

if TYPE_CHECKING:
    from distriage_serving.store import Store

    from support.github_description import Prism

NEEDED = ("fastapi", "sqlalchemy", "alembic", "jinja2", "jwt", "prometheus_client", "uvicorn")
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Skip a file whose extra is not installed."""
    return module_or_skip(module_path, parent, "serve", *NEEDED)


@pytest.fixture(scope="session")
def prism_and_double(node_modules: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Prism, GitHub]]:
    """As `before_prism` says; Prism takes seconds to start."""
    from support.described_github import before_prism

    with before_prism(node_modules, tmp_path_factory.mktemp("prism")) as both:
        yield both


@pytest.fixture
def app_github(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    """A GitHub with an App on it, which GITHUB_API_URL points to."""
    double = GitHub(app=True)
    monkeypatch.setenv("GITHUB_API_URL", double.url)
    yield double
    double.close()


@pytest.fixture
def sqlite_store() -> Iterator[Store]:
    """SQLite in memory, for tests of what does not differ between databases and need not last."""
    from distriage_serving.store import Store

    with (
        tempfile.TemporaryDirectory(dir=MEMORY) as folder,
        Store.open(new_sqlite(Path(folder, "store.db"))) as opened,
    ):
        yield opened


@pytest.fixture(scope="session", autouse=True)
def _sql_is_written_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        write_sql_once(patch)
        yield


@pytest.fixture(scope="session", autouse=True)
def _tokens_are_stretched_once() -> Iterator[None]:
    """scrypt takes 40 ms of CPU, at each start with a queue and at each login, and says the same of the same token."""
    from distriage_serving import administrators

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(administrators, "stretch", cache(administrators.stretch))
        yield
