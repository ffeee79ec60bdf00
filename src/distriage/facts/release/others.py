"""Whether a number is a release of another thing than the product, by the words before and behind it. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Final

from distriage.base.texts import regex
from distriage.facts.compatibility.matrix import listed_releases
from distriage.facts.release.names import Names, is_beside, kinds_of_words, letters_of, named, tools

_OF = regex(r"\W{0,2}\sof\s(?:my|our|the|this|their)\s(?P<name>[\w-]{2,30})(?!\s(?:image|container|package))")
_WITH_NAME = regex(r"(?<![\w-])(?P<name>[a-z][\w-]{1,30})(?:==|[ =:@])v?(?P<major>\d{1,3})\.\d")
_WITH_NAME_CHARS: Final = 140  # at most before a number that goes on with it
_MOVED = regex(  # "after the upgrade ROCm 6.4.1 -> 7.0.2", "upgraded flashinfer to 0.2.5"
    r"(?:(?<![\w-])(?P<name>[a-z][\w-]{1,30})(?:==|[ =:@])v?\d[\w.+-]{1,30}\s?(?:->|→|=>|to)"
    r"|\b(?:up|down)(?:grad|dat)(?:ed|ing|e)\s(?:(?:the|my|our)\s)?(?P<moved>[a-z][\w-]{1,30})\sto)\s?v?\Z"
)
_MOVED_CHARS: Final = 75  # at most
# A thing with its release, and one that was moved: a known name, or any directly before three numbers
_RELEASE_OF = regex(
    r"(?<![\w-])(?P<name>[a-z][\w-]{1,40})(?:\sversion|(?P<to>\s(?:to|from)))?[`'\"*)\]]{0,3}(?:==|[ =:@])"
    r"[`'\"*]{0,2}(?P<open>\()?"
    r"v?(?P<number>\d{1,3}\.\d{1,4}(?P<third>\.\d{1,3})?)"
    r"|\b(?:up|down)(?:grad|dat)(?:e|ed|ing)\s(?:of\s)?(?:the\s|my\s|our\s)?(?P<moved>[a-z][\w-]{1,40})"
    r"|(?<![\w-])(?P<upgrade>[a-z][\w-]{1,40})(?=\s(?:up|down)grade\b)"
)
_RELEASE_OF_CHARS: Final = 400  # at most before the sentence
_NAME_BEFORE = regex(r"(?<![\w-])(?P<name>[a-z][\w-]{1,30})(?:==|[ =:@])[`'\"*]{0,2}v?\Z")
_NAME_BEFORE_CHARS: Final = 37  # at most
_PACKAGES: Final = {"pytorch": "torch"}
_NUMBERS = regex(r"\d{1,9}")
_MOST_NUMBERS: Final = 4  # that are compared


def is_of_another(behind: str, names: Names) -> bool:
    """Whether the words behind a number give it to another: "1.0 of our app"."""
    of = _OF.match(behind)
    return of is not None and (letters_of(of["name"]) in tools() | names.others or is_beside(of["name"], names))


def goes_on(words: str, begin: int, value: str, names: Names) -> bool:
    """Whether a number is a further release of another thing: "peft 0.14.0 was fine. Since 0.15.0 it fails".

    Args:
        words: In small letters; the number begins at `begin`.
    """
    found = [*_WITH_NAME.finditer(words, max(0, begin - _WITH_NAME_CHARS), begin)]
    if not found or "\n\n" in words[found[-1].end() : begin]:
        return False
    return found[-1]["major"] == value.partition(".")[0] and letters_of(found[-1]["name"]) in names.others


def is_upgrade_of_another(words: str, begin: int, names: Names) -> bool:
    """Whether a number is what another thing was moved to; `words` and `begin` as for `goes_on`."""
    if not words[max(0, begin - 4) : begin].rstrip("v ").endswith(("to", ">", "→")):
        return False
    moved = _MOVED.search(words, max(0, begin - _MOVED_CHARS), begin)
    return moved is not None and letters_of(moved["name"] or moved["moved"]) in names.others


def is_release_of_another(
    words: str, places: tuple[int, int, int], value: str, names: Names, in_use: Collection[str]
) -> bool:
    """Whether a release that worked is of another thing than the product: of one that the sentence or the one before
    it names without the product, or of one whose release is nearer to it than those of the product.

    Args:
        words: In small letters.
        places: Where the sentence before the number's begins, if on the same line; the number's sentence; the number.
        in_use: The product's versions; a thing of that version is the product, however it is called.
    """
    near, sentence, begin = places
    first = max(0, sentence - _RELEASE_OF_CHARS)
    near = max(near, first)  # a long sentence between is not read
    known, worked = names.own | names.others, _numbers_of(value)
    distance = _least_distance(in_use, worked)
    names_product = any(one in words[near:begin] for one in in_use)
    for one in _RELEASE_OF.finditer(words, first, begin + len(value)):
        group = "name" if one["name"] else "moved" if one["moved"] else "upgrade"
        name, end, is_here = one[group], one.end(group), one.start() >= sentence
        is_known, is_near = letters_of(name) in known, one.start() >= near
        is_thing = is_known or (is_near and one["third"] and not (one["to"] or one["open"]))
        if end > begin or name in kinds_of_words() or not is_thing:
            continue
        listed = listed_releases(_PACKAGES.get(name, name))
        numbers = _numbers_of(one["number"]) if one["number"] else [worked[0], worked[1] + 1]  # at the nearest
        if numbers < worked[: len(numbers)] or (listed and value not in listed):
            continue  # it cannot fail since, or there is no such release
        is_in_use = one["number"] and any(f"{version}.".startswith(f"{one['number']}.") for version in in_use)
        if numbers[0] > worked[0] + is_here or is_in_use:
            continue
        is_alone = is_near and not names_product and (is_known or is_here) and (one["number"] or listed)
        if not (is_alone or _distance(numbers, worked) < distance):
            continue
        line = max(first, words.rfind("\n", first, end) + 1)
        if next(named(words[line:end], names, is_number=True)) not in {"own", "own part"}:
            return True
    return False


def is_pair_of_product(words: str, works: str, fails: str, in_use: Collection[str]) -> bool:
    """Whether a release that worked is rather the product's, which its line names, than of the thing that fails:
    "openrlhf 0.6.4 with vllm 0.8.5 hangs, 0.6.1 works". With a name before it, it is not.

    Args:
        words: In small letters.
        in_use: The product's versions.
    """
    in_use = [one for one in in_use if one[:1].isdecimal()]  # no branch or commit
    worked, failing = _numbers_of(works), _numbers_of(fails)
    if failing in map(_numbers_of, in_use) or _least_distance(in_use, worked) > _distance(failing, worked):
        return False
    for line in words.split("\n"):
        before, is_there, _ = line.partition(works)
        if is_there and any(one in before for one in in_use):
            name = _NAME_BEFORE.search(before, max(0, len(before) - _NAME_BEFORE_CHARS))
            return name is None or name["name"] in kinds_of_words()
    return False


def is_nearer(version: str, works: str, in_use: Collection[str]) -> bool:
    """Whether a version is nearer to the one that worked than each of those in use."""
    worked = _numbers_of(works)
    return _distance(_numbers_of(version), worked) < _least_distance(in_use, worked)


def _least_distance(versions: Collection[str], other: Sequence[int]) -> list[float]:
    return min((_distance(_numbers_of(one), other) for one in versions), default=[math.inf])


def _distance(one: Sequence[int], other: Sequence[int]) -> list[float]:
    """Of the major and of the minor number."""
    return [abs(first - second) for first, second in zip(one[:2], other[:2], strict=False)]


def _numbers_of(version: str) -> list[int]:
    return [int(number) for number in _NUMBERS.findall(version)[:_MOST_NUMBERS]]
