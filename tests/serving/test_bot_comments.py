# ruff: noqa: F401, F811  # fixtures
"""What a maintainer says to the bot, and what becomes of its own comment."""

from __future__ import annotations

import pytest

from distriage.model.taxonomy import default_taxonomy
from distriage_serving.bot.answers import label_names
from distriage_serving.bot.commands import Wrong, parse_command
from distriage_serving.configuration.model import RepositoryConfig
from distriage_serving.planning.marker import Marker

from support.bot import COMMENTED, HANG, ISSUE, LEAK, OOM, Bot, bot, github, make, store
from support.github import PERSON

FILE = "owner/repo/.github/distriage.yml"


def test_a_command_that_is_not_understood_is_answered_once(bot: Bot) -> None:
    bot.issue("opened")
    comment = bot.say("/triage wrong symptom=hangg")
    (_, answer) = bot.github.comments(ISSUE)
    assert "- `/triage wrong symptom=hangg`: `unknown label 'hangg'" in answer
    assert bot.github.reactions == {comment["id"]: ["confused"]} and bot.github.labels(ISSUE) == [HANG]
    second = bot.say("/triage wrong symptom=@octocat`")
    shown = bot.github.comments(ISSUE)
    assert len(shown) == 3 and "octocat" in shown[1]  # the same comment, edited
    bot.mend(comment, "/triage wrong symptom=oom")
    assert bot.github.reactions[comment["id"]] == ["+1"]  # in place of the other
    assert bot.github.labels(ISSUE) == [OOM] and "hangg" not in bot.github.comments(ISSUE)[1]
    bot.mend(second, "/triage wrong symptom=leak")
    assert bot.github.labels(ISSUE) == [LEAK] and "It is now" in bot.github.comments(ISSUE)[1]


@pytest.mark.parametrize("lines", ["\n", "\r\n"])
@pytest.mark.parametrize("first", [0, 1])
def test_the_answer_stays_while_a_command_of_another_comment_is_open(bot: Bot, first: int, lines: str) -> None:
    bot.issue("opened")
    comments = [bot.say("/triage wong <!-- of 7 -->"), bot.say("/triage wrong symtom")]
    answer = bot.github.comments(ISSUE)[1]
    assert "`/triage wong" in answer and "`/triage wrong symtom`" in answer
    (own,) = [event for event in bot.github.timelines[ISSUE] if "distriage:answer" in event.get("body", "")]
    own["body"] = own["body"].replace("\n", lines)
    bot.say("/triage undo")
    bot.mend(comments.pop(first), "/triage wrong symptom=oom")
    answer = bot.github.comments(ISSUE)[1]
    left = ["`/triage wong", "`/triage wrong symtom`"]
    assert left.pop(first) not in answer and left[0] in answer and "It is now" not in answer
    bot.mend(comments[0], "/triage wrong symptom=leak")
    assert "It is now" in bot.github.comments(ISSUE)[1] and left[0] not in bot.github.comments(ISSUE)[1]


def test_nothing_is_open_of_a_comment_that_was_deleted(bot: Bot) -> None:
    bot.issue("opened")
    gone = bot.say("/triage wong")
    comment = bot.say("/triage wrong symtom")
    bot.github.timelines[ISSUE].remove(gone)
    bot.mend(comment, "/triage wrong symptom=oom")
    assert "It is now" in bot.github.comments(ISSUE)[0]


def test_an_edit_leaves_what_is_said_of_the_comment_s_other_commands(bot: Bot) -> None:
    bot.issue("opened")
    comment = bot.say("/triage wong\n\n/triage wrong symtom")
    bot.mend(comment, "/triage wrong symptom=oom\n\n/triage wrong symtom")
    answer = bot.github.comments(ISSUE)[1]
    assert "wong" not in answer and "- `/triage wrong symtom`: " in answer and bot.github.labels(ISSUE) == [OOM]
    bot.mend(comment, "/triage wrong symtom")
    assert bot.github.reactions[comment["id"]] == ["+1"] and "symtom" in bot.github.comments(ISSUE)[1]
    bot.mend(comment, "Never mind.")  # no new command, but one less that is wrong
    assert "It is now" in bot.github.comments(ISSUE)[1] and bot.github.reactions[comment["id"]] == []
    assert bot.github.labels(ISSUE) == [OOM]


def test_several_commands_in_one_comment_all_count(bot: Bot) -> None:
    bot.github.files[FILE] = "axes: {symptom: true, fix: true}\n"
    bot.issue("opened")
    bot.say("/triage wrong symptom oom\n\nand\n\n/triage wrong fix none")
    assert bot.github.labels(ISSUE) == [OOM]


