"""Whether a number is a release of another thing than the product, by the words before and behind it. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from distriage.base.texts import regex
from distriage.facts.compatibility.matrix import listed_releases
from distriage.facts.release.names import Names, is_beside, kinds_of_words, letters_of, named, tools

_OF = regex(r"\W{0,2}\sof\s(?:my|our|the|this|their)\s(?P<name>[\w-]{2,30})(?!\s(?:image|container|package))")
_WITH_NAME = regex(r"(?<![\w-])(?P<name>[a-z][\w-]{1,30})(?:==|[ =:@])v?(?P<major>\d{1,3})\.\d")
_WITH_NAME_CHARS: Final = 140  # at most before a number that goes on with it
_MOVED = regex(  # "after the upgrade ROCm 6.4.1 -> 7.0.2"
    r"(?<![\w-])(?P<name>[a-z][\w-]{1,30})(?:==|[ =:@])v?\d[\w.+-]{1,30}\s?(?:->|→|=>|to)\s?v?\Z"
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
    return moved is not None and letters_of(moved["name"]) in names.others


def is_release_of_another(
    words: str, places: tuple[int, int], value: str, names: Names, in_use: Collection[str]
) -> bool:
    """Whether a release that worked is of another thing than the product: of the one that stands nearest before it with
    a release of the same major number, else of one in its own sentence with the next major number.

    Args:
        words: In small letters.
        places: Where the number's sentence begins, and where the number itself.
        in_use: The product's versions; a thing of that version is the product, however it is called.
    """
    sentence, begin = places
    first = max(0, sentence - _RELEASE_OF_CHARS)
    known, worked = names.own | names.others, _numbers_of(value)
    ends: dict[bool, int] = {}  # whether the major number is the same -> end of the nearest name, 0 of the product
    for one in _RELEASE_OF.finditer(words, first, begin + len(value)):
        group = "name" if one["name"] else "moved" if one["moved"] else "upgrade"
        name, end = one[group], one.end(group)
        is_thing = letters_of(name) in known or (one["third"] and not (one["to"] or one["open"]))
        if end > begin or name in kinds_of_words() or not is_thing:
            continue
        numbers, listed = _numbers_of(one["number"] or value), listed_releases(_PACKAGES.get(name, name))
        if numbers < worked[: len(numbers)] or (listed and value not in listed):
            continue  # it cannot fail since, or there is no such release
        if one["number"] and any(version.startswith(one["number"]) for version in in_use):
            end = 0
        is_same = numbers[0] == worked[0]
        if is_same or (numbers[0] == worked[0] + 1 and one.start() >= sentence):
            ends[is_same] = end
    end = ends.get(True, ends.get(False, 0))
    line = max(first, words.rfind("\n", first, end) + 1)
    return bool(end) and next(named(words[line:end], names, is_number=True)) not in {"own", "own part"}


def _numbers_of(version: str) -> list[int]:
    return [int(number) for number in _NUMBERS.findall(version)[:_MOST_NUMBERS]]
