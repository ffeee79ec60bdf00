"""The App reads a repository's forms seldom."""

from __future__ import annotations

from distriage.github.forms import FOLDER

from support.bot import ISSUE, Bot, bot, github, make, store
from support.github import GitHub

__all__ = ["bot", "github", "make", "store"]  # fixtures

FORM = "body: [{type: textarea, attributes: {label: Story}}]"


def asked(github: GitHub) -> list[str]:
    """The paths of the requests for forms."""
    return [request.path for request in github.requests if FOLDER in request.path]


def test_requests_do_not_grow_with_the_issues(bot: Bot) -> None:
    bot.github.files[f"owner/repo/{FOLDER}/bug.yml"] = FORM
    repository = ISSUE.partition("#")[0]
    counts = []
    for number in range(1, 4):
        bot.github.requests.clear()
        reference = f"{repository}#{number}"
        bot.github.open(reference, "It hangs", "### Story\n\nIt hangs, hangs and hangs after a timeout.")
        bot.deliver("issues", bot.github.payload("opened", reference))
        bot.settle()
        counts.append(len(asked(bot.github)))
    assert counts == [2, 0, 0]
    bot.github.requests.clear()
    push = bot.github.payload("opened", ISSUE) | {"ref": "refs/heads/main"}
    push["repository"] |= {"default_branch": "main"}
    push["commits"] = [{"modified": [f"{FOLDER}/bug.yml"]}]
    bot.deliver("push", push)
    bot.settle()
    assert asked(bot.github) == []
    bot.issue("edited")
    assert len(asked(bot.github)) == 2