def test_an_edited_comment_counts_once(bot: Bot) -> None:
    bot.issue("opened")
    comment = bot.say("/triage wrong symptom=oom")
    edited = {**comment, "body": "Sorry, a typo.\n\n/triage wrong symptom=oom", "updated_at": "2024-05-03T10:00:00Z"}
    changes = {"body": {"from": comment["body"]}}
    bot.deliver("issue_comment", bot.github.payload("edited", ISSUE, PERSON, comment=edited, changes=changes))
    bot.settle()
    assert bot.reviews() == [("command", "oom", "maintainer", "hang")]


@pytest.mark.parametrize(("lines", "theirs"), [("\n", ""), ("\r\n", ""), ("\n", "\n\nSee the FAQ.")])
def test_what_a_maintainer_wrote_into_our_comment_stays(bot: Bot, lines: str, theirs: str) -> None:
    bot.github.files[FILE] = COMMENTED
    bot.issue("opened")
    (own,) = [event for event in bot.github.timelines[ISSUE] if event["event"] == "commented"]
    own["body"] = own["body"].replace("\n", lines) + theirs
    bot.github.issues[ISSUE] |= {"title": "It leaks", "body": "memory grows grows"}
    bot.issue("edited")
    (shown,) = bot.github.comments(ISSUE)
    assert bot.github.labels(ISSUE) == [LEAK] and shown.endswith(theirs) and ("leak" in shown) is (theirs == "")


def test_a_command_for_another_bot_is_not_answered(bot: Bot) -> None:
    bot.issue("opened")
    bot.say("/triage accepted")
    assert bot.github.comments(ISSUE) == ["/triage accepted"] and bot.github.reactions == {}


def test_a_comment_that_backfill_wrote_in_a_person_s_name_is_no_command(bot: Bot) -> None:
    bot.issue("opened")
    bot.say(Marker.of(text := "Is it wrong? Then say\n\n/triage wrong").write(text))
    assert bot.github.labels(ISSUE) == [HANG] and bot.reviews() == [] and bot.github.reactions == {}


@pytest.mark.parametrize("config", ["axes: {symptom: true}\ndry-run: true\n", "axes: {symtom: true}\n"])
def test_no_command_is_answered_in_a_dry_run_or_while_the_configuration_is_broken(bot: Bot, config: str) -> None:
    bot.github.files[FILE] = config
    bot.issue("opened")
    comment = bot.say("/triage wong")
    bot.mend(comment, "/triage wrong symptom=oom")
    assert bot.writes() == [] and bot.github.reactions == {} and bot.github.labels(ISSUE) == []
    assert [label for _, label, *_ in bot.reviews()] == ["oom"]
    bot.say("/triage wrong symptom=hangg")
    assert bot.writes() == []
    bot.github.files[FILE] = "axes: {symptom: true}\n"
    bot.say("/triage")
    assert bot.github.labels(ISSUE) == [OOM]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("/triage undo", "There is no decision to take back."),
        ("/triage wrong", "Nothing was said of this issue yet, so nothing of it can be wrong."),
    ],
)
def test_a_command_that_has_nothing_to_do_is_answered_in_one_sentence(bot: Bot, command: str, says: str) -> None:
    comment = bot.say(command)
    (_, answer) = bot.github.comments(ISSUE)
    assert answer.splitlines()[1:] == [says]
    bot.say(f"{command}\n\n/triage wong")
    answer = bot.github.comments(ISSUE)[1]
    assert says in answer and "- `/triage wong`: " in answer
    assert f"`{command}`: " not in answer and bot.github.reactions[comment["id"]] == ["confused"]


def test_a_label_is_known_by_the_name_that_the_queue_shows() -> None:
    found = label_names(RepositoryConfig(), default_taxonomy())
    assert found["symptom"]["Runtime hang"] == "runtime-hang"
    command = parse_command("/triage wrong symptom: Runtime hang, stage", default_taxonomy(), found)
    assert command == Wrong({"symptom": "runtime-hang", "stage": None})
    command = parse_command(
        "/triage wrong stage, Root cause: missing validation, distributed no", default_taxonomy(), found
    )
    assert command == Wrong({"stage": None, "cause": "missing-validation", "distributed": "false"})


def test_a_label_is_known_by_the_name_that_the_configuration_gives_it(bot: Bot) -> None:
    bot.github.files[FILE] = "axes: {symptom: {labels: {oom: C OOM, leak: 'Grows: slowly'}}}\n"
    bot.issue("opened")
    bot.say("/triage wrong symptom `C oom`.")
    assert bot.github.labels(ISSUE) == ["C OOM"]
    bot.say("/triage wrong symptom: grows: slowly.")
    assert bot.github.labels(ISSUE) == ["Grows: slowly"]
    bot.say("/triage wrong symptom C ooom")
    answer = bot.github.comments(ISSUE)[-1]
    assert "unknown label 'c ooom' of axis symptom; did you mean 'C OOM'?" in answer
    assert "`: `unknown label" in answer  # which stands before it once
