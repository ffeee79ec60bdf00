from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from distriage.base.errors import GitHubError
from distriage.base.times import epoch_s
from distriage.github.history import read_history
from distriage.past.issue import read_item

from support.past_issues import REPOSITORY, past_issue

MAY_S = 1_714_557_600.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2024-05-01T10:00:00Z", MAY_S),
        ("2024-05-01T12:00:00+02:00", MAY_S),
        ("2024-05-01T10:00:00", MAY_S),
        ("May", 0.0),
        ("0001-01-01T00:00:00", 0.0),
        ("9999-12-31T23:59:59-23:59", 0.0),
        ("0001-01-01T00:00:00+23:59", 0.0),
        (None, 0.0),
        (7, 0.0),
    ],
)
def test_a_time_is_utc_where_it_says_nothing_and_what_is_none_is_zero(text: object, seconds: float) -> None:
    assert epoch_s(text) == seconds


@pytest.fixture
def far_away(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose clock is not on UTC."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


class OnePage:
    """In place of `Client`: a repository with one issue and no forms."""

    api = "https://api.example.com"

    def get(self, *_: object, **__: object) -> None:
        raise GitHubError("404: Not Found")

    def pages(self, *_: object) -> Iterator[tuple[list[dict[str, Any]], None]]:
        yield [{**past_issue(1, "It fails", ["bug"]), "created_at": "2024-05-01T10:00:00"}], None


@pytest.mark.usefixtures("far_away")
def test_dates_of_a_file_do_not_depend_on_where_they_are_read(tmp_path: Path) -> None:
    assert epoch_s("2024-05-01T10:00:00") == MAY_S
    item = {"title": "It fails", "number": 1, "created": "2024-05-01T10:00:00"}
    found = read_item(item, "owner/repo", "x.jsonl:1")
    assert found is not None and found[0].filed_at == MAY_S
    history = read_history(OnePage(), REPOSITORY, tmp_path / "h.jsonl", None, lambda _: None)  # type: ignore[arg-type]
    assert history.issues[0].created_at == MAY_S
