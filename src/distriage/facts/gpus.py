"""The accelerators that a report names. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from distriage.base.texts import regex
from distriage.facts.demands import is_demanded, is_lacked
from distriage.facts.scanning import Passage, first_at, matches_at, places

# Chinese and Japanese put no blanks between words, so only letters of our own alphabet belong to a name.
AFTER = r"(?![A-Za-z0-9_])"
GPU_NUMBER = r"(?:10[5-8]0|[2-5]0[5-9]0)"
_TI_SUPER = r"(?:[ -]?Ti)?(?:[ -]?Super)?"
# Names that mean nothing but an accelerator; those of two or three characters only in capitals.
GPU_NAME = (
    r"(?:(?i:V100(?-i:S)?|[AH]100|[AH]800|H200|GH200|GB[23]00|GB10|R9700|B[123]00|L40S?"
    r"|A(?:[2456]000|[45]500)|P100|MI\d{3}[AX]?"
    rf"|RTX[ -]?PRO[ -]?\d{{4}}|RTX[ -]?A?\d{{4}}D?{_TI_SUPER}(?:[ -]Ada)?|GTX[ -]?\d{{3,4}}M?(?!\d|\.\.){_TI_SUPER}"
    r"|Titan\s?(?:RTX|Xp|V|X)|[679][089]\d0\s?XTX?"
    r"|(?:RX\s)?Vega\s(?:56|64)"
    r"|(?:Radeon\s(?:RX\s|Pro\s)?\d{3,4}|RX\s\d{4})(?:[ -]?XTX?)?|Ascend[ -]?910(?:[ABC]\d?C?)?|910[ABC]\d?C?"
    r"|TPU\s?v\d\w{0,7}(?:-\d{1,4})?|Gaudi[ -]?[23]?|Trainium[ -]?[23]?|(?-i:Max)\s1(?:55|10)0"
    r"|Apple\sM\d(?:\s(?:Pro|Max|Ultra))?|(?-i:M\d\s(?:Pro|Max|Ultra)))"
    r"|T4|L4|L20Y?|MI(?:25|50|60)|A10G?|A30|A40|P40|M[46]0|K-?80|K[24]0[cmxX]?|H20(?:-3e)?)"
)
# They drive a display, even beside a card that computes.
_LESSER_NAME = (
    r"(?i:Quadro\s(?:[KMP]\d{3,4}M?|GV100)|Tesla\s[CM]\d{4}|GeForce\s(?:GT\s\d{3,4}M?|\d{3}MX?)"
    r"|(?:GeForce\s)?MX[1-5][3-57]0)"
)
# Where a text in lower case may hold a name: at one of these, and at words. `re` finds zeros several times as fast.
_HUNDREDS = (
    *("a100", "h100", "v100", "p100", "b100", "a800", "h800", "h200", "gh200", "b200", "gb200", "b300", "gb300"),
    *("a6000", "a2000", "r9700", "7900", "7800", "6900", "6800"),
)
_HUNDRED = regex(r"00(?:(?<=[ahvpb][1238]00)|(?<=a[26]00)0|(?<=[67][89]00)|(?<=r9700))")
_STARTS = (
    *("l40", "titan", "ascend", "rtx", "gtx", "tpu", "910", "t4", "l4", "a10", "a30", "a40", "p40", "m40", "k80"),
    *("k-80", "a2 ", "gb10", "9070", "h20", "l20", "k20", "k40", "m60", "quadro", "tesla c", "tesla m", "geforce"),
    *("mx1", "mx2", "mx3", "mx4", "mx5"),
    *("a45", "a50", "a55", "mi1", "mi2", "mi3", "mi50", "mi60", "radeon", "rx ", "vega ", "gaudi", "trainium", "max 1"),
    *("apple m", "m1 ", "m2 ", "m3 ", "m4 ", "m5 "),
)
_MEMORY = r"(?i:[ -](?:SXM\d?|PCIe|NVL|\d{2,3}\s?GB))*"
# Not the lines of an address, "#L4-L40", nor what a container's image asks for, "brand=titanrtx"
_BEFORE = r"(?<!brand=)(?<!#)(?<!#L\d-)(?<!#L\d\d-)(?<!#L\d\d\d-)(?:\b|(?<=\d[xX×*])|(?<=[^\x00-\x7f]))"
_BEHIND = rf"(?:s?{AFTER}|(?=[xX]\d))"
_GPU = regex(
    rf"{_BEFORE}(?P<v>(?:{GPU_NAME}|(?:(?<=[Tt]esla[ -])|(?<=[Gg]pu: )|(?<=GPU: ))[kmpt]\d{{1,3}}|(?<=NVIDIA )A2)"
    rf"{_MEMORY}){_BEHIND}"
)
_LESSER = regex(rf"{_BEFORE}(?P<v>{_LESSER_NAME}{_MEMORY}){_BEHIND}")
# A bare number is a step, a line or a page, unless a count or a word beside it makes it a card.
CARD_NUMBER = regex(r"[1-5](?<!\d.)0[5-9]0")
_CARD_BEFORE = regex(
    r"(?:(?<![\w.])\d{1,3}\s?(?:[x×*]\s?|gb\s)|\b(?:nvidia|geforce|tesla|gpus?(?:\sis)?)\W{1,3}|[张块卡颗双]\s?"
    r"|\b(?:an?|one|two|three|four|five|six|seven|eight|ten|twelve|sixteen|single|several|multiple|both|dual|my|our)\s)\Z",
    re.I,
)
_CARD_BEFORE_CHARS = 10  # at most
_ELSEWHERE = regex(
    r"\b(?:meant|intended|designed|written) for [^\n.;]{0,8}\Z"
    r"|\bworks?\b[^\n.;]{0,40}\bon (?:my |the |a )?local (?:machine|computer|pc) [^\n.;,]{0,20}\Z"
    r"|\b(?:copied|moved|came)\b[^\n.;]{0,60} from an? \Z",
    re.I,
)
# "It works on another machine with a V100; here it fails"; that "it runs" there alone says nothing of here.
_ON_ANOTHER = regex(
    r"\b(?:(?P<works>works?)|runs?)\b[^\n.;]{0,40}\bon (?:my |the |an)?other [^\n.;,]{0,40}\Z",
    re.I,
)
_BUT_HERE = regex(r"[^\n.;,]{0,30}[.;,] (?:but )?(?:here|on (?:the|my|our|this))\b", re.I)
_ELSEWHERE_CHARS = 100  # at most
_FINE_ON = regex(
    r"(?<!not )(?<!n't )(?<!never )\b(?:works|worked|fine|ok)(?: fine)? (?:on|with) (?:an? |the |my |our )?"
    r"(?:\d{1,3} ?[x×*]? ?)?(?:nvidia )?\Z",
    re.I,
)
_CARD_SUFFIX = r"(?i:\s?Ti(?:\sSuper)?\b|D\b)"
_COUNTED_CARD = regex(rf"(?P<v>{GPU_NUMBER}{_CARD_SUFFIX}?)(?![\dA-Za-z_])")
_CARD_AFTER = r"(?=\s?(?:Ti\b|super\b|GPUs?\b|cards?\b|上|显卡|卡|\(?\d{2}\s?GB?\b))"
_CARD = regex(rf"\b(?P<v>{GPU_NUMBER}{_CARD_SUFFIX}|{GPU_NUMBER}(?i:{_CARD_AFTER}))")
# The line of TensorFlow's form; it may name a card that no other words make one
_FIELD = regex(
    r"GPU models?(?: and memory)?[ \t]?[:=][ \t]{0,3}(?P<v>(?!(?i:error|driver))"
    r"(?=[A-Za-z ]{0,24}\d{3,4}[A-Za-z]{0,2}\b(?!\s?[GM]i?B))"
    r"[A-Za-z\d][\w -]{1,30}?)(?=\s?(?:\d{1,2}\s?GB?\b|[,;/(\n]|\Z))"
)
_SLICE = regex(r"(?<![\w.])\dg\.\d{1,3}gb(?!\w)")  # of a GPU, by NVIDIA's MIG
# A line of `torch.utils.collect_env`, SGLang's `check_env` or `nvidia-smi -L`; the first follows its heading.
LISTED = regex(r"(?:\n[\s>*-]{0,8}|configuration ?: ?)GPU (?P<which>\d[\d,]{0,80}): (?P<v>[^\n]{0,100})")
_LISTED_NAME = regex(
    r"(?:NVIDIA|AMD|(?=Tesla|Quadro|GeForce|GRID|Radeon)) ?((?!Graphics Device)[A-Z0-9][\w+ -]{1,46}\w)"
    r"(?=\s{0,3}(?:\(|\Z))"
)
_MOST_LISTED = 64
# Rows of `nvidia-smi` and Lightning's listing: a card each.
_SMI_ROW = regex(r"\n[│ ]{0,3}\| {1,4}(\d{1,2}) {1,3}[A-Za-z][^|\n]{3,40}\b(?:On|Off) {1,3}\|")
_CARDS_OF_LIGHTNING = regex(r"gpu:[^\S\n]*\n((?:\s{0,40}[-*]? ?[a-z][^:\n]{2,60}\n){1,64})[\s*-]{0,40}available:")
# The count in the listing of LLaMA-Factory, or in one's own
_LISTED_NUMBER = regex(r"(?:\A|\n[ >*-]{0,8})(?:gpu number|num(?:ber)? of gpu's?) ?: ?(\d{1,3})[ \t;]{0,8}(?:\n|\Z)")
_CARDS_IN_A_ROW = regex(r"(?:accelerator|cuda device)\(s\): ((?!cpu|mps|not )[^\n]{2,2000})")  # of TRL's listing
_MOST_CARDS = 1000
_TPU = (
    "colab tpu",
    "tpu_cores=[",
    *(f"tpu_cores={cores}" for cores in (1, 8)),
    *(f" {cores} tpu cores" for cores in (1, 8)),
)
_TPU_PODS = ("v2-", "v3-", "v4-", "v5e-", "v5p-", "v6e-")
_TPU_POD = regex(r"(?<![\w.-])v[2-6][ep]?-(?:8|16|32|64|128|256|512|1024|2048)(?![\w-]|\.\w)")
_LETTERS = regex("(?<!K[24]0)[A-Za-z]+")
_NOT_IN_CAPITALS = {
    word.upper(): word
    for word in (
        *("Ti", "Xp", "PCIe", "Ada", "Ascend", "Radeon", "Gaudi", "Trainium", "Quadro", "Tesla", "GeForce"),
        *("Apple", "Max", "Pro", "Ultra", "e"),
    )
}


def gpu_places(words: str) -> list[int]:
    """Where the name of an accelerator may begin in a folded text."""
    return places((*_HUNDREDS, *_STARTS) if _HUNDRED.search(words) else _STARTS, words)


def gpu_model(passage: Passage, named: Sequence[int]) -> tuple[str, int] | None:
    """The accelerator of a listing, else the first one named, with the MIG slice if a text mentions one; and its place.

    It is spelled as its maker does; an unknown one of a listing, as written. The value of an option, as in
    `--partition=h100`, counts only for lack of another name.

    Args:
        named: The `gpu_places` of the text.
    """
    text, words = passage.text, passage.words
    found = _listed(text, words) or _first_named(text, named)
    if found is None and (field := first_at(_FIELD, text, places(("gpu model",), words))):
        found = field["v"].strip(), field.start("v")
    if found is None and "tpu" in words:
        if pod := first_at(_TPU_POD, words, places(_TPU_PODS, words)):
            found = f"TPU {pod[0]}", pod.start()
        elif tpu := places(_TPU, words):
            found = "TPU", tpu[0]
    part = _SLICE.search(words) if found and "mig" in words else None
    return (f"{found[0]} MIG {part.group()}", found[1]) if found and part else found


def listed_gpus(passage: Passage) -> tuple[int, int] | None:
    """The cards of the longest listing, of `collect_env`, `nvidia-smi` or a framework's own tool; and its place."""
    text, words = passage.text, passage.words
    counts: list[tuple[int, int]] = []
    if (first := words.find("gpu 0")) >= 0:
        cards = {index for match in LISTED.finditer(f"\n{text}") for index in match["which"].split(",")}
        counts.append((len(cards), first))
    if rows := list(_SMI_ROW.finditer(f"\n{text}")):
        counts.append((len({row[1] for row in rows}), rows[0].start()))
    if listing := first_at(_CARDS_OF_LIGHTNING, words, places(("gpu:",), words)):
        counts.append((sum(bool(line.strip()) for line in listing[1].split("\n")), listing.start()))
    if row := first_at(_CARDS_IN_A_ROW, words, places(("accelerator(s):", "cuda device(s):"), words)):
        counts.append((row[1].count(",") + 1, row.start()))
    if ("gpu number" in words or " of gpu'" in words) and (number := _LISTED_NUMBER.search(words)):
        counts.append((int(number[1]), number.start()))
    return max([count for count in counts if 0 < count[0] <= _MOST_CARDS], default=None)


