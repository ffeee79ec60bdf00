from __future__ import annotations

import contextlib

import pytest

pytest.importorskip("sqlalchemy", reason="needs sqlalchemy: pip install 'distriage[serve]'")

from distriage_serving.bot.commands import MAX_LINE_CHARS, LookAgain, Undo, Wrong, find_command, parse_command
from distriage_serving.bot.deliveries import effects_of
from hypothesis import given
from hypothesis import strategies as st

from distriage.errors import InputError
from distriage.taxonomy import default_taxonomy

TAXONOMY = default_taxonomy()


@pytest.mark.parametrize(
    ("comment", "line"),
    [
        ("/triage", "/triage"),
        ("Thank you.\r\n\r\n  /triage undo  \r\nBye.", "/triage undo"),
        ("```\n/triage undo\n```\n/triage", "/triage"),
        ("~~~~\n```\n/triage undo\n~~~~\n/triage", "/triage"),
        ("/triage undo\n/triage", "/triage undo"),
        ("> /triage", None),
        ("    /triage", None),
        ("`/triage`", None),
        ("use /triage", None),
        ("/triages", None),
        ("```\n/triage", None),
        ("", None),
    ],
)
def test_a_command_is_a_line_of_its_own_outside_of_code_and_quotations(comment: str, line: str | None) -> None:
    assert find_command(comment) == line


def test_an_endless_line_is_cut() -> None:
    assert find_command("/triage wrong " + "x" * 10**6) == ("/triage wrong " + "x" * 10**6)[:MAX_LINE_CHARS]


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("/triage", LookAgain()),
        ("/triage undo", Undo()),
        ("/triage wrong", Wrong({})),
        ("/triage wrong symptom", Wrong({"symptom": None})),
        ("/triage wrong symptom=none", Wrong({"symptom": None})),
        ("/triage WRONG Symptom=Runtime-Hang cause", Wrong({"symptom": "runtime-hang", "cause": None})),
    ],
)
def test_commands(line: str, command: object) -> None:
    assert parse_command(line, TAXONOMY) == command


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/triage please", "'please': expected nothing, `wrong`"),
        ("/triage undo all", "'undo'"),
        ("/triage wrong symtom=runtime-hang", "unknown axis 'symtom'; did you mean 'symptom'? known: kind"),
        ("/triage wrong symptom=runtime-hung", "unknown label 'runtime-hung' of axis symptom; did you mean 'runtime-hang'?"),
        ("/triage wrong symptom=", "unknown label ''"),
    ],
)
def test_what_is_not_understood_is_named(line: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        parse_command(line, TAXONOMY)
    assert message in str(error.value)


@given(st.text(max_size=300))
def test_any_comment_is_a_command_or_none_or_an_error_with_a_name(text: str) -> None:
    line = find_command("/triage " + text)
    assert line is not None
    with contextlib.suppress(InputError):
        parse_command(line, TAXONOMY)


# ---------------------------------------------------------------- deliveries

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.sampled_from(["owner/repo", "opened", "created", "deleted", "Bot", "/triage"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "action",
                    "issue",
                    "repository",
                    "installation",
                    "sender",
                    "comment",
                    "full_name",
                    "number",
                    "id",
                    "type",
                    "user",
                    "body",
                    "pull_request",
                    "head",
                ]
            ),
            inner,
        )
    ),
    max_leaves=25,
)


@given(st.sampled_from(["issues", "issue_comment", "pull_request", "installation", "installation_repositories", "ping"]), st.dictionaries(st.text(), ANY) | ANY)
def test_no_payload_breaks_the_reading_of_deliveries(event: str, payload: object) -> None:
    if isinstance(payload, dict):
        effects = effects_of(event, payload)
        assert effects.ignored is None or effects.job is None


BASE = {
    "action": "opened",
    "issue": {"number": 3, "user": {"login": "alice", "type": "User"}},
    "repository": {"full_name": "Owner/Repo"},
    "installation": {"id": 5},
    "sender": {"login": "alice", "type": "User"},
}


def test_an_issue_in_any_spelling_of_its_repository_waits_under_one_key() -> None:
    first, second = (effects_of("issues", {**BASE, "repository": {"full_name": name}}).job for name in ("Owner/Repo", "owner/repo"))
    assert first == second and first is not None and first.key == "triage:owner/repo#3" and not first.debounced
    edited = effects_of("issues", {**BASE, "action": "edited"}).job
    assert edited is not None and edited.debounced and edited.key == first.key


@pytest.mark.parametrize(
    ("event", "changes", "why"),
    [
        ("issues", {"action": "assigned"}, "nothing to do for the action assigned"),
        ("issues", {"installation": None}, "belongs to no App"),
        ("issues", {"issue": {"number": True}}, "no repository or number"),
        ("issues", {"repository": {"full_name": "../../etc"}}, "no repository or number"),
        ("issues", {"issue": {"number": 3, "pull_request": {}}}, "pull request"),
        ("issue_comment", {"action": "edited", "comment": {"id": 1, "body": "/triage", "user": {"login": "a"}, "created_at": "2024-01-01"}}, "no new comment"),
        ("issue_comment", {"action": "created", "comment": {"id": 1, "body": None}}, "no new comment"),
        ("push", {}, "nothing to do for the event push"),
        ("ping", {}, "nothing to do for the event ping"),
    ],
)
def test_what_asks_for_nothing_says_why(event: str, changes: dict[str, object], why: str) -> None:
    effects = effects_of(event, {**BASE, **changes})
    assert effects.job is None and why in str(effects.ignored)
