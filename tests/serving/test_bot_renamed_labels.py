# ruff: noqa: F401, F811  # fixtures
"""Labels of ours that a maintainer renamed on GitHub."""

from __future__ import annotations

import pytest

from distriage_serving.configuration.names import resolve

from support.bot import BODY, CONFIG, HANG, ISSUE, OOM, TITLE, Bot, bot, github, make, store
from support.github import PERSON
from support.plans import TAXONOMY, config

OTHER = "owner/repo#2"


def other_issue(bot: Bot) -> list[str]:
    """The labels that the next issue gets."""
    bot.github.open(OTHER, TITLE, BODY)
    bot.deliver("issues", bot.github.payload("opened", OTHER))
    bot.settle()
    return bot.github.labels(OTHER)


def test_a_renamed_label_is_set_under_its_new_name_and_not_created_anew(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.rename_label("owner/repo", HANG, "Hang!")
    bot.issue("edited")
    assert bot.github.labels(ISSUE) == ["Hang!"] == other_issue(bot)
    assert set(bot.github.repository_labels["owner/repo"]) == {"hang!"}
    bot.say("/triage wrong symptom oom")  # what the history calls by the old name was ours
    assert bot.github.labels(ISSUE) == [OOM]


def test_a_renamed_label_that_a_person_took_off_stays_off(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.unlabel(ISSUE, HANG, PERSON)
    bot.github.rename_label("owner/repo", HANG, "hang")
    bot.issue("edited")
    assert bot.github.labels(ISSUE) == [] and bot.reviews() == [("unlabel", None, "maintainer", "hang")]


def test_a_renamed_label_that_a_person_set_leaves_the_axis_to_her(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.rename_label("owner/repo", HANG, "hang")
    bot.github.issues[ISSUE] |= {"title": "It leaks", "body": "memory grows grows"}
    bot.github.unlabel(ISSUE, "hang", bot.github.bot)
    bot.github.label(ISSUE, "hang", PERSON)
    bot.issue("edited")
    assert bot.github.labels(ISSUE) == ["hang"] and bot.reviews() == [("label", "hang", "maintainer", "hang")]


def test_a_label_whose_description_was_changed_too_is_created_anew(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.rename_label("owner/repo", HANG, "hang")
    bot.github.repository_labels["owner/repo"]["hang"]["description"] = "It stands still"
    assert other_issue(bot) == [HANG]


FILE = "owner/repo/.github/distriage.yml"
NAMED = "axes: {symptom: {labels: {hang: stuck, oom: full}}}\n"


@pytest.mark.parametrize("later", [NAMED.replace("stuck", "frozen"), "needs-triage: true\naxes: {symptom: false}"])
@pytest.mark.parametrize("on_github", ["stuck", "Hung"])
def test_a_label_that_the_file_no_longer_names_is_still_ours(bot: Bot, later: str, on_github: str) -> None:
    bot.github.files[FILE] = NAMED
    bot.issue("opened")
    bot.issue("edited")  # sees the label by its id
    if on_github != "stuck":
        bot.github.rename_label("owner/repo", "stuck", on_github)
    bot.github.files[FILE] = later
    bot.clock.now += 3600  # the file is read again
    bot.issue("edited")
    named = "frozen" if "frozen" in later else on_github
    assert bot.github.labels(ISSUE) == [named]
    bot.say("/triage wrong symptom hang")
    assert bot.github.labels(ISSUE) == [named]
    bot.say("/triage wrong symptom")
    assert bot.github.labels(ISSUE) == []


def test_a_former_name_that_a_person_set_is_hers(bot: Bot) -> None:
    bot.github.files[FILE] = NAMED
    bot.issue("opened")
    bot.github.files[FILE] = NAMED.replace("stuck", "frozen")
    bot.clock.now += 3600
    bot.github.unlabel(ISSUE, "stuck", PERSON)
    bot.github.label(ISSUE, "stuck", PERSON)
    bot.say("/triage wrong symptom oom")
    assert bot.github.labels(ISSUE) == ["stuck", "full"]


def test_a_former_name_that_a_person_took_off_is_not_set_under_its_new_one(bot: Bot) -> None:
    bot.github.files[FILE] = NAMED
    bot.issue("opened")
    bot.github.files[FILE] = NAMED.replace("stuck", "frozen")
    bot.clock.now += 3600
    bot.github.unlabel(ISSUE, "stuck", PERSON)
    bot.issue("edited")
    assert bot.github.labels(ISSUE) == []


RUNTIME, SETUP = ("symptom: runtime-hang", "symptom: setup-hang")
HANGS = {RUNTIME: "hang"}


def description(label: str) -> str:
    return resolve(config(), TAXONOMY).axes["symptom"].labels[label].description


FAMILY = resolve(config(), TAXONOMY).axes["symptom"].families["memory"].description
NEEDED = "Distriage is not sure; a person has to look."


@pytest.mark.parametrize(
    ("text", "there", "renamed"),
    [
        ("", {"hang": "runtime-hang"}, {RUNTIME: "hang"}),
        ("", {"hang": "runtime-hang", RUNTIME.upper(): "x"}, {}),  # it is there
        ("", {"hang": "runtime-hang", "hung": "runtime-hang"}, {}),  # which of the two?
        ("", {SETUP: "runtime-hang"}, {}),  # another one of ours
        # A name that the file gives is the one that is meant, whatever the label was called under an earlier file.
        ("axes: {symptom: {labels: {runtime-hang: hang}}}", {RUNTIME: "runtime-hang"}, {}),
        ("axes: {symptom: {prefix: 'S/'}}", {RUNTIME: "runtime-hang"}, {}),
        ("axes: {symptom: {families: {prefix: 'S/'}}}", {"symptom: memory": FAMILY, "hang": "runtime-hang"}, HANGS),
        ("needs-triage: 'status: triage'", {"triage": NEEDED}, {}),
        ("needs-triage: true", {"triage": NEEDED}, {"needs-triage": "triage"}),
        ("axes: {symptom: {labels: {runtime-hang: {mode: precise}}}}", {"hang": "runtime-hang"}, HANGS),
        ("axes: {symptom: {labels: {runtime-hang: {description: ''}}}}", {"hang": ""}, {}),
        (
            "axes: {symptom: {labels: {runtime-hang: {description: same}, setup-hang: {description: same}}}}",
            {"hang": "same"},
            {},
        ),
    ],
)
def test_what_counts_as_renamed(text: str, there: dict[str, str], renamed: dict[str, str]) -> None:
    known = TAXONOMY.axes["symptom"].label_ids
    found = {name: description(said) if said in known else said for name, said in there.items()}
    assert resolve(config(text), TAXONOMY, found).renamed == renamed
