"""What a delivery asks for: an effect, or why it asks for nothing."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.base.references import IssueReference
from distriage_serving.bot.deliveries import (
    Access,
    Became,
    Commanded,
    Configured,
    Deleted,
    Effect,
    Ignored,
    Renamed,
    Triage,
    effect_of,
)
from distriage_serving.github.settled import Settled

ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=20)
    | st.sampled_from(["owner/repo", "opened", "created", "deleted", "Bot", "/triage"]),
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


EVENTS = ["issues", "issue_comment", "pull_request", "installation", "installation_repositories", "push", "repository"]


@given(st.sampled_from(EVENTS), st.dictionaries(st.text(), ANY) | ANY)
def test_no_payload_breaks_the_reading_of_deliveries(event: str, payload: object) -> None:
    if isinstance(payload, dict):
        assert isinstance(effect_of(event, payload), get_args(Effect))


@pytest.mark.parametrize("event", ["issues", "issue_comment", "pull_request", "installation", "repository"])
@pytest.mark.parametrize("action", [[], {}, ["opened"], None, 1])
def test_an_action_of_another_type_asks_for_nothing(event: str, action: object) -> None:
    assert isinstance(effect_of(event, {**BASE, "action": action}), Ignored)


@pytest.mark.parametrize(("number", "who"), [(True, "ada"), (10**30, "ada"), (5, "\ud800"), (5, "a\x1b")])
def test_a_comment_that_no_person_can_have_written_asks_for_nothing(number: int, who: str) -> None:
    comment = {"id": number, "body": "/triage", "created_at": "2026-01-01T00:00:00Z"}
    payload = {**BASE, "action": "created", "comment": comment, "sender": {"login": who, "type": "User"}}
    assert isinstance(effect_of("issue_comment", payload), Ignored)


ALICE = {"login": "alice", "type": "User"}
STALE = {"login": "stale[bot]", "type": "Bot"}
BASE: dict[str, Any] = {
    "action": "opened",
    "issue": {"number": 3, "user": ALICE, "updated_at": "2024-05-01T10:00:00Z"},
    "repository": {"full_name": "Owner/Repo", "default_branch": "main"},
    "installation": {"id": 5},
    "sender": ALICE,
}
ISSUE = IssueReference("owner/repo", 3)


def test_an_issue_in_any_spelling_of_its_repository_is_one() -> None:
    for name in ("Owner/Repo", "owner/repo"):
        assert effect_of("issues", {**BASE, "repository": {"full_name": name}}) == Triage(ISSUE, debounced=False)
    assert effect_of("issues", {**BASE, "action": "edited"}) == Triage(ISSUE, debounced=True)


@pytest.mark.parametrize("sender", [ALICE, STALE])
@pytest.mark.parametrize("action", ["closed", "deleted", "transferred"])
def test_whoever_ends_an_issue_has_ended_it(action: Any, sender: dict[str, str]) -> None:
    effect = effect_of("issues", {**BASE, "action": action, "sender": sender})
    assert effect == Became(ISSUE, action, 1_714_557_600.0)


def test_an_issue_that_a_bot_reopened_is_open_and_nothing_else() -> None:
    assert effect_of("issues", {**BASE, "action": "reopened", "sender": STALE}) == Became(
        ISSUE, "open", 1_714_557_600.0
    )
    assert isinstance(effect_of("issues", {**BASE, "action": "reopened"}), Triage)


@pytest.mark.parametrize(
    ("text", "fixed"),
    [("Fixes #3, closes: #4\nresolved #4", {3, 4}), ("fixes owner/other#3, prefix #4, see #5", set()), (None, set())],
)
def test_a_merged_change_says_which_issues_it_fixes(text: str | None, fixed: set[int]) -> None:
    pull = {"number": 40, "title": "T", "body": text, "merged": True, "base": {"ref": "main"}}
    effect = effect_of("pull_request", {**BASE, "action": "closed", "pull_request": pull, "issue": {}})
    assert effect == (Settled("owner/repo", frozenset(fixed), "#40") if fixed else Ignored("no new commits"))
    for unmerged in ({**pull, "merged": False}, {**pull, "base": {"ref": "release"}}):
        assert isinstance(effect_of("pull_request", {**BASE, "action": "closed", "pull_request": unmerged}), Ignored)


@pytest.mark.parametrize(
    ("body", "who", "original"),
    [
        ("Duplicate of #12", "MEMBER", 12),
        ("Thanks!\nduplicate of #12\n", "OWNER", 12),
        ("Duplicate of #12", "NONE", None),
        ("Is it a duplicate of #12?", "MEMBER", None),
    ],
)
def test_a_maintainers_mark_says_which_issue_is_the_original(body: str, who: str, original: int | None) -> None:
    comment = {"id": 7, "body": body, "author_association": who, "created_at": "2026-01-01T00:00:00Z"}
    effect = effect_of("issue_comment", {**BASE, "action": "created", "comment": comment})
    said = Settled("owner/repo", frozenset({3}), f"duplicate of #{original}")
    assert effect == (said if original else Ignored("no new command in the comment"))


@pytest.mark.parametrize(
    ("event", "payload", "effect"),
    [
        (
            "repository",
            {"action": "renamed", "changes": {"repository": {"name": {"from": "Old"}}}},
            Renamed("owner/old", "Owner/Repo"),
        ),
        (
            "repository",
            {"action": "transferred", "changes": {"owner": {"from": {"user": {"login": "Bob"}}}}},
            Renamed("bob/repo", "Owner/Repo"),
        ),
        ("repository", {"action": "deleted"}, Deleted("owner/repo")),
        ("repository", {"action": "created"}, Access()),
        (
            "repository",
            {"action": "transferred", "changes": {"owner": {"from": {"organization": {"login": "Org"}}}}},
            Renamed("org/repo", "Owner/Repo"),
        ),
        (
            "push",
            {"ref": "refs/heads/main", "commits": [{"modified": ["a", ".github/distriage.yml"]}]},
            Configured("owner/repo"),
        ),
        (
            "push",
            {"ref": "refs/heads/main", "commits": [{"added": [".github/ISSUE_TEMPLATE/bug.yml"]}]},
            Configured("owner/repo"),
        ),
    ],
)
def test_repositories_that_moved_or_changed_their_configuration(
    event: str, payload: dict[str, Any], effect: Effect
) -> None:
    assert effect_of(event, {**BASE, **payload}) == effect


COMMENT = {"id": 1, "body": "/triage", "user": ALICE, "created_at": "2024-01-01T00:00:00Z"}


def test_an_edited_comment_asks_for_what_is_new_in_it() -> None:
    later = {**COMMENT, "body": "/triage undo\n/triage wrong stage", "updated_at": "2024-01-02T00:00:00Z"}

    def edited(before: object) -> Effect:
        changes = {"body": {"from": before}}
        return effect_of("issue_comment", {**BASE, "action": "edited", "comment": later, "changes": changes})

    effect = edited("/triage undo")
    assert isinstance(effect, Commanded)
    assert (effect.argument.lines, effect.argument.edited) == (["/triage wrong stage"], True)
    assert effect.argument.at == 1_704_153_600.0
    assert edited("/triage wrong stage\n\n/triage undo") == Ignored("no new command in the comment")
    assert isinstance(edited(None), Commanded)


@pytest.mark.parametrize(
    ("event", "changes", "why"),
    [
        ("issues", {"action": "pinned"}, "nothing to do for the action pinned"),
        ("issues", {"installation": None}, "belongs to no App"),
        ("issues", {"issue": {"number": True}}, "no repository or number"),
        ("issues", {"repository": {"full_name": "../../etc"}}, "no repository or number"),
        ("issues", {"issue": {"number": 3, "pull_request": {}}}, "pull request"),
        ("issues", {"sender": STALE}, "a bot caused it"),
        ("issues", {"issue": {"number": 3, "user": STALE}}, "a bot wrote the issue"),
        *(
            ("issue_comment", {"action": "created", "comment": COMMENT, **changes}, why)
            for changes, why in [
                ({"sender": STALE}, "a bot caused it"),
                ({"comment": {**COMMENT, "user": STALE}}, "a bot caused it"),
                ({"issue": {"number": 3, "user": STALE}}, "a bot wrote the issue"),
                ({"issue": {"number": 3, "pull_request": {}}}, "pull request"),
                ({"sender": {"type": "User"}}, "no person behind it"),
            ]
        ),
        ("issue_comment", {"action": "deleted", "comment": COMMENT}, "nothing to do for the action deleted"),
        ("issue_comment", {"action": "created", "comment": {"id": 1, "body": None}}, "no new command"),
        ("issue_comment", {"action": "created", "comment": {**COMMENT, "created_at": None}}, "no time"),
        ("repository", {"action": "renamed", "changes": {}}, "no old or new name"),
        ("repository", {"action": "archived"}, "nothing to do for the action archived"),
        ("push", {"ref": "refs/heads/other", "commits": []}, "not to the default branch"),
        ("push", {"ref": "refs/heads/main", "commits": [{"added": ["README.md"]}, 3]}, "does not touch"),
        (
            "push",
            {"ref": "refs/heads/main", "commits": [{"added": [".github/distriage.yaml"]}]},
            ".github/distriage.yaml is not read; expected the name .github/distriage.yml",
        ),
        ("ping", {}, "nothing to do for the event ping"),
    ],
)
def test_what_asks_for_nothing_says_why(event: str, changes: dict[str, object], why: str) -> None:
    effect = effect_of(event, {**BASE, **changes})
    assert isinstance(effect, Ignored) and why in effect.why
