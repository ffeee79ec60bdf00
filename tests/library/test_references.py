from __future__ import annotations

import pytest

from distriage.base.errors import InputError
from distriage.base.references import IssueReference, parse_reference, repository_of, web_link
from distriage.base.types import IssueReport
from distriage.github.client import Client
from distriage.reading.report import read


@pytest.mark.parametrize(
    "text",
    [
        "owner/repo#12",
        " owner/repo#12\n",
        "https://github.com/owner/repo/issues/12",
        "http://github.com/owner/repo/issues/12?x=1",
        "github.com/owner/repo/pull/12#issuecomment-99",
        "https://ghe.example.com/owner/repo/issues/12/",
        "owner/repo/issues/12",
        "https://api.github.com/repos/owner/repo/issues/12",
        "https://ghe.example.com/api/v3/repos/owner/repo/issues/12",
    ],
)
def test_references_and_urls_are_read(text: str) -> None:
    assert parse_reference(text) == IssueReference("owner/repo", 12)
    assert str(parse_reference(text)) == "owner/repo#12"


@pytest.mark.parametrize("text", ["https://gitlab.com/a/b/issues/1", "http://elsewhere/o/r/issues/3"])
def test_an_issue_of_another_host_is_none_of_github_s(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_API_URL", raising=False)
    with pytest.raises(InputError, match=r"expected an issue of github\.com"):
        parse_reference(text, Client(None).hosts)
    assert parse_reference("https://www.github.com/a/b/issues/1", Client(None).hosts) == IssueReference("a/b", 1)
    assert parse_reference(text, Client(None, "https://ghe.example/api/v3").hosts).number in {1, 3}


def test_names_may_hold_dots_and_dashes() -> None:
    assert parse_reference("https://github.com/repos/api/issues/3") == IssueReference("repos/api", 3)
    assert parse_reference("NVIDIA/Megatron-LM.fork_2#1") == IssueReference("NVIDIA/Megatron-LM.fork_2", 1)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "12",
            "#12",
            "repo#12",
            "owner/repo",
            "owner/repo#",
            "owner/repo#0",
            "owner/repo#x",
            "owner/repo#1 2",
            "owner/repo#12345678901",
        ),
        *(
            "owner/repo/commit/12",
            "owner/..#12",
            "owner/.#12",
            "../../user#12",
            "https://github.com/owner/repo",
            "owner/re po#12",
            "owner/repo#12\nx",
        ),
    ],
)
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_reference(text)
    assert str(refused.value) == f"{text!r}: expected owner/repo#number or the issue's URL"


@pytest.mark.parametrize(
    ("url", "leads"),
    [
        ("https://github.com/owner/repo/issues/12?x=1#issuecomment-99", True),
        ("http://ghe.example.com/a(b)", True),
        ("javascript:alert(1)", False),
        ("//example.com", False),
        ("https://", False),
        ("https://example.com/ onclick=x", False),
        ('https://example.com/">', False),
        ("https://example.com\n", False),
        ("", False),
        ("https://" + "a" * 1_000_000 + " ", False),
    ],
)
def test_a_link_leads_to_a_page_of_the_web_or_nowhere(url: str, leads: bool) -> None:
    assert web_link(url) == (url if leads else "")


@pytest.mark.parametrize(
    ("identifier", "repository"),
    [
        ("Owner/Repo#12", "owner/repo"),
        ("notes/bug#3.md", None),
        ("/reports/bug#3", None),
        ("bug#3", None),
        ("owner/repo", None),
        ("", None),
    ],
)
def test_only_the_name_of_an_issue_tells_its_repository(identifier: str, repository: str | None) -> None:
    assert repository_of(identifier) == repository
    assert read(IssueReport("It hangs", "", identifier)).tracker == (repository or "")
