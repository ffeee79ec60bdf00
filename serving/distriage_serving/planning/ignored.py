"""Why an issue is left alone. Pure."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

from distriage_serving.configuration.model import IgnoreConfig
from distriage_serving.planning.types import IssueState

MAX_MATCHED_CHARS: Final = 1000  # GitHub's titles hold at most 256


def why_ignored(state: IssueState, ignore: IgnoreConfig) -> str | None:
    """Why an issue is left alone, if so."""
    if state.is_pull_request:
        return "it is a pull request"
    if state.converted:
        return "it was converted to a discussion"
    if state.author_is_bot:
        return "a bot wrote it"
    if state.sender_is_bot:
        return "a bot caused the event"
    if any(matches(pattern, state.author) for pattern in ignore.authors):
        return "its author is ignored by the configuration"
    if any(matches(pattern, label) for pattern in ignore.labels for label in state.labels):
        return "it has a label that is ignored by the configuration"
    if any(matches(pattern, state.title) for pattern in ignore.titles):
        return "its title is ignored by the configuration"
    return None


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern with `*` and `?` matches a whole text, in any case; `[` is an ordinary character."""
    return fnmatchcase(text[:MAX_MATCHED_CHARS].casefold(), pattern.casefold().replace("[", "[[]"))
