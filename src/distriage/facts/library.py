"""With which library a report's job computes: PyTorch or another one. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from distriage.facts.environment import EnvironmentFacts
from distriage.facts.frameworks import PYTORCH
from distriage.facts.scanning import first_at, places

_FREE = frozenset({"Horovod", "Ray", "TensorFlow"})  # frameworks that are not built on PyTorch
_NAMES: Mapping[str, re.Pattern[str]] = {  # PyTorch first: who speaks of it computes with it
    PYTORCH: re.compile(r"torch"),
    "TensorFlow": re.compile(r"tensorflow|(?<![\w.])keras|(?<![\w.])tf\.[a-z]"),
    "JAX": re.compile(r"(?<!\w)jax(?:lib)?(?!\w)"),
    "MXNet": re.compile(r"mxnet"),
}
_GAP = r"[ \t(:=v-]{0,8}(?:version)?(?: \(use command below\))?[ \t:=v-]{0,8}\d"
_VERSIONS: Mapping[str, tuple[tuple[str, ...], re.Pattern[str]]] = {  # with what a match begins with
    "TensorFlow": (("tensorflow", "tf"), re.compile(rf"(?<!\w)(?:tensorflow|tf)(?:[-_][cg]pu)?{_GAP}")),
    "JAX": (("jax",), re.compile(rf"(?<!\w)jax(?:lib)?{_GAP}")),
    "MXNet": (("mxnet",), re.compile(rf"(?<!\w)mxnet{_GAP}")),
}
# Horovod's form; the library's version is the next field.
_FIELD = re.compile(r"(?<!\w)framework[ \t]?:(?:[ \t]?\([^()\n]{0,80}\))?(?P<said>[^\n]{0,60})")
_FIELD_VERSION = re.compile(r"(?<!\w)framework version[ \t]?:[ \t'\"`]{0,4}v?\d")
# The choices of a form: "(TensorFlow, Keras, PyTorch, MXNet)", "(Python version, TensorFlow version, OS)".
_CHOICES = r"\((?=[^()\d\n]{0,99},)[^()\d\n]{0,60}tensorflow[^()\d\n]{0,60}\)"
# An environment of Python, which bears a library's name whatever runs in it: before a prompt, or as AWS names them.
_PYTHON_ENVIRONMENT = r"\([\w.-]{1,40}\)\s{0,2}(?=[\w.-]{1,40}@|[$#%]\s)|(?:tensorflow2?|pytorch|mxnet)_p\d{2,3}"
_NO_NAMES = re.compile(f"{_CHOICES}|{_PYTHON_ENVIRONMENT}")


def is_built_on_torch(framework: str | None) -> bool:
    """Whether whoever uses a framework uses PyTorch."""
    return framework is not None and framework not in _FREE


def library_of(facts: EnvironmentFacts, title: str, words: str, own: str) -> tuple[str | None, bool]:
    """The library, None where neither the framework nor the reporter tells; and whether its version is stated.

    Args:
        title: Folded; it comes before the rest.
        words: Title and body, folded.
        own: The reporter's own words, folded: a listing of packages names libraries that no job uses.
    """
    if is_built_on_torch(facts.framework):
        return PYTORCH, facts.torch is not None
    if facts.framework == "TensorFlow":
        name: str | None = "TensorFlow"
    else:
        field = first_at(_FIELD, words, places(("framework",), words))
        said = (field["said"] if field else "", title, _NO_NAMES.sub("", own))
        name = next(filter(None, map(_named, said)), None)
    if name is None and facts.torch is not None:
        name = PYTORCH
    if name is None:
        return None, False
    if name == PYTORCH:
        beside = facts.torch is not None
    else:
        starts, version = _VERSIONS[name]
        beside = first_at(version, words, places(starts, words)) is not None
    return name, beside or first_at(_FIELD_VERSION, words, places(("framework version",), words)) is not None


def _named(text: str) -> str | None:
    return next((name for name, pattern in _NAMES.items() if pattern.search(text)), None)
