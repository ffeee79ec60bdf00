"""The number of GPUs in a report, in figures, options and words of several languages; the largest counts. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import prod

from distriage.base.texts import regex
from distriage.facts.gpus import AFTER, CARD_NUMBER, GPU_NAME, GPU_NUMBER
from distriage.facts.scanning import Counts, Passage, any_of, first_at, is_fine, is_no_count, matches_at, most, places

NUMBER_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "sixteen", "dual", "both")
_SIGNS = "两二双三四五六七八"
_UNITS = "一二三四五六七八九"
_NUMERALS = {
    **{  # 十六, 三十二
        f"{tens}十{unit}": (_UNITS.find(tens) + 1 if tens else 1) * 10 + (_UNITS.find(unit) + 1 if unit else 0)
        for tens in ("", *_UNITS[1:])
        for unit in ("", *_UNITS)
    },
    **{word: number for number, word in enumerate(NUMBER_WORDS[:7], 2)},
    **dict(zip(f"{_SIGNS}九", (2, 2, 2, *range(3, 10)), strict=True)),
    **dict.fromkeys(("dual", "both", "два", "две", "двух"), 2),
    "sixteen": 16,
}
WORD = rf"\b(?P<v>{'|'.join(NUMBER_WORDS)})[ -]"
SIGN_NUMBER = (  # 八, 十六, 三十二; whole ones: not the end of 一百二十八, nor of 第二, the second
    rf"(?P<v>[{_SIGNS}九十](?<![第几数百千零十{_SIGNS}一九].)(?:(?<![十两双])十)?(?:(?<=十)[{_UNITS}])?)"
)
FIGURES = r"\d{0,3}(?:,\d{3}){0,2}"  # behind the first one
_GPU = r"(?:TPU cores|[GNH]PU(?![ -](?:memory|mem|hours?|time|util|usage))s?|(?:graphics? |video )?cards?)"
_MAKER = r"(?:nvidia|tesla|amd|geforce|intel|cuda)\s"
_NAMED = rf"(?:{GPU_NAME}|\d0[5-9]0(?:D|(?i:\s?Ti))?)s?{AFTER}"
_CARD_SIGN = "卡(?![住死顿壳了着在])"  # a card; with these it is "stuck"
# Each pattern begins with a digit and looks back from it: `re` finds such patterns five times as fast as those that
# begin with a lookbehind.
GPUS_BY = regex(  # 8x A100, 2x8 H100
    rf"(?P<v>[1-9](?<![A-Za-z0-9_.]\d){FIGURES})\s?[x×*]\s?(?:(?P<by>[1-9]\d{{0,2}})\s?[x×*]?\s?)?"
    rf"(?i:{_MAKER}|\d{{2,3}}\s?GB\s){{0,2}}(?:{_NAMED}|(?i:{_GPU}){AFTER}|RTX|GTX|TITAN)"
)
_GPUS = regex(  # 8 GPUs, 8 A100; not those of "distributed.py:49 GPU", "Llama-3 GPU", "1-4 GPUs", "A800 80 GPU cards"
    r"(?P<v>[1-9](?<![A-Za-z0-9_.*/]\d)(?<![A-Za-z0-9]-\d)(?<![A-Za-z0-9]:\d)(?<!Vega\s\d)(?!(?<=[AHVahv]\d00\s\d)[024]\s)"
    rf"{FIGURES})(?<!{GPU_NUMBER})(?<!20[12]\d)(?=[ -]?[A-Za-z\d卡-])"
    rf"(?:[ -]?(?i:{_MAKER}|(?:rtx|gtx|[abhv]\d00|\d0[5-9]0|a6000|logical|physical|-)\s){{0,3}}(?i:\d{{2,3}}\s?GB\s)?"
    rf"(?:(?i:{_GPU})|{_CARD_SIGN}){AFTER}(?!=)| (?=[A-Za-z])(?i:{_MAKER}){{0,2}}(?:{_NAMED}|RTX|GTX))"
)
_PART_BEFORE = regex(
    r"\b(?:on|with|using|uses?|only|over|takes?|to|choose|select) (?P<part>\d{1,3}) (?:gpus? )?(?:to use )?\(?"
    r"(?:(?:out )?of|among) (?:the |our |my |its )?\Z"
)  # 4 of 8 GPUs
_PART_BEFORE_CHARS = 40  # at most
_TIMES = regex(r"[x×*]\s?(?P<v>[1-9]\d{0,2})(?![A-Za-z0-9_.])")  # H100 x 8, x8 H100
_COUNTED_BEFORE = regex(rf"(?<![\w.])\d{{1,3}}\s{GPU_NAME}\s?\Z")  # 2 H800*8 nodes; but "A100 x 8 nodes" are eight
_COUNTED_BEFORE_CHARS = 16  # at most
_NODES_AFTER = regex(r"\s?nodes?\b")
_NODES_BEHIND = regex(r"\s(?:(?:compute|worker)\s)?(?:nodes|machines|servers|hosts)\b")
_TIMES_BEHIND = regex(
    r"(?:[ABHLV](?:\d00S?|20|40S?)|MI\d{3}X?|\bT4|RTX\s?A?[4568]000|910[A-C]\d?|Gaudi\s?\d"
    r"|TITAN (?:X[Pp]?|V|RTX)|\d0[5-9]0(?:D|\s?Ti)?|\d\s?GB?\)?)\s?\Z",
    re.I,
)
_TIMES_BEHIND_CHARS = 10  # at most
_TIMES_BEFORE = regex(rf" (?i:{_MAKER}){{0,2}}{_NAMED}")
_IN_WORDS = regex(
    rf"{WORD}(?:(?:nvidia|tesla|geforce|rtx|gtx)\s){{0,2}}"
    rf"(?:(?:[abhv]\d00|\d0[5-9]0|l40|mi\d{{3}}x?)s?(?:\sgpus)?|(?:amd\s)?gpus?|(?:graphics? |video )?cards?){AFTER}"
    r"(?! ==)"  # rocm-smi's heading "==== Weight between two GPUs ===="
)
# Two workers with two L40 each, 4 workers with 8 ranks each
EACH_WITH = regex(
    rf"\b(?P<v>[1-9]\d{{0,2}}|{'|'.join(NUMBER_WORDS[:8])}) (?:workers?|nodes|machines|servers|hosts|instances|vms)"
    rf" (?:with|of|having) (?P<by>[1-9]\d?|{'|'.join(NUMBER_WORDS[:8])}) (?:(?!cpu|core)[a-z\d]{{2,8}} )?"
    r"(?:gpus?|cards|ranks|processes|[abhvl]\d{2,3}s?) each\b"
)
# Pieces, of cards mostly: not of pictures (图, 照), tables, memory, code, data, disks or models.
_PIECES = rf"(?:张(?!\s?[图照表])|块(?!\s?[内代数磁硬模])|{_CARD_SIGN})"
_IN_OTHER_SCRIPTS = (
    regex(rf"(?P<v>\d(?<![a-wyz_\d.]\d)\d{{0,3}})(?<!{GPU_NUMBER}) ?(?:{_PIECES}|个\s?gpu)"),
    regex(r"(?P<v>[1-9](?<![a-z_\d.到]\d)\d{0,3})卡在\s?(?:训练|微调|推理|预训|跑)"),  # 8卡在训练: training on eight
    regex(r"(?P<v>\d(?<![\d.]\d)\d{0,3})\s?(?:枚|장|видеокарт|карт[аы]?(?!\w)|بطاق)"),
    regex(rf"{SIGN_NUMBER}(?:[张块个]\s?)?(?:{_CARD_SIGN}|显卡|gpu|[abhv]\d00|\d0[5-9]0)"),
    regex(r"gpu\s?(?:数量|卡数|个数|数)\s?[:：=为]\s?(?P<v>\d{1,4})"),
)

COMMAND = r"(?:[^\n\\]|\\\n?){0,200}?"  # the rest of one, over lines that end in a backslash
# Options and fields, and a value behind them; of `--gres=gpu:a100:8` with the type between.
_VALUE = r"(?::[a-z]\w{0,30})?[\"'\]]{0,2}\s{0,8}[=:填]?\s{0,3}[\"']?(?P<v>\d{1,4})\b"
_PER_NODE_OPTIONS = (
    *("nproc_per_node", "nproc-per-node", "nprocpernode", "gpus_per_node", "gpus-per-node", "gres=gpu"),
    *("nvidia.com/gpu", "amd.com/gpu", "gpu_num_devices", "num gpus  ", "npernode", 'gpu "num'),
    *("gpu number:", "num of gpu's", "num of gpus:"),
)
_PER_NODE_OPTION = regex(rf"(?:{'|'.join(map(re.escape, _PER_NODE_OPTIONS))}){_VALUE}")
_OPTIONS = (
    *("num_gpus", "num-gpus", "tensor_parallel_size", "tensor-parallel-size"),
    *(
        "numgpus",
        "num_devices",
        "num_processes",
        "gpu count",
        "gpu_count",
        "number of gpus:",
        "tpu_cores=",
        "-tp-size",
        "-tp ",
    ),
)
# But not the advice of Accelerate's errors, the demand of a Ray actor, the origin of a checkpoint, or a degree of 1.
_OPTION = regex(
    r"(?<!specifying `--)(?<!target)(?<!remote\()(?<!options\()(?<!remote\(num_cpus=\d, )(?<!saved with )(?<!saved with dp )"
    rf"(?!(?:tensor.parallel.size|-tp(?:-size)?)[\"' ]?\s{{0,3}}[=:]?\s{{0,3}}1\b)"
    rf"(?:{'|'.join(_OPTIONS)}){_VALUE}(?!\s?(?:!=|[*x×]\s?\d))"
)
# One side of a server whose prefill and decoding are apart
_SIDE_BEFORE = regex(r"\b(?:prefill|decod(?:e|ing))(?: (?:pods?|nodes?|workers?|instances?))?:? ?[`(]?-{0,2}\Z")
_SIDE_BEFORE_CHARS = 30  # at most
_GPUS_OPTION = regex(  # --gpus 4, --gpus=16, ngpus=8, gpus: 4
    rf"gpus(?:[\"']?\s{{0,2}}[=:]\s{{0,2}}[\"']?|(?<=--gpus)\s)(?P<v>\d{{1,4}})(?<!{GPU_NUMBER})"
    r"(?![\w.:]|[,-]\d|\s?[x×*]\s?\d|\s?gb)"
)
_GPUS_OPTION_BEFORE = regex(r"(?:\A|[^\w.])(?:n_?)?\Z")
_NO_GPUS = regex(r"gpus[\"']?\]?\s?[=:]\s?(?:0|none)\b(?![.,]\d)")
_DEVICES = regex(r"(?<!\w)devices[\"']?\s?[=:]\s?(?P<v>\d{1,3})\b(?!,\s?\d)")  # of Lightning's trainer
_NCCL_TESTS_STARTS = (
    *("all_reduce_perf", "all_gather_perf", "alltoall_perf", "broadcast_perf", "reduce_perf", "reduce_scatter_perf"),
    *("sendrecv_perf", "scatter_perf", "gather_perf", "hypercube_perf"),
)
_NCCL_TESTS = regex(rf"[a-z_]{{8,20}}{COMMAND}\s(?:-g|--ngpus)\s?(?P<v>\d{{1,3}})\b")
_DEVICE_LIST = regex(
    r"(?:visible_devices[\"'\]]{0,3}\s?[=:]?\s?[\"']?|gpus\s?=\s?[\"'\[]|--gpus?[= ]|--devices?[= ][\"']?"
    r"|device_ids\s?=\s?\[|--include[= ][\"']?[\w.-]{1,60}:)"
    r"(?P<list>\d{1,2}(?:,\s?\d{1,2}){1,31}|(?<=--gpu )0(?:\s\d{1,2}){1,31})(?![\w.])"
)
MPI_LAUNCHERS = ("horovodrun", "mpirun", "mpiexec")
_HOST = r"(?:[\w.-]{1,60}|<[^<>\n]{1,40}>):\d{1,3}"
MPI_HOSTS = regex(rf"[a-z]{{6,10}}{COMMAND}\s(?:-H|--hosts?)\s(?P<hosts>{_HOST}(?:,{_HOST}){{0,127}})")
_MPI_PROCESSES = regex(rf"[a-z]{{6,10}}{COMMAND}\s(?:-np?|--np)\s(?P<v>\d{{1,5}})\b")
# For a report whose processes run on GPUs: not "CUDA version" of Horovod's form, nor "/Multiple-GPUs-and-machines".
_OF_GPUS = regex(r"(?<![\w/-])[nm]?gpu|nvidia|cuda_|nccl_|cuda (?:error|driver|out)")
# Degrees of one command, whose product counts; SGLang's replicas of attention share its cards.
_DEGREES = regex(r"(?P<kind>(?:tensor|pipeline|data)[_-]parallel[_-]size|-[tp]p(?:-size)?)[ =]\s?(?P<v>\d{1,4})\b")
_COMMANDS_END = regex(r"(?<!\\)\n")
_DIST_TRAIN = regex(r"dist_(?:train|test)\.sh(?:\s\S{1,200}){1,2}?\s(?P<v>\d{1,2})(?![\w.])")  # of OpenMMLab
_DEEPSPEED_GPUS = regex(r"deepspeed\s[^\n]{0,80}?--num_gpus[= ](?P<v>\d{1,3})\b")

# "8 GPUs each", "8 GPUs per node", "8-GPU nodes"; before: "each with 8", "nodes x 8", 每台8.
_PER_NODE_BEHIND = regex(
    r"(?:[ -](?:GPUs?|cards?|SXM\d?|PCIe|NVL|HBM\de?|\d{2,3}\s?GB?)){0,3},?"
    r"(?:\s(?:each\b(?!\s(?:with|ha))|(?:per|(?:on|in) (?:each|every|a)(?: of (?:the )?\w{1,8})?|an?)"
    r"\s(?:node|machine|server|host)s?\b)"
    r"|\s?/\s?(?:node|machine|server|host|节点|台|机)|[ -](?:node|machine|server)s?\b|\s?(?:机器|服务器)"
    r"|\s?[x×*]\s?\d{1,3}\s?(?:nodes|machines|台|机|节点))",
    re.I,
)
_PER_NODE_BEFORE = regex(
    r"(?:(?:\bnodes?|[台机]|节点)\s?[x×*]\s?|[台机]各有?\s?|\bnodes?\seach\s(?:have|has|with)\s|\bnodes\sof\s|[,:]\seach\s"
    r"|\b(?:each|every)\s(?:(?:node|machine|server|host)\s)?(?:with|has|having|of)\s"
    r"|(?P<with>\b(?:nodes|machines|servers|hosts)\s(?:with|have)\s)"
    r"|每(?:个|台|节点|个节点|机|台机器|台服务器)[有上是：:]?\s?)\Z",
    re.I,
)
_PER_NODE_BEFORE_CHARS = 24  # at most
_ONE_NODE_BEHIND = regex(
    r"(?: \([^()\n]{1,20}\))?[ -](?!per |each |every )(?:(?:compute|cloud|worker|linux|windows) )?"
    r"(?:node|machine|server|system|instance)\b"
)
_MOST_ON_A_NODE = 16  # more are those of a cluster
_SINGLE_GPU = regex(
    r"单[卡张]|(?<!least )(?<!than )(?<!not fit )(?<!n't fit )(?<!fit on )(?<!fit in )(?<!fit into )"
    r"\b(?:single|one)[ -](?:(?:nvidia|tesla|geforce|rtx|gtx)\s){0,2}"
    rf"(?:gpu|card|[abhv]\d00|\d0[5-9]0){AFTER}"
)
_SEVERAL_SAID = regex(r"(?<![\w-])gpus\b(?!\s?[=:])|multi(?:[- ]?|ple )gpu|more than one gpu|several (?:gpu|card)s")
_ONE_VISIBLE = regex(r"visible_devices[\"'\]]{0,3}\s?[=:]\s?[\"']?(\d{1,2})(?![,\d])")
# Words of which a text in lower case holds one where a pattern may match; the commonest first.
_COUNT_WORDS = (
    *(
        "dist_t",
        "gpu",
        "npu",
        "hpu",
        "card",
        "nproc",
        "-tp",
        "tensor",
        *_OPTIONS,
        "device",
        "--include",
        *MPI_LAUNCHERS,
    ),
)


def count_gpus(
    passage: Passage, *, names_gpu: bool, on_gpus: bool | None
) -> tuple[tuple[int, int] | None, tuple[int, int] | None, bool]:
    """The most GPUs that a text mentions, in all and on one node, each with its place; None without a number. And
    whether its options ask for fewer than its words count: on one node of several, or of a larger machine.

    Args:
        names_gpu: Whether it may hold the name of one.
        on_gpus: Whether the job runs on GPUs, so that MPI's processes have one each; by the text's words if None.
    """
    text, words = passage.text, passage.words
    per_node: Counts = []
    total: Counts = []
    working: Counts = []
    fewer = False
    for each in EACH_WITH.finditer(words) if " each" in words else ():
        if on_gpus or (on_gpus is None and _OF_GPUS.search(words)):
            per_node.append((by := number_in(each["by"]), each.start("by")))
            total.append((number_of(each) * by, each.start()))
    if names_gpu or any_of(_COUNT_WORDS, words) or CARD_NUMBER.search(words):
        in_words = matches_at(_IN_WORDS, words, places(NUMBER_WORDS, words))
        for match in (*GPUS_BY.finditer(text), *_GPUS.finditer(text), *_times(text), *in_words):
            start = match.start("v")
            if part := _PART_BEFORE.search(words, max(0, start - _PART_BEFORE_CHARS), start):
                return (int(part["part"]), start), None, False  # of the machine's eight the job has four
            if not _counts_nodes(text, match) and not is_no_count(text, start):
                number, by = number_of(match), match.groupdict().get("by")
                if is_fine(words, start, match.end()):
                    working.append((number, start))
                    continue
                counts = per_node if by or _is_per_node(text, match) else total
                counts.append((int(by) if by else number, start))
                total += [(number * int(by), start)] if by else []
        said = most(total, 100_000)
        started = numbers_at(_PER_NODE_OPTION, words, _PER_NODE_OPTIONS)
        started += numbers_at(_DIST_TRAIN, words, ("dist_t",))
        started += numbers_at(_DEVICES, words, ("devices",)) + numbers_at(_DEEPSPEED_GPUS, words, ("deepspeed ",))
        listed = matches_at(
            _DEVICE_LIST,
            words,
            places(("visible_devices", "gpus=", "gpus =", "--gpu", "--device", "device_ids", "--include"), words),
        )
        lists = [(re.findall(r"\d+", match["list"]), match.start()) for match in listed]
        started += [(len(devices), place) for devices, place in lists]
        per_node += started
        elastic = "--max-np" in words  # their number changes
        processes = [] if elastic else numbers_at(_MPI_PROCESSES, words, MPI_LAUNCHERS)
        times = max([number for number, _ in processes], default=1)
        options = [
            (number, place)
            for number, place in numbers_at(_OPTION, words, _OPTIONS)
            if not _SIDE_BEFORE.search(words, max(0, place - _SIDE_BEFORE_CHARS), place)
        ]
        options += [(n * times, place) for n, place in numbers_at(_NCCL_TESTS, words, _NCCL_TESTS_STARTS)]
        options += _grids(words)
        if visible := {device for devices, _ in lists for device in devices}:
            options = [one for one in options if one[0] <= len(visible)]
        asked = most([*started, *options], 100_000)
        fewer = asked is not None and (asked[0] < said[0] if said else asked[0] == 1 and _is_one_of_several(words))
        if processes and (on_gpus or (on_gpus is None and _OF_GPUS.search(words))):
            total += processes
            hosts = [*matches_at(MPI_HOSTS, text, places(MPI_LAUNCHERS, words))]
            slots = {int(host.rpartition(":")[2]) for match in hosts for host in match["hosts"].split(",")}
            per_node += [(slots.pop(), hosts[0].start())] if len(slots) == 1 else []
        total += options
        total += [
            (number_of(match), match.start())
            for match in matches_at(_GPUS_OPTION, words, places(("gpus",), words))
            if _GPUS_OPTION_BEFORE.search(words, max(0, match.start() - 3), match.start())
        ]
    if not text.isascii():
        for pattern in _IN_OTHER_SCRIPTS:
            for match in pattern.finditer(words):
                if not is_no_count(words, match.start("v")):
                    counts = per_node if _is_per_node(words, match) else total
                    counts.append((number_of(match), match.start()))
    if not any(count for count, _ in (*per_node, *total, *working)):
        single = first_at(_SINGLE_GPU, words, places(("single", "one", "单"), words))
        if single and (_PER_NODE_BEHIND.match(words, single.end()) or _ONE_NODE_BEHIND.match(words, single.end())):
            # "single-GPU nodes" are several
            return None, (1, single.start()), _ONE_NODE_BEHIND.match(words, single.end()) is None
        none = first_at(_NO_GPUS, words, places(("gpus",), words))
        return ((0, none.start()) if none else None), None, False
    return most(total or ([] if per_node else working), 100_000), most(per_node, 100), fewer


def _is_one_of_several(words: str) -> bool:
    """Whether a text with processes of one GPU each has several of them, perhaps one after the other."""
    return len(set(_ONE_VISIBLE.findall(words))) > 1 or several_said(words)


def several_said(words: str) -> bool:
    """Whether a folded text speaks of several GPUs, perhaps without their number."""
    return _SEVERAL_SAID.search(words) is not None


def counts_gpus(text: str) -> bool:
    """Whether a text states GPUs in words, as "on 2 GPUs"."""
    return _GPUS.search(text) is not None or GPUS_BY.search(text) is not None


def numbers_at(pattern: re.Pattern[str], text: str, starts: Iterable[str]) -> Counts:
    """The numbers of the matches that begin with some words."""
    begins = places(starts, text)
    return [(number_of(match), match.start()) for match in matches_at(pattern, text, begins)] if begins else []


def number_of(match: re.Match[str]) -> int:
    """The value of the group `v`, in figures or in words."""
    return number_in(match["v"].lower())


def number_in(said: str) -> int:
    """The value of a number in figures, or in words in lower case."""
    return _NUMERALS[said] if said in _NUMERALS else int(said.replace(",", ""))


def _grids(words: str) -> Counts:
    """The product of the degrees of parallelism in each command that has several."""
    found: list[tuple[dict[str, int], int]] = []
    end = -1
    for match in matches_at(_DEGREES, words, places(("tensor", "-tp", "pipeline", "-pp", "data"), words)):
        if match.start() > end:
            end = behind.start() if (behind := _COMMANDS_END.search(words, match.end())) else len(words)
            found.append(({}, match.start()))
        if match["kind"][0] != "d" or "enable-dp-attention" not in words:
            found[-1][0][match["kind"].strip("-")[0]] = number_of(match)
    return [(prod(degrees.values()), place) for degrees, place in found if len(degrees) > 1]


def _times(text: str) -> Iterator[re.Match[str]]:
    for match in _TIMES.finditer(text):
        start, end = match.span()
        if _NODES_AFTER.match(text, end):
            if _COUNTED_BEFORE.search(text, max(0, start - _COUNTED_BEFORE_CHARS), start):
                yield match
        elif _TIMES_BEHIND.search(text, max(0, start - _TIMES_BEHIND_CHARS), start) or _TIMES_BEFORE.match(text, end):
            yield match


def _counts_nodes(text: str, match: re.Match[str]) -> bool:
    """Whether a number is that of "8 GPU nodes"."""
    behind = match.end("v")
    return behind < match.end() and text[behind] == " " and bool(_NODES_BEHIND.match(text, match.end()))


def _is_per_node(text: str, match: re.Match[str]) -> bool:
    start = match.start("v")
    before = _PER_NODE_BEFORE.search(text, max(0, start - _PER_NODE_BEFORE_CHARS), start)
    # "4 nodes with 8 GPUs" have 8 each, "4 nodes with 32 GPUs" have 32.
    number = number_of(match)
    each = before and not (before["with"] and number > 8)
    return number <= _MOST_ON_A_NODE and bool(each or _PER_NODE_BEHIND.match(text, match.end()))
