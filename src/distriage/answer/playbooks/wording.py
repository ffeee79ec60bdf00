"""A sentence of a playbook as it holds in another situation than the one it is written for. Pure, but for its data."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

from distriage.facts.situation import Situation


def worded(text: str, situation: Situation) -> str | None:
    """The sentence with what there is in a situation; None: it needs something that there is not."""
    for name in _tables_of(situation):
        words, pattern = _table(name)
        if any(not words[found] for found in pattern.findall(text)):
            return None
        text = pattern.sub(lambda match: words[match.group()], text)  # noqa: B023 (called at once)
    return text


def _tables_of(situation: Situation) -> list[str]:
    """The last of the file first: what it puts in is called by its name on the platform too."""
    held = {
        "serving": situation.serving,
        "without-server": not (situation.serving and situation.server),
        "one-process": situation.one_process,
        "one-node": situation.one_process,
    }
    names = {situation.platform, *situation.traits, *(name for name, holds in held.items() if holds)}
    return [name for name in reversed(_data()) if name in names]


@cache
def _data() -> dict[str, dict[str, str]]:
    return tomllib.loads((resources.files("distriage.answer.playbooks") / "elsewhere.toml").read_text(encoding="utf-8"))


@cache
def _table(name: str) -> tuple[Mapping[str, str], re.Pattern[str]]:
    words = _data()[name]
    return words, re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))
