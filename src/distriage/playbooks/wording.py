"""A sentence of a playbook as it holds without NVIDIA's cards, Linux, PyTorch or training. Pure, but for its data."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

from distriage.facts.situation import Platform, Situation


def worded(text: str, situation: Situation) -> str | None:
    """The sentence with the commands that there are in a situation; None: it needs one that there is not."""
    for name in _tables_of(situation):
        words, pattern = _table(name)
        if any(not words[found] for found in pattern.findall(text)):
            return None
        text = pattern.sub(lambda match: words[match.group()], text)  # noqa: B023 (called at once)
    return text


def _tables_of(situation: Situation) -> list[str]:
    held = {"without-torch": situation.library is not None, "serving": situation.serving}
    platform = [] if situation.platform is Platform.NVIDIA else [str(situation.platform)]
    return [*platform, *(name for name, holds in held.items() if holds)]


@cache
def _data() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((resources.files("distriage.playbooks") / "elsewhere.toml").read_text(encoding="utf-8"))


@cache
def _table(name: str) -> tuple[Mapping[str, str], re.Pattern[str]]:
    words = _data()[name]
    return words, re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))
