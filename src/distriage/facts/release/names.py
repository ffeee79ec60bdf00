"""The words around a version, and the names that it may be of. Pure except for reading `words.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Final, NamedTuple

from distriage.base.texts import packaged_table, regex
from distriage.facts.projects import PYTORCH, Tracker, projects

HAN: Final = "\u4e00-\u9fff"
OTHER: Final = "other"
_NO_LETTERS = regex(r"[^a-z0-9]+")
# "installed by pip: 0.6.3"
_BY_TOOL = regex(r"\b(?:by|via|through|install(?:ed|ing)?\s(?:from|with|using))\s\w{3,6}\W{0,5}\Z")
_WORDS_OF_NAME: Final = 4
_LEAST_NAME, _LEAST_PART = 3, 4  # letters of a name that several words are compared with, and of a name's part


class Names(NamedTuple):
    """Names in small letters and digits alone: the product's, and those of other things with versions."""

    own: frozenset[str]
    others: frozenset[str]


def names_of(tracker: Tracker) -> Names:
    """The names of a tracker's product; its owner's is another's, unless they are the same."""
    parts = ("torch",) if tracker.product == PYTORCH else ()
    own = frozenset(letters_of(one) for one in (tracker.repository, *tracker.spellings, *parts)) - {""}
    return Names(own, (other_names() | {letters_of(tracker.repository.partition("/")[0])}) - own)


def letters_of(words: str) -> str:
    """Small letters and digits alone."""
    return _NO_LETTERS.sub("", words)


def words_of(text: str) -> list[str]:
    """The words of a text; of Chinese, which sets no blanks, those of `words.toml` and what stands between them."""
    return _word().findall(text)


@cache
def _word() -> re.Pattern[str]:
    known = "|".join(sorted((word for word in kinds_of_words() if not word.isascii()), key=len, reverse=True))
    return re.compile(rf"[^\W\d_{HAN}](?:[^\W{HAN}]|-|'(?=[a-z]))*|{known}|(?:(?!{known})[{HAN}])+")


def kinds_of(words: Iterable[str]) -> list[str]:
    """The kind of each word, or empty."""
    kinds = kinds_of_words()
    return [kinds.get(word, "not" if "n't" in word else "") for word in words]


@cache
def kinds_of_words() -> Mapping[str, str]:
    """Word -> its kind."""
    return {word: kind for kind, words in packaged_table(__package__, "words.toml")["kinds"].items() for word in words}


def named(before: str, names: Names, *, is_number: bool) -> Iterator[str]:
    """Whose name stands before a version, and further measures of the names on its line.

    Args:
        before: Its line up to it, in small letters.
        is_number: Whether the version is a number; a commit may stand behind "git".
    """
    here, kinds = words_of(before), kinds_of_words()
    runs = _runs(here)
    may_be_tool = is_number and not _BY_TOOL.search(before)
    while here and here[-1] in kinds and letters_of(here[-1]) not in names.own:
        if may_be_tool and here[-1] in tools():
            break
        may_be_tool &= kinds[here[-1]] in {"version", "this"}
        here.pop()  # it says something of a version
    name = letters_of(here[-1]) if here else ""
    parts = re.split("[-_]", here[-1]) if here else []
    near = {letters_of("".join(here[-count:])) for count in range(2, _WORDS_OF_NAME + 1)}
    long = frozenset(own for own in names.own if len(own) >= _LEAST_NAME)
    if not here:
        yield "no name"
    elif name in names.own or not near.isdisjoint(long):
        yield "own"
    elif (
        not names.others.isdisjoint({name, *parts})
        or is_beside(here[-1], names)
        or (may_be_tool and not tools().isdisjoint({name, *near}))
    ):
        yield OTHER  # bert-tensorflow, nccl-tests
    elif len(name) >= _LEAST_PART and any(map(partial(_share_an_end, name), names.own)):
        yield "own part"
    else:
        yield "word" if len(name) >= _LEAST_PART else "short word"
    if not names.others.isdisjoint(map(letters_of, here[-_WORDS_OF_NAME:])):
        yield "other on line"
    if not long.isdisjoint(runs):
        yield "own on line"
        label = _parts(words_of(before.rpartition(":")[0]))
        if any("".join(label[:count]) in long for count in range(1, _WORDS_OF_NAME + 1)):
            yield "own in label"


def is_beside(name: str, names: Names) -> bool:
    """Whether a name with a hyphen is of a package beside the product: `nccl-tests`, `bert-tensorflow`."""
    parts = re.split("[-_]", name)
    if len(parts) == 1 or letters_of(name) in names.own:
        return False
    long = {own for own in names.own if len(own) >= _LEAST_NAME}
    return parts[-1] in long or (parts[0] in long and parts[-1] in _beside())


def whose(words: Sequence[str], names: Names) -> str:
    """Whether a line names the product, or else another."""
    runs = _runs(words)
    if any(len(own) >= _LEAST_NAME and own in runs for own in names.own):
        return "own"
    return "nothing" if names.others.isdisjoint(map(letters_of, words)) else OTHER


@cache
def other_names() -> frozenset[str]:
    """Names of other things with versions, and of all projects, in small letters and digits alone."""
    named = packaged_table(__package__, "words.toml")["names"]["other"]
    return frozenset(map(letters_of, (*named, *projects().names)))


def _parts(words: Iterable[str]) -> list[str]:
    """The letters of words and of those that hyphens join."""
    return [letters for word in words for part in re.split("[-_]", word) if (letters := letters_of(part))]


def _runs(words: Iterable[str]) -> frozenset[str]:
    """The letters of each run of a few words: a name within a word is another's, as `ray` in `array`."""
    parts = _parts(words)
    return frozenset(
        "".join(parts[begin : begin + count]) for begin in range(len(parts)) for count in range(1, _WORDS_OF_NAME + 1)
    )


def _share_an_end(name: str, own: str) -> bool:
    """Whether one of two names begins or ends with the other, if that is long enough: `tfjscore`, `tfjs`."""
    return (
        own.startswith(name)
        or own.endswith(name)
        or name == f"open{own}"  # microsoft/pai
        or (len(own) >= _LEAST_PART and name.startswith(own) | name.endswith(own))
    )


@cache
def _beside() -> frozenset[str]:
    return frozenset(packaged_table(__package__, "words.toml")["names"]["beside"])


@cache
def tools() -> frozenset[str]:
    """Names of tools in `words.toml`."""
    return frozenset(packaged_table(__package__, "words.toml")["names"]["tools"])