def _listed(text: str, words: str) -> tuple[str, int] | None:
    if "gpu 0" not in words:
        return None
    # The break that is put before the text moves each place by one.
    listed = list(islice(LISTED.finditer(f"\n{text}"), _MOST_LISTED))
    for match in listed:
        if known := _GPU.search(match["v"]):
            return _as_written_by_its_maker(known["v"]), match.end() - 1
    for match in listed:
        if name := _LISTED_NAME.match(match["v"]):
            return " ".join(name[1].split()), match.end() - 1
    return None


def _first_named(text: str, begins: Sequence[int]) -> tuple[str, int] | None:
    first = _first(_GPU, text, begins)
    for number in CARD_NUMBER.finditer(text):
        place = number.start()
        if first and first.start() < place:
            break
        counted = _CARD_BEFORE.search(text, max(0, place - _CARD_BEFORE_CHARS), place)
        card = (_COUNTED_CARD.match(text, place) if counted else None) or _CARD.match(text, place)
        if card and not _is_elsewhere(text, place):
            first = card
            break
    first = first or _first(_LESSER, text, begins)
    named = matches_at(_GPU, text, begins)
    first = first or next((one for one in named if not _is_elsewhere(text, one.start(), surely=True)), None)
    return (_as_written_by_its_maker(first["v"]), first.start()) if first else None


