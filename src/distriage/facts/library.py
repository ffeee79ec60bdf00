"""With which library a report's job computes: PyTorch or another one. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from distriage.facts.environment import EnvironmentFacts
from distriage.facts.projects import PYTORCH, Projects, projects
from distriage.facts.scanning import first_at, places

_GAP = r"[ \t(:=v-]{0,8}(?:version)?(?: \(use command below\))?[ \t:=v-]{0,8}\d"
# Horovod's form; the library's version is the next field.
_FIELD = re.compile(r"(?<!\w)framework[ \t]?:(?:[ \t]?\([^()\n]{0,80}\))?(?P<said>[^\n]{0,60})")
_FIELD_VERSION = re.compile(r"(?<!\w)framework version[ \t]?:[ \t'\"`]{0,4}v?\d")
# The choices of a form: "(TensorFlow, Keras, PyTorch, MXNet)", "(Python version, TensorFlow version, OS)".
_CHOICES = r"\((?=[^()\d\n]{0,99},)[^()\d\n]{0,60}tensorflow[^()\d\n]{0,60}\)"
# An environment of Python, which bears a library's name whatever runs in it: before a prompt, or as AWS names them.
_PYTHON_ENVIRONMENT = r"\([\w.-]{1,40}\)\s{0,2}(?=[\w.-]{1,40}@|[$#%]\s)|(?:tensorflow2?|pytorch|mxnet)_p\d{2,3}"
_NO_NAMES = re.compile(f"{_CHOICES}|{_PYTHON_ENVIRONMENT}")


def library_of(facts: EnvironmentFacts, title: str, words: str, own: str) -> tuple[str | None, bool]:
    """The library, None where neither the framework nor the reporter tells; and whether its version is stated.

    Args:
        title: Folded; it comes before the rest.
        words: Title and body, folded.
        own: The reporter's own words, folded: a listing of packages names libraries that no job uses.
    """
    name = projects().library_of(facts.framework)
    if name is None:
        field = first_at(_FIELD, words, places(("framework",), words))
        said = (field["said"] if field else "", title, _NO_NAMES.sub("", own))
        name = next(filter(None, map(_named, said)), None) or (PYTORCH if facts.torch else None)
    if name is None:
        return None, False
    beside = facts.torch is not None if name == PYTORCH else _states_version(name, words)
    return name, beside or first_at(_FIELD_VERSION, words, places(("framework version",), words)) is not None


def _states_version(library: str, words: str) -> bool:
    spellings = projects().all[library].at_home
    called = "|".join(map(re.escape, spellings))
    version = re.compile(rf"(?<!\w)(?:{called})(?:[-_][cg]pu)?{_GAP}")
    return first_at(version, words, places(spellings, words)) is not None


def _named(text: str) -> str | None:
    """The library that a text names; PyTorch before others, since who speaks of it computes with it."""
    return next((name for name, pattern in _mentions(projects()) if pattern.search(text)), None)


@cache
def _mentions(known: Projects) -> Sequence[tuple[str, re.Pattern[str]]]:
    return [(project.name, re.compile(project.mentions)) for project in known.all.values() if project.mentions]
