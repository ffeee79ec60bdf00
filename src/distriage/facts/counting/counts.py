"""The number of GPUs in a report, in figures and words of several languages; the largest counts. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from distriage.base.texts import regex
from distriage.facts.counting.degrees import stated_degree
from distriage.facts.counting.each import (
    EACH_IN_BRACKETS,
    PER_NODE_BEHIND,
    each_with,
    is_of_each_node,
    is_single_of_each,
    speaks_of_several_nodes,
)
from distriage.facts.counting.numerals import FIGURES, NUMBER_WORDS, SIGN_NUMBER, WORD, number_in, number_of
from distriage.facts.counting.options import JOB_OF_SEVERAL, MPI_LAUNCHERS, NO_GPUS, ONE_VISIBLE, OPTIONS, asked_gpus
from distriage.facts.counting.parts import BY_NODES, both_sides, part_of, sides
from distriage.facts.counting.success import fails_behind, is_fine
from distriage.facts.demands import is_demanded, is_no_count
from distriage.facts.gpus import AFTER, CARD_NUMBER, GPU_NAME, GPU_NUMBER
from distriage.facts.scanning import Counts, Passage, any_of, first_at, matches_at, most, places

_HOURS = r"(?![ -](?:GPU[ -])?(?i:hours?|days?|weeks?|months?|years?)\b)"  # "2000 H100 hours" counts none
_GPU = (
    rf"(?:TPU cores|(?:TPU )?chips(?=,? (?:each|per))|[GNH]PU(?![ -](?:memory|mem|time|util|usage)){_HOURS}s?"
    r"|(?:graphics? |video )?cards?)"
)
_MAKER = r"(?:nvidia|tesla|amd|geforce|intel|cuda)\s"
_NAMED = rf"(?:{GPU_NAME}|\d0[5-9]0(?:D|(?i:\s?Ti))?)s?{AFTER}{_HOURS}"
_CARD_SIGN = "卡(?![住死顿壳了着在])"  # a card; with these it is "stuck"
# Each pattern begins with a digit and looks back from it: `re` finds such patterns five times as fast as those that
# begin with a lookbehind.
GPUS_BY = regex(  # 8x A100, 2x8 H100
    rf"(?P<v>[1-9](?<![A-Za-z0-9_.]\d)(?!\d{{2,3}}x\d{{3,4}}(?!\w)){FIGURES})\s?[x×*]\s?(?:(?P<by>[1-9]\d{{0,2}})\s?[x×*]?\s?)?"
    rf"(?i:{_MAKER}|\d{{2,3}}\s?GB\s){{0,2}}(?:{_NAMED}|(?i:{_GPU}){AFTER}|RTX|GTX|TITAN)"
)
_GPUS = regex(  # 8 GPUs, 8 A100; not those of "distributed.py:49 GPU", "Llama-3 GPU", "1-4 GPUs", "A800 80 GPU cards"
    r"(?P<v>[1-9](?<![A-Za-z0-9_.*]\d)(?<![A-Za-z0-9]-\d)(?<!\d/\d)(?<![A-Za-z0-9]:\d)(?<!Vega\s\d)(?!(?<=[AHVahv]\d00\s\d)[024]\s)"
    rf"{FIGURES})(?<!{GPU_NUMBER})(?<!20[12]\d)(?=[ -]?[A-Za-z\d卡-])"
    rf"(?:[ -]?(?i:{_MAKER}|(?:rtx|gtx|[abhv]\d00|\d0[5-9]0|a6000|logical|physical|-)\s){{0,3}}(?i:\d{{2,3}}\s?GB\s)?"
    rf"(?:(?i:{_GPU})|{_CARD_SIGN}){AFTER}(?!=)| (?=[A-Za-z])(?i:{_MAKER}){{0,2}}(?:{_NAMED}|RTX|GTX))"
)
_TIMES = regex(r"[x×*]\s?(?P<v>[1-9]\d{0,2})(?![A-Za-z0-9_.])")  # H100 x 8, x8 H100
_COUNTED_BEFORE = regex(rf"(?<![\w.])\d{{1,3}}\s{GPU_NAME}\s?\Z")  # 2 H800*8 nodes; but "A100 x 8 nodes" are eight
_COUNTED_BEFORE_CHARS = 16  # at most
_NODES_AFTER = regex(r"\s?nodes?\b")
_NODES_BEHIND = regex(r"\s(?:(?:compute|worker)\s)?(?:nodes|machines|servers|hosts)\b")
_TIMES_BEHIND = regex(
    r"(?:[ABHLV](?:\d00S?|20|40S?)|MI\d{3}X?|\bT4|RTX\s?A?[4568]000|910[A-C]\d?|Gaudi\s?\d"
    r"|TITAN (?:X[Pp]?|V|RTX)|\d0[5-9]0(?:D|\s?Ti)?|\d\s?(?-i:GB?|gb?)\)?|HBM\de?)\s?\Z",
    re.I,
)
_TIMES_BEHIND_CHARS = 10  # at most
_TIMES_BEFORE = regex(rf" (?i:{_MAKER}){{0,2}}{_NAMED}")
_IN_WORDS = regex(
    rf"{WORD}(?:(?:nvidia|tesla|geforce|rtx|gtx)\s){{0,2}}"
    rf"(?:(?:[abhv]\d00|[hl][24]0|a[1345]0|[tl]4|k80|p100|\d0[5-9]0|mi\d{{2,3}}x?)s?(?! and [ahlpv]\d)(?:\sgpus)?"
    rf"|(?:amd\s)?gpus?|(?:graphics? |video )?cards?){AFTER}"
    r"(?! ==)"  # rocm-smi's heading "==== Weight between two GPUs ===="
    r"(?<!\bboth gpu)"  # "on both GPU and CPU"
)
# "4 GPUs per instance": of a part of the job, whose number of parts is unknown
_OF_A_PART = regex(
    r"(?:\s\d{2,3}\s?gb)?\s(?:per|(?:for|in|on) (?:each|every))\s(?:of (?:the )?)?(?:[\w-]{1,12}\s)?"
    r"(?:actor|card|container|engine|experiment|instance|pod|replica|service|socket|task|trial|worker)s?\b"
)
# For a report whose processes run on GPUs: not "CUDA version" of Horovod's form, nor "/Multiple-GPUs-and-machines".
_OF_GPUS = regex(r"(?<![\w/-])[nm]?gpu|nvidia|cuda_|nccl_|cuda (?:error|driver|out)")
# Pieces, of cards mostly: not of pictures (图, 照), tables, memory, code, data, disks or models.
_PIECES = rf"(?:张(?!\s?[图照表])|块(?!\s?[内代数磁硬模])|{_CARD_SIGN})"
_IN_OTHER_SCRIPTS = (
    regex(rf"(?P<v>\d(?<![a-wyz_\d.]\d)\d{{0,3}})(?<!{GPU_NUMBER}) ?(?:{_PIECES}|个\s?gpu)"),
    regex(r"(?P<v>[1-9](?<![a-z_\d.到]\d)\d{0,3})卡在\s?(?:训练|微调|推理|预训|跑)"),  # 8卡在训练: training on eight
    regex(r"(?P<v>\d(?<![\d.]\d)\d{0,3})\s?(?:枚|장|видеокарт|карт[аы]?(?!\w)|بطاق)"),
    regex(rf"{SIGN_NUMBER}\s?(?:[张块个]\s?)?(?:{_CARD_SIGN}|显卡|gpu|[abhv]\d00|\d0[5-9]0)"),
    regex(r"gpu\s?(?:数量|卡数|个数|数)\s?[:：=为]\s?(?P<v>\d{1,4})"),
)

_ONE_NODE_BEHIND = regex(
    r"(?: \([^()\n]{1,60}\))?[ -](?!per |each |every )(?:(?:compute|cloud|worker|linux|windows) )?"
    r"(?:node|machine|server|system|instance)\b"
)
_EACH_WORDS = (" each", " per ", "nodes with", "machines with")
_SINGLE_GPU = regex(
    r"单[卡张](?:\s?(?:rtx\s?)?(?:[abhv]\d00|\d0[5-9]0))?"
    r"|(?<!least )(?<!than )(?<!not fit )(?<!n't fit )(?<!fit on )(?<!fit in )(?<!fit into )"
    r"\b(?:single|one)[ -](?:(?:nvidia|tesla|geforce|rtx|gtx)\s){0,2}"
    # "one H100 node" has any number of them
    rf"(?:gpu|card|(?:[abhv]\d00|\d0[5-9]0)(?![ -](?:node|machine|server|host|system|instance)\b)){AFTER}"
)
# One GPU as an item of its own, or that of the reporter: "Python 3.12, one GPU", "I have a single GPU."
_OWN_BEFORE = regex(
    r"(?:(?:\A|[\n,;:(，；、：。/]|(?<!e\.g)\. )[\s*-]{0,4}(?:(?:on|with) )?"
    r"|\b(?:i|we) (?:only )?(?:have|own|use)(?: only)? |\bmy )(?:an? )?\Z"
)
_OWN_BEFORE_CHARS = 24  # at most
_OWN_BEHIND = regex(r"\s?[,.;()，。；、\n]|\Z")
_SEVERAL_SAID = regex(rf"(?<![\w-])gpus\b(?!\s?[=:])|多[卡张机]|{JOB_OF_SEVERAL.pattern}")
# Words of which a text in lower case holds one where a pattern may match; the commonest first.
_COUNT_WORDS = (
    *("gpu", "npu", "hpu", "card", "chips", "nproc", "-tp", "-dp", "-pp", "tensor", "pipeline", "data_par", "data-par"),
    *("device", "--include", "dist_t", " slots="),
    *OPTIONS,
    *MPI_LAUNCHERS,
)


class GpuCounts(NamedTuple):
    """The most GPUs that a text counts, each number with its place; None without a number.

    Attributes:
        asked: The most that options ask for, where words count more of the machine or the cluster: a job on one node
            has no more.
        is_unknown: A job on one node uses several GPUs, and the text counts only the single one of each process.
        is_part: A part of the machine's GPUs is counted, as in "4 of the 8 GPUs".
    """

    total: tuple[int, int] | None
    per_node: tuple[int, int] | None
    asked: tuple[int, int] | None = None
    is_unknown: bool = False
    is_part: bool = False


def count_gpus(passage: Passage, *, names_gpu: bool, on_gpus: bool | None, serves: bool) -> GpuCounts:
    """Count the GPUs of a text.

    Args:
        names_gpu: Whether it may hold the name of one.
        on_gpus: Whether the job runs on GPUs, so that MPI's processes have one each; by the text's words if None.
        serves: The report's product is a server.
    """
    text, words = passage.text, passage.words
    per_node: Counts = []
    total: Counts = []
    asked = None
    is_unknown = is_part = False
    if on_gpus is None:
        on_gpus = any_of((" each", *MPI_LAUNCHERS), words) and _OF_GPUS.search(words) is not None
    of_processes: list[re.Match[str]] = []
    for each, are_nodes in each_with(words) if on_gpus else ():
        total.append((number_of(each) * number_in(each["by"]), each.start()))
        if are_nodes:
            per_node.append((number_in(each["by"]), each.start("by")))
        else:
            of_processes.append(each)
    if names_gpu or any_of(_COUNT_WORDS, words) or CARD_NUMBER.search(words):
        of_nodes, in_all, is_part = _said(text, words)
        per_node += (one for one in of_nodes if not any(each.start() < one[1] < each.end() for each in of_processes))
        total += in_all
        said = most(total, 100_000)
        if said and said[0] == 1 and not is_part and JOB_OF_SEVERAL.search(words):
            total.clear()  # one works, or only one is used
        options = asked_gpus(passage, on_gpus=on_gpus)
        of_machine = None if options.most and options.most[0] == 1 else most(per_node, 100)
        if options.most and any(one and options.most[0] < one[0] for one in (said, of_machine)):
            asked = options.most
        elif options.most and not said and options.most[0] == 1:  # each of several processes may see one of its own
            is_unknown = len(set(ONE_VISIBLE.findall(words))) > 1 or _SEVERAL_SAID.search(words) is not None
        per_node += options.per_node
        total += options.total
    per_node += ((int(match["by"]), match.start()) for match in BY_NODES.finditer(text) if names_gpu)
    if names_gpu and (aside := EACH_IN_BRACKETS.search(words)):
        per_node.append((int(aside["v"] or aside["part"]), aside.start(aside.lastgroup or 0)))
    if not text.isascii():
        for pattern in _IN_OTHER_SCRIPTS:
            for match in pattern.finditer(words):
                if not is_no_count(words, match.start("v")):
                    counts = per_node if is_of_each_node(words, match) else total
                    counts.append((number_of(match), match.start()))
    if both := both_sides(words):
        nodes, gpus, place = both
        total.append((gpus, place))
        per_node = [one for one in per_node if one[0] * nodes == gpus]  # sides that differ have no number of each node
    may_be_single = not per_node and (not total or any_of(_EACH_WORDS, words))
    singles = [*matches_at(_SINGLE_GPU, words, places(("single", "one", "单") if may_be_single else (), words))]
    each_node = () if total else (one for one in singles if is_single_of_each(words, one))
    single = next(iter((*each_node, *singles)), None)
    if single and total and not of_processes and is_single_of_each(words, single):
        per_node.append((1, single.start()))
    if not any(count for count, _ in (*per_node, *total)):
        if single and (PER_NODE_BEHIND.match(words, single.end()) or _ONE_NODE_BEHIND.match(words, single.end())):
            # "single-GPU nodes" are several
            alone = _ONE_NODE_BEHIND.match(words, single.end())
            return GpuCounts(None, (1, single.start()), is_unknown=not alone)
        none = first_at(NO_GPUS, words, places(("gpus",), words))
        on_gpus = on_gpus or any_of(("nccl", "cuda"), words) or _OF_GPUS.search(words) is not None
        degree = stated_degree(words, on_gpus=on_gpus, serves=serves)
        if degree is None and not _SEVERAL_SAID.search(words):
            degree = next(((1, one.start()) for one in singles if _is_the_only_one(words, one)), None)
        return GpuCounts((0, none.start()) if none else degree, None)
    return GpuCounts(most(total, 100_000), most(per_node, 100), asked, is_unknown, is_part)


def _is_the_only_one(words: str, single: re.Match[str]) -> bool:
    """Whether a single GPU is the reporter's only one: its model is named, or it is an item of its own."""
    start, end = single.span()
    if is_fine(words, start, end) or is_demanded(words, start):
        return False
    before = _OWN_BEFORE.search(words, max(0, start - _OWN_BEFORE_CHARS), start)
    return words[end - 1].isdigit() or bool(before and _OWN_BEHIND.match(words, end))