def _first(name: re.Pattern[str], text: str, begins: Sequence[int]) -> re.Match[str] | None:
    """The first that is neither the value of an option nor elsewhere."""
    named = matches_at(name, text, begins)
    return next(
        (one for one in named if not (text.endswith("=", 0, one.start()) or _is_elsewhere(text, one.start()))), None
    )


def _is_elsewhere(text: str, place: int, *, surely: bool = False) -> bool:
    """Whether a card at a place is not the reporter's, or it works with that card on another machine.

    Args:
        surely: It is not enough that it works on another machine, unless it fails here, or that something needs it.
    """
    begin = max(0, place - _ELSEWHERE_CHARS)
    if _ELSEWHERE.search(text, begin, place) or is_lacked(text, place):
        return True
    if not surely and (is_demanded(text, place) or _FINE_ON.search(text, begin, place)):
        return True
    another = _ON_ANOTHER.search(text, begin, place)
    return another is not None and bool((another["works"] and not surely) or _BUT_HERE.match(text, place))


def _as_written_by_its_maker(name: str) -> str:
    name = " ".join(name.split())
    if name[:3].upper() == "TPU":
        return f"TPU{name[3:].lower()}"
    written = _LETTERS.sub(lambda word: _NOT_IN_CAPITALS.get(word.group().upper(), word.group().upper()), name)
    return written.replace("RTX Pro", "RTX PRO")
