"""The GPUs of each node, told from those of the whole job; and whether there are several nodes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from distriage.base.texts import regex
from distriage.facts.counting.numerals import NUMBER_WORDS, number_in, number_of
from distriage.facts.gpus import GPU_NAME
from distriage.facts.scanning import any_of

# Two workers with two L40 each, 4 workers with 8 ranks each, 2 nodes (8 A100 each)
_NUMBER = rf"[1-9]\d{{0,2}}|{'|'.join(NUMBER_WORDS[:8])}"
_EACH_WITH = regex(
    rf"\b(?P<v>{_NUMBER}) (?:[a-z\d]{{2,12}} )?(?:(?P<workers>workers?)|nodes|machines|servers|hosts|vms)"
    rf" (?:(?:with|of|having) |\()(?P<by>{_NUMBER})(?: | ?[x×*] ?)(?:(?!cpu|core)[a-z\d]{{2,8}} )?"
    r"(?:[ghn]pus?|cards|ranks|(?P<processes>processes)|[abhvl]\d{2,3}s?) each\b"
)
# A machine of the reporter, perhaps with the GPUs that the report counts elsewhere
A_MACHINE = regex(
    r"\b(?:my|our|this|the same|in|on an?|on one|a single) (?:[\w.-]{1,16} ){0,3}?"
    r"(?:machine|workstation|server|pc|rig|dgx)\b(?! learning)|\.\d{0,2}x?large\b"
)
_SEVERAL_NODES = regex(
    r"kind: (?:leaderworkerset|raycluster|rayjob|rayservice|jobset|statefulset)\b"
    r"|hosts\b|multi[- ]?host|node(?:s\b(?<!numa nodes)|\b(?:(?<=new node)|(?<=second node)|(?<=other node)))"
    r"|multi[- ]?node|machines\b|[多几跨]机|[多几跨]个?节点"
)
# 16 GPUs (8 each), 8 V100s to train (4 on each node)
EACH_IN_BRACKETS = regex(
    r"\((?P<v>[1-9]\d?) each\)|(?:gpus?|cards?|[abhlv]\d{2,3}s?)\b[^\n().,]{0,24}"
    r"\((?P<part>[1-9]|1\d) (?:gpus? )?(?:on each|in each|per) (?:node|machine|server|host)\)"
)
# "8 GPUs each", "8 GPUs per node", "8-GPU nodes"; before: "each with 8", "nodes x 8", 每台8, "по 8".
PER_NODE_BEHIND = regex(
    rf"(?:[ -](?:GPUs?|cards?|{GPU_NAME}s?|SXM\d?|PCIe|NVL|HBM\de?|\d{{2,3}}\s?GB?)){{0,3}},?"
    r"(?:\s(?:each\b(?!\s(?:with|ha))|(?:on|in)\seach\b(?=[ \t]?(?:[.,;)(\n]|\Z))"
    r"|(?:per|(?:on|in) (?:each|every|a)(?: of (?:the )?\w{1,8})?|an?)\s(?:node|machine|server|host)s?\b)"
    r"|\s?/\s?(?:node|machine|server|host|节点|台|机)|[ -](?:node|machine|server)s?\b(?! learning)|\s?(?:机器|服务器)"
    r"|\s?[x×*]\s?\d{1,3}\s?(?:nodes|machines|台|机|节点|ノード)|ずつ)",
    re.I,
)
_PER_NODE_BEFORE = regex(
    r"(?:(?:\b(?:node|tray|machine|server|host)s?|[台机]|节点)\s?[x×*]\s?|[台机器(（,，]\s?各有?\s?"
    r"|\bnodes?,?\seach\s(?:(?:have|has|with)\s)?|\bnodes\sof\s|[,:]\seach\s"
    r"|\b(?:each|every)\s(?:(?:node|machine|server|host|instance)\s)?(?:with|has|having|of)\s"
    r"|\beach\sof\s(?:the|our|my)\s(?:\w{1,6}\s)?(?:nodes|machines|servers|hosts)\s(?:with|has|have)\s"
    rf"|\b(?:each|every|per|single)\s(?:node|machine|server|host)(?:\sis\s|\s?[:：=]\s?)(?:{GPU_NAME}\s?[x×*]\s?)?"
    rf"|(?P<some>\b(?:nodes|machines|servers|hosts)\s"
    rf"(?:(?:with|have)\s|(?:(?:with|of)\s)?{GPU_NAME}\s?[x×*]\s?|(?P<times>)))"
    rf"|台\s?(?:{GPU_NAME}\s?[x×*]\s?)?|(?P<whole>单(?:机|节点)\s?)|\bпо\s|각각\s(?:[A-Z]\d{{2,3}}\s)?"
    r"|每(?:个|台|节点|个节点|机|台机器|台服务器)[有上是：:]?\s?)\Z",
    re.I,
)
_PER_NODE_BEFORE_CHARS = 40  # at most
_EACH = regex(
    rf"(?:\d{{1,3}}|{'|'.join(NUMBER_WORDS)})[^\n.;,]{{0,30}}?"
    r"(?:\b(?:(?:per|an?|each|every) (?:node|machine|server|host)|each)\b"
    r"|\s?/\s?(?:node|节点|机|台))"
)
_EACH_BEFORE = regex(r"(?:\b(?:each|every)\b[^\n.;,]{0,24}|每[个台机节点器服务有上是]{0,6}[：: ]?)\Z")
_EACH_BEFORE_CHARS = 32  # at most
MOST_ON_A_NODE = 16  # more are those of a cluster
# As many as a node has: 8 GPUs, 4x A100, H100*8, 八卡; a Spark or a Mac has one
_OF_A_NODE = regex(
    r"(?:8|eight|八)(?!\d|[.,]\d)|[2-8]\s?[x×*](?!\s?(?:gb10|m\d ))"
    r"|(?:(?<=[x×*])|(?<=[x×*]\s))[2-8](?!\d)"
)
_IN_ALL_BEFORE = regex(
    r"(?:\b(?:total|all|altogether|together)\b[^\n.;]{0,24}|\b(?:over|across) |[共总][^\n。；，]{0,6})\Z"
)
_IN_ALL_BEFORE_CHARS = 32  # at most
_IN_ALL_BEHIND = regex(
    r"[^\n.;,]{0,24}?\b(?:total|altogether|overall|together"
    r"|(?:on|over|across|among|between|from|in) [^\n.;,]{0,16}\b(?:nodes|machines|servers|hosts))\b"
)


def each_with(words: str) -> Iterator[tuple[re.Match[str], bool]]:
    """The numbers `v` of nodes or workers with `by` GPUs each, and whether they are nodes.

    Workers on one machine, or with a GPU each, are its processes; those with processes may only load data.
    """
    if " each" in words:
        several, alone = speaks_of_several_nodes(words), A_MACHINE.search(words) is not None
        for match in _EACH_WITH.finditer(words):
            if several or not match["workers"]:
                yield match, True
            elif not match["processes"]:
                yield match, number_in(match["by"]) > 1 and not alone


def nodes_with(words: str, place: int) -> int | None:
    """The number of nodes in the phrase whose number of GPUs of each stands at a place of a folded text."""
    return next((number_of(one) for one, are_nodes in each_with(words) if are_nodes and one.start("by") == place), None)


def speaks_of_several_nodes(words: str) -> bool:
    """Whether a text in lower case mentions several nodes, perhaps without their number."""
    return _SEVERAL_NODES.search(words) is not None


def is_of_each_node(text: str, match: re.Match[str]) -> bool:
    """Whether the number `v` of a match is that of each of several nodes."""
    start = match.start("v")
    before = _PER_NODE_BEFORE.search(text, max(0, start - _PER_NODE_BEFORE_CHARS), start)
    # "4 nodes with 8 GPUs" or "4 nodes 8x H100" have 8 each, "4 nodes with 32 GPUs" have 32; 单机两卡 may be all.
    number = number_of(match)
    each = before and not (before["some"] and number > 8) and not (before["whole"] and number < 8)
    if before and before["times"] is not None:
        each = each and text[match.end("v") : match.end("v") + 2].strip()[:1] in {*"x×*"}
    return number <= MOST_ON_A_NODE and bool(each or PER_NODE_BEHIND.match(text, match.end()))


def is_single_of_each(words: str, single: re.Match[str]) -> bool:
    """Whether a single GPU is that of each of several nodes."""
    before = _PER_NODE_BEFORE.search(words, max(0, single.start() - _PER_NODE_BEFORE_CHARS), single.start())
    behind = PER_NODE_BEHIND.match(words, single.end())
    return bool(before or (behind and any_of((" each", " per ", " every "), behind[0])))


def is_said_of_each(words: str, place: int) -> bool:
    """Whether the number at a place of a folded text is said of each of several nodes."""
    return bool(_EACH.match(words, place) or _EACH_BEFORE.search(words, max(0, place - _EACH_BEFORE_CHARS), place))


def may_be_of_each(words: str, count: int, place: int) -> bool:
    """Whether a number of GPUs beside several nodes may be that of each: a node has as many, and nothing calls it all.

    Args:
        place: Where the number stands in a folded text.
    """
    return (
        count <= 8
        and _OF_A_NODE.match(words, place) is not None
        and not _IN_ALL_BEHIND.match(words, place)
        and not _IN_ALL_BEFORE.search(words, max(0, place - _IN_ALL_BEFORE_CHARS), place)
    )