def _said(text: str, words: str) -> tuple[Counts, Counts, bool]:
    """The counts of each node and in all, in figures and words, and whether one is a part of a machine's GPUs.

    A number that something asks for counts only for lack of others; so does one with which it works, if the sentence
    goes on with how it fails.
    """
    per_node: Counts = []
    total: Counts = []
    aside: tuple[Counts, Counts] = ([], [])
    parts: dict[int, tuple[int, int]] = {}  # a machine's GPUs -> those of them in use, with their place
    in_words = matches_at(_IN_WORDS, words, places(NUMBER_WORDS, words))
    for match in (*GPUS_BY.finditer(text), *_GPUS.finditer(text), *_times(text), *in_words):
        start = match.start("v")
        number, by = number_of(match), match.groupdict().get("by")
        part = part_of(words, start, match.end())
        fine = is_fine(words, min(part[1], start) if part else start, match.end())
        if fine and not fails_behind(words, match.end()):
            continue
        if part:
            parts[number] = (part[0], start)
        elif not (_counts_nodes(text, match) or is_no_count(text, start) or _OF_A_PART.match(words, match.end())):
            of_node, in_all = aside if fine or is_demanded(text, start) else (per_node, total)
            (of_node if by or is_of_each_node(text, match) else in_all).append((int(by) if by else number, start))
            in_all += [(number * int(by), start)] if by else []
    if not (per_node or total or parts):
        per_node, total = aside
    if parts:  # the whole is a machine's, and may be that of each node
        total = [*parts.values(), *(one for one in total if one[0] not in parts)]
        if not speaks_of_several_nodes(words):
            per_node = [one for one in per_node if one[0] not in parts]
    return per_node, total + sides(text, total), bool(parts)


def counts_gpus(text: str) -> bool:
    """Whether a text states GPUs in words, as "on 2 GPUs"."""
    return _GPUS.search(text) is not None or GPUS_BY.search(text) is not None


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
