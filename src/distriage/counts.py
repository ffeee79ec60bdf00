"""How many GPUs and nodes a report speaks of, in figures and in words of several languages. Pure.

The largest number counts: on one card it works, on eight it hangs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from distriage.gpus import AFTER, CARD_NUMBERS, GPU_NUMBER, GPU_STARTS
from distriage.scanning import any_of, first_at, matches_at, places

_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "sixteen", "dual", "both")
_SIGNS = "两二双三四五六七八"
_UNITS = "一二三四五六七八九"
_NUMERALS = {
    **{  # 十六, 三十二
        f"{tens}十{unit}": (_UNITS.find(tens) + 1 if tens else 1) * 10 + (_UNITS.find(unit) + 1 if unit else 0)
        for tens in ("", *_UNITS[1:])
        for unit in ("", *_UNITS)
    },
    **{word: number for number, word in enumerate(_WORDS[:7], 2)},
    **dict(zip(f"{_SIGNS}九", (2, 2, 2, *range(3, 10)), strict=True)),
    **dict.fromkeys(("dual", "both", "два", "две", "двух"), 2),
    "sixteen": 16,
}
_WORD = rf"\b(?P<v>{'|'.join(_WORDS)})[ -]"
# A pattern that begins with a digit is searched for five times as fast as one that begins with what is not before it.
_FIGURES = r"\d{0,3}(?:,\d{3}){0,2}"  # behind the first one
_NUMBER = rf"(?P<v>\d(?<![A-Za-z0-9_]\d){_FIGURES})"
_SIGN_NUMBER = (  # 八, 十六, 三十二; whole ones: not the end of 一百二十八, nor of 第二, the second
    rf"(?P<v>[{_SIGNS}九十](?<![第几数百千零十{_SIGNS}一九].)(?:(?<![十两双])十)?(?:(?<=十)[{_UNITS}])?)"
)
# What stands before a number that counts nothing: the rest of another ("0.8.5 server"), or what has a number for a name
# ("ZeRO-3 nodes", "HTTP 500 server", "RTX 6000 GPUs").
_NO_COUNT = re.compile(
    r"(?:\d[.,]|第\s?|\b(?:zero|stage|http|port|cuda|python|version|rank|step|epoch|rtx|gtx|quadro|pro)[ -])\Z", re.I
)
_NO_COUNT_CHARS = 8  # at most
_CARD_SIGN = "卡(?![住死顿壳了着在])"  # a card; with these it is "stuck"
# Pieces, of cards mostly: not of pictures (图, 照), tables, memory, code, data, disks or models.
_PIECES = rf"(?:张(?!\s?[图照表])|块(?!\s?[内代数磁硬模])|{_CARD_SIGN})"
_GPU = r"GPU(?![ -](?:memory|mem|hours?|time|util|usage))"
_GPU_COUNT = (
    re.compile(
        rf"{_NUMBER}\s?[x×*]\s?(?:nvidia\s|tesla\s|amd\s|geforce\s){{0,2}}(?:[ABHLV]\d00|RTX|GTX|GH200|B200|H20|L40|T4"
        rf"|A10|A40|MI\d{{3}}|V100|\d0[5-9]0|A6000|P100|TITAN|NPU|{_GPU})",
        re.I,
    ),
    re.compile(
        rf"(?P<v>\d(?<![A-Za-z0-9_.]\d){_FIGURES})(?<!{GPU_NUMBER})[ -]?"
        r"(?:(?:nvidia|tesla|geforce|cuda|rtx|gtx|[ABHV]\d00|V100|\d0[5-9]0|a6000|-)\s){0,3}(?:\d{2,3}\s?GB\s)?"
        rf"(?:{_GPU}s?|{_CARD_SIGN}|cards?){AFTER}",
        re.I,
    ),
    re.compile(
        r"(?P<v>[1-9](?<![\w.,:-].)(?<!cuda .)(?<!version .)"  # 8 A100
        rf"{_FIGURES})(?<!20[12]\d)(?<!{GPU_NUMBER}) (?:nvidia |tesla |amd |geforce ){{0,2}}"
        r"(?:[AHV]100s?|[AH]800|H20|H200|B200|L40S?|RTX|GTX|A10|A40|A6000|MI\d{3}X?|Ascend|910B)\b",
        re.I,
    ),
    re.compile(r"-(?:nproc[_-]per[_-]node|num[_-]gpus|tensor[_-]parallel[_-]size|tp(?:[_-]size)?)[= ](?P<v>\d{1,3})\b"),
)
# Of a text in lower case.
_COUNT_BEHIND_GPU = (
    re.compile(r"[abhlv](?:\d00s?|20|40s?)\s?[x×*]\s?(?P<v>\d{1,3})(?![a-z0-9_.]|\s?nodes?\b)"),  # H100 x 8
    re.compile(r"\d(?:0[5-9]0|\dgb?)\s?[x×*]\s?(?P<v>\d{1,3})(?![a-z0-9_.]|\s?nodes?\b)"),  # 4090 x2, A100-80G*8
)
_SETTINGS = (
    *("nproc_per_node", "num_gpus", "tensor_parallel_size", "world_size", "world size", "num_processes"),
    *("gpus_per_node", "gpus-per-node", "gres=gpu"),
)
_SETTING = re.compile(  # but not what an error of Accelerate's recommends; with the type in `--gres=gpu:a100:8`
    rf"(?<!specifying `--)(?:{'|'.join(_SETTINGS)}(?::[a-z]\w{{0,30}})?)[\"']?\s{{0,3}}[=:]?\s{{0,3}}(?P<v>\d{{1,4}})\b"
)
_GPUS_IN_WORDS = re.compile(
    rf"{_WORD}(?:(?:nvidia|tesla|geforce|rtx|gtx)\s){{0,2}}(?:(?:[abhv]\d00|\d0[5-9]0|l40)s?|gpus?|cards?){AFTER}"
)
_GPUS_IN_OTHER_SCRIPTS = (
    re.compile(rf"(?P<v>\d(?<![a-wyz_\d.]\d)\d{{0,3}})(?<!{GPU_NUMBER})\s?{_PIECES}"),
    re.compile(r"(?P<v>\d(?<![\d.]\d)\d{0,3})\s?(?:枚|장|видеокарт|карт[аы]?(?!\w)|بطاق)"),
    re.compile(rf"{_SIGN_NUMBER}(?:[张块]\s?)?(?:{_CARD_SIGN}|显卡|gpu|[abhv]\d00|\d0[5-9]0)"),
)
_SINGLE = ("single ", "single-", "one ", "one-")
_SINGLE_GPU = re.compile(
    r"单[卡张]|\b(?:single|one)[ -](?:(?:nvidia|tesla|geforce|rtx|gtx)\s){0,2}"
    rf"(?:gpu|card|[abhv]\d00|\d0[5-9]0){AFTER}"
)
_SEVERAL_GPUS = re.compile(r"gpus\b|multi[- ]?gpu|[多几]卡")  # with one card it works, with several it does not
_NODES = re.compile(rf"{_NUMBER}[ -](?:compute |worker |DGX )?(?:nodes?|machines?|servers?(?! error)|hosts?)\b", re.I)
_NODES_IN_WORDS = re.compile(rf"{_WORD}(?:compute |worker |dgx )?(?:nodes?|machines?|servers?|hosts?){AFTER}")
_NODE_SIGN = "(?:个?节点|台|机(?![会构制率])|ノード|노드|개의 노드)"
_NODE_WORD = "(?:узл|машин|сервер|нод)"
_NODES_IN_OTHER_SCRIPTS = (
    re.compile(rf"{_SIGN_NUMBER}\s?{_NODE_SIGN}"),
    re.compile(rf"(?P<v>\d(?<![a-z0-9_.-]\d)\d{{0,2}})\s?{_NODE_SIGN}"),
    re.compile(r"노드[는가]?\s?(?P<v>\d{1,3})개"),
    re.compile(rf"(?P<v>\d(?<!\w\d)\d{{0,2}})\s{_NODE_WORD}"),
    re.compile(rf"(?P<v>дв(?:а|е|ух))\s{_NODE_WORD}"),
)
_NODE_SETTINGS = ("nnodes", "num_nodes", "num-nodes", "num_machines", "--nodes")
_NODE_SETTING = re.compile(  # the most of `--nnodes=1:4`
    rf"(?:{'|'.join(_NODE_SETTINGS)})[\"']?\s?[=: ]\s?(?:\d{{1,4}}:)?(?P<v>\d{{1,4}})\b"
)
_SEVERAL_NODES = re.compile(r"nodes\b|multi[- ]?node|machines\b|[多几跨]机|[多几跨]个?节点")
_SINGLE_NODE = re.compile(r"\b(?:single|one)[ -](?:node|machine|server|host)\b|单机")

# Words of which a text in lower case holds one where a pattern may match; the commonest first.
_COUNT_WORDS = ("gpu", *GPU_STARTS, "npu", "card", "nproc", "-tp", "tensor", *_SETTINGS, *CARD_NUMBERS)
_NODE_WORDS = ("node", "machine", "server", "host")


def count_gpus(text: str, words: str) -> int | None:
    """The most GPUs that a text speaks of; None: it speaks of no number.

    Args:
        words: The same text in lower case.
    """
    counts = [len(set(re.findall(r"\nGPU (\d+): ", f"\n{text}")))]
    if any_of(_COUNT_WORDS, words):
        counts += _numbers(_GPU_COUNT, text) + _numbers(_COUNT_BEHIND_GPU, words)
        counts += _numbers_at(_SETTING, words, _SETTINGS) + _numbers_at(_GPUS_IN_WORDS, words, _WORDS)
    if not text.isascii():
        counts += _numbers(_GPUS_IN_OTHER_SCRIPTS, words)
    single = places((*_SINGLE, "单"), words) if counts == [0] else []
    if first_at(_SINGLE_GPU, words, single) and not _SEVERAL_GPUS.search(words):
        counts = [1]
    return max([number for number in counts if 0 < number <= 100_000], default=None)


def count_nodes(text: str, words: str) -> int | None:
    """The most nodes that a text speaks of; None: it speaks of no number.

    Args:
        words: The same text in lower case.
    """
    counts: list[int] = []
    if any_of(_NODE_WORDS, words):
        counts += _numbers([_NODES], text) + _numbers_at(_NODES_IN_WORDS, words, _WORDS)
        counts += _numbers_at(_NODE_SETTING, words, _NODE_SETTINGS)
    if not text.isascii():
        counts += _numbers(_NODES_IN_OTHER_SCRIPTS, words)
    single = [] if counts else places((*_SINGLE, "单机"), words)
    if first_at(_SINGLE_NODE, words, single) and not _SEVERAL_NODES.search(words):
        return 1
    return max([number for number in counts if 0 < number <= 10_000], default=None)


def _numbers(patterns: Iterable[re.Pattern[str]], text: str) -> list[int]:
    return [
        _number(match)
        for pattern in patterns
        for match in pattern.finditer(text)
        if not _NO_COUNT.search(text, max(0, match.start("v") - _NO_COUNT_CHARS), match.start("v"))
    ]


def _numbers_at(pattern: re.Pattern[str], text: str, starts: Iterable[str]) -> list[int]:
    return [_number(match) for match in matches_at(pattern, text, places(starts, text))]


def _number(match: re.Match[str]) -> int:
    said = match["v"]
    return _NUMERALS[said] if said in _NUMERALS else int(said.replace(",", ""))
