"""The number of nodes in a report, in figures, options and words of several languages. Pure.

The largest number counts, but not one that is said to hold no longer.
"""

from __future__ import annotations

import re

from distriage.base.texts import regex
from distriage.facts.counting.counts import GPUS_BY
from distriage.facts.counting.each import A_MACHINE, MOST_ON_A_NODE, each_with, speaks_of_several_nodes
from distriage.facts.counting.numerals import FIGURES, NUMBER_WORDS, SIGN_NUMBER, WORD, number_in, number_of, numbers_at
from distriage.facts.counting.options import MPI_HOSTS, MPI_LAUNCHERS
from distriage.facts.counting.parts import BY_NODES, both_sides, sides
from distriage.facts.counting.success import is_fine
from distriage.facts.demands import is_demanded, is_no_count
from distriage.facts.gpus import AFTER, GPU_NAME, GPU_NUMBER
from distriage.facts.scanning import Counts, Passage, any_of, first_at, matches_at, most, places

# "2 compute nodes", "16 A800 nodes", "3 GPU worker nodes", "2 H800*8 nodes", "two 8-GPU nodes"; "8-GPU nodes" and
# "8 GPU node" count GPUs.
_KIND = (
    r"(?:(?i:compute|worker|AWS|GCP|Azure|EC2|physical|DGX|HGX|[a-z]\d\w{0,3}\.\d{0,2}x?large)\s"
    rf"|(?:\d{{1,2}}[x-])?(?:(?i:[CG]PU)|(?i:DGX\s|HGX\s|nvidia\s)?{GPU_NAME}(?:\s?[x×*]\s?\d{{1,2}})?)\s"
    r"(?:(?i:compute|worker)\s)?(?=[a-z]{4,7}s\b))?"
)
# "1 server 2 workers" are processes of a parameter server, "three servers share the GPUs" of one machine
_SERVERS = rf"servers?(?! error| share\b|,?(?: and)? (?:\d{{1,3}}|{'|'.join(NUMBER_WORDS[:8])}) workers?\b(?! each))"
# Not those of "aarch-64 server", "4090 server", "localhost:8000 server", "04:20:27 server.py:228]", "05,323 Node[0]".
_NODES = regex(
    rf"(?P<v>[1-9](?<![A-Za-z0-9_.,:*]\d)(?<![A-Za-z]-\d)(?<!\d/\d)(?<![A-Za-z]\d-\d){FIGURES})(?<!{GPU_NUMBER})"
    rf"(?:-|[x×]? (?=[A-Za-z\d]){_KIND})"
    rf"(?i:nodes?|machines?|{_SERVERS}|hosts?|VMs|Sparks?|trays)\b"
    r"(?!\[|\.\w|=|\(s\)|[ -](?i:groups?|pools?)| (?:in|per) (?:each|every|the|a) (?:hidden )?layer)"
)
# Two machines that are compared with each other are not the nodes of one job.
_IN_WORDS = regex(
    rf"(?i:{WORD}){_KIND}(?i:nodes?|machines?|{_SERVERS}|hosts?|VMs|Sparks?){AFTER}(?![ -](?i:groups?|pools?))"
)
_NODE_SIGN = "(?:(?:个?节点|台|机(?![会构制率]))(?!及?以上)|ノード|노드|개의? ?노드)"
_NODE_WORD = "(?:узл|машин|сервер|нод)"
_IN_OTHER_SCRIPTS = (
    regex(rf"{SIGN_NUMBER} ?{_NODE_SIGN}"),
    regex(rf"(?P<v>\d(?<![a-z0-9_.-]\d)\d{{0,2}}) ?{_NODE_SIGN}"),
    regex(r"노드[는가]?\s?(?P<v>\d{1,3})개"),
    regex(rf"(?P<v>\d(?<!\w\d)\d{{0,2}})\s{_NODE_WORD}"),
    regex(rf"(?P<v>дв(?:а|е|ух))\s{_NODE_WORD}"),
)
# A number that no longer holds: "2 nodes, was 4 nodes", "saved on 4 nodes", "resuming on 2 nodes instead of 4 nodes".
# But a report that it works "on 1 node instead of 2 nodes" is about two.
_FORMER = regex(
    r"\bcluster (?:of|with|has) (?:about |some )?\Z"
    r"|(?:(?:[,;(]\s?(?:was|were)|\b(?:previously|formerly|saved))(?:\s(?:on|with|by))?"
    r"|\b(?:resum|restor|restart|continu|load)[^.\n]{1,50}\sinstead\sof)\s\Z"
)
_FORMER_CHARS = 72  # at most
# 2x p4d.24xlarge, two p2.8xlarge instances
_INSTANCES = regex(
    r"(?P<v>[1-9](?<![\w.-]\d)\d{0,2}|\b(?:two|three|four|eight|sixteen))\s?[x×*]?\s(?:ml\.)?(?=[a-z])[a-z]\d{1,2}[a-z]{0,4}\.\d{0,2}x?(?:large|metal)\b",
    re.I,
)
_INSTANCE_STARTS = (*map(str, range(1, 10)), "two", "three", "four", "eight", "sixteen")
_OPTIONS = ("nnode", "num_nodes", "num-nodes", "numnodes", "num_machines", "--nodes", "number of node")
_OPTION = regex(  # the most of `--nnodes=1:4` and `--nodes=2-4`
    rf"(?:{'|'.join(_OPTIONS)})s?(?:[\"']?\s?[=: ]|[\"']?,(?=\s?[\"']))\s?[\"']?(?:\d{{1,4}}[:-])?(?P<v>\d{{1,4}})\b"
)
_SLURM = ("sbatch", "srun", "salloc")
_SLURM_NODES = regex(r"(?i:sbatch|srun|salloc)[^\n]{0,120}?\s-N\s?(?:\d{1,4}-)?(?P<v>\d{1,4})\b")
_BESIDE_HEAD = regex(  # of Ray, a node too: 1 head + 4 workers
    r"(?:\b(?:1|one|an?) (?:ray )?|\(|(?=head(?: node)? ?\+))head(?:[ -]?node)?(?: and|,| ?\+| with) "
    rf"(?P<v>[1-9]\d{{0,2}}|{'|'.join(NUMBER_WORDS[:8])}) (?:ray )?worker(?:s|(?: nodes?))?\b(?! (?:pod|process))"
)
_HOSTFILE = regex(r"(?<![^\n`])([\w.@-]{1,64}) {1,8}slots=\d")
_INSTANCES_IN_WORDS = regex(  # two AWS instances
    rf"\b(?P<v>[1-9]\d{{0,2}}|{'|'.join(NUMBER_WORDS[:8])}) (?:aws|ec2|gcp|azure|cloud) instances\b"
)
_REPLICA_SPECS = "replicaspecs:"  # of Kubeflow's jobs
_REPLICAS = regex(r"\breplicas:\s{0,3}(\d{1,4})\b")
_REPLICA_SPECS_CHARS = 4000  # at most
_SINGLE = ("single ", "single-", "one ", "one-", "gpus of ", "单机", "--standalone")
_SINGLE_NODE = regex(
    r"(?<!than )(?<!least )(?<!those of )(?<!equal to a )(?<!than a )(?<!type=)"
    r"\b(?:single|one)[ -](?:(?!more|other|such|each|gpu|vllm|sglang|http|parameter)[a-z]{3,16} "
    r"|(?:\d{1,2} ?[x×*] ?)?(?:(?:amd|nvidia) )?(?:[a-z]{1,3}\d{2,4}[a-z]{0,2}|\d{1,2}[ -]gpu)[ -])?"
    r"(?:node|machine|server|host)\b"
    rf"(?!\sto\s(?:\d|multi|many|several|{'|'.join(NUMBER_WORDS)}))"
    r"(?!\s(?:ha[sd]|is|was|gets|fails|dies|hangs|the|maps?|graph|scenario|case)\b|[^\n.;]{0,30}\bother\b)"
    r"|gpus of (?:the|one|a) (?:same )?(?:node|machine|server)\b|单机|--standalone\b"
)
_ON_A_MACHINE = regex(
    r"(?<!other )(?<!different )\b(?:machine|node|server|host|workstation|box|instance|vm|pc|(?<!operating )system) "
    r"(?:with|has|having|of|consisting of) (?:the )?"
    rf"(?P<v>\d{{1,2}}|{'|'.join(NUMBER_WORDS)})(?=x|\b)(?!\.\d| ?(?:cpu|core|gi?b|node|vcpu))"
    r"|\b(?:(?P<figures>\d{1,2})[ -](?:gpus?|cards?) (?:machine|node|server|system|workstation)\b)"
)
_PRINTED = regex(r"nnodes=(\d{1,4}), num_local_procs=(\d{1,3})")  # by DeepSpeed's launcher
# By NCCL, each rank with a card
_RANKS = regex(r"nranks (?P<v>[1-9]\d{0,4}) (?:cudadev|nnodes (?P<nodes>\d{1,4}) localranks (?P<each>\d{1,2})\b)")
_TESTED = regex(  # by nccl-tests, a card each
    r"rank {1,4}\d{1,5}(?: {1,4}(?:group|pid) {1,8}\d{1,8}){0,2}(?: on {1,12}(\S{1,80}))? device {1,3}(\d{1,2}) \["
)
_RANK = regex(  # of the whole job, by torchrun, torch and NCCL
    r"rank(?:\s{0,9}: (\d{1,5}) \(local_rank|(?<=\[rank) ?(\d{1,5})\]| (\d{1,5}) nranks)"
)
_RANK_BEFORE = regex(r"rank ?(\d{1,5})", re.I)  # a line
_ARGUMENTS = regex(r"nnodes=(?P<v>\d{1,4}), node_rank=")  # of a server, by SGLang
_ENGINE = regex(  # by vLLM
    r"(?<!_)tensor_parallel_size=(?P<v>\d{1,3}), (?:pipeline_parallel_size=(?P<by>\d{1,3})\b)?"
)
_OTHER_DEGREE = regex(r"(?:pipeline|data)_parallel_size=(?!1\b)")
_OF_GRAPHS = ("onnx", "tflite", "tf-lite", "tf lite", "delegate", "subgraph", "node_map", "edges")
_OF_CLUSTERS = ("cluster", "machine", "nnodes", "num_nodes", "slurm", "torchrun", "gpus", "distributed")
_NODE_WORDS = ("node", "machine", "server", "host", "vm", "spark", "trays")


def count_nodes(passage: Passage) -> tuple[int, int] | None:
    """The most nodes that a text mentions, and the place; None without a number.

    A former number, or one that something asks for, counts only for lack of others.
    """
    text, words = passage.text, passage.words
    counts: Counts = []
    former: Counts = []
    if any_of(_NODE_WORDS, words) and not _are_of_a_graph(words):
        figures = (
            match
            for match in _NODES.finditer(text)
            if not is_no_count(text, match.start("v")) and not _is_example(words, match.start())
        )
        for match in (*figures, *matches_at(_IN_WORDS, text, places(NUMBER_WORDS, words))):
            aside = is_fine(words, match.start(), match.end()) or is_demanded(text, match.start("v"))
            counted = former if aside or _is_former(words, match.start()) else counts
            counted.append((number_of(match), match.start()))
        counts += sides(words, counts)
        counts += numbers_at(_OPTION, words, _OPTIONS)
    counts += [(number_of(match), match.start()) for match in BY_NODES.finditer(text)]
    several = speaks_of_several_nodes(words)
    for match in GPUS_BY.finditer(text):  # 2x8 H100; a batch of 2 x 8 GPUs is on one node
        if match["by"] and several and "\n" not in match[0] and not is_no_count(text, match.start()):
            counts.append((number_of(match), match.start()))
    counts += [(number_of(match), match.start()) for match, are_nodes in each_with(words) if are_nodes]
    if (both := both_sides(words)) and both[0]:
        counts.append((both[0], both[2]))
    if "head" in words:
        beside_head = (one for one in _BESIDE_HEAD.finditer(words) if not is_fine(words, one.start(), one.end()))
        counts += [(1 + number_of(match), match.start()) for match in beside_head]
    if " instances" in words:
        counts += [(number_of(match), match.start()) for match in _INSTANCES_IN_WORDS.finditer(words)]
    if "xlarge" in words or ".metal" in words:
        counts += numbers_at(_INSTANCES, words, _INSTANCE_STARTS)
    if " slots=" in words:
        counts.append((len({*_HOSTFILE.findall(words)}), words.find(" slots=")))
    counts += [(number_of(match), match.start()) for match in matches_at(_SLURM_NODES, text, places(_SLURM, words))]
    counts += [
        (len(set(match["hosts"].split(","))), match.start())
        for match in matches_at(MPI_HOSTS, text, places((*MPI_LAUNCHERS, "colossalai run"), words))
        if not is_fine(words, match.start(), match.end())
    ]
    if (specs := words.find(_REPLICA_SPECS)) >= 0:
        replicas = sum(map(int, _REPLICAS.findall(words, specs, specs + _REPLICA_SPECS_CHARS)))
        counts.append((replicas - ("mpireplicaspecs" in words), specs))  # its launcher runs no worker
    if not text.isascii():
        found = [match for pattern in _IN_OTHER_SCRIPTS for match in pattern.finditer(words)]
        counts += [(number_of(match), match.start()) for match in found if not is_no_count(words, match.start("v"))]
    if not counts and not several:
        singles = matches_at(_SINGLE_NODE, words, () if _are_of_a_graph(words) else places(_SINGLE, words))
        former += [(1, one.start()) for one in singles if not is_fine(words, one.start(), one.end())]
    return most(counts or former, 10_000)


def _is_example(words: str, start: int) -> bool:
    """Whether a number is that of "for example, if a cluster of 10 nodes is busy", as Ray's configurations say."""
    return words.find("for example", max(0, start - 40), start) >= 0


def _are_of_a_graph(words: str) -> bool:
    """Whether the nodes of a folded text are those of a model's graph, or of a data set's."""
    return any_of(_OF_GRAPHS, words) and not any_of(_OF_CLUSTERS, words)


def _is_former(words: str, start: int) -> bool:
    return bool(_FORMER.search(words, max(0, start - _FORMER_CHARS), start))


def are_on_a_machine(words: str, count: int) -> bool:
    """Whether a folded text speaks of a machine with this number of GPUs."""
    if 1 < count <= MOST_ON_A_NODE and A_MACHINE.search(words):
        return True
    return any(number_in(match["v"] or match["figures"]) == count for match in _ON_A_MACHINE.finditer(words))


def printed_counts(output: Passage) -> dict[str, tuple[int, int]]:
    """`nodes`, `gpus_per_node` and `gpu_count` that a launcher, NCCL or a server printed, each with its place."""
    words = output.words
    found = {"nodes": nodes} if (nodes := most(numbers_at(_ARGUMENTS, words, ("nnodes=",)), 10_000)) else {}
    found_ranks = matches_at(_RANKS, words, places(("nranks",), words))
    # Of equal counts that with nodes: NCCL prints the one without them first
    if ranks := max(found_ranks, key=lambda one: (number_of(one), one["nodes"] is not None), default=None):
        place = ranks.start()
        found["gpu_count"] = number_of(ranks), place
        if int(ranks["nodes"] or 1) > 1:  # those of one node may be a part of the job
            found |= {"nodes": (int(ranks["nodes"]), place), "gpus_per_node": (int(ranks["each"]), place)}
    elif cards := {match.groups(): match.start() for match in matches_at(_TESTED, words, places(("rank ",), words))}:
        hosts, place = len({host for host, _ in cards}), min(cards.values())
        found["gpu_count"] = len(cards), place
        if hosts > 1:
            found |= {"nodes": (hosts, place), "gpus_per_node": (len(cards) // hosts, place)}
    elif engine := first_at(_ENGINE, words, places(("tensor_parallel_size=",), words)):
        count = int(engine["v"]) * int(engine["by"] or 1)
        if count > 1 and not _OTHER_DEGREE.search(words.replace(engine[0], "")):
            found["gpu_count"] = count, engine.start()
    if printed := _PRINTED.search(words):
        times, processes, place = int(printed[1]), int(printed[2]), printed.start()
        found = {"nodes": (times, place), "gpus_per_node": (processes, place), "gpu_count": (times * processes, place)}
    return found


def highest_rank(output: Passage) -> int:
    """The highest rank of a job that its output names, else -1: it has more processes than that."""
    named = [match[match.lastindex or 0] for match in _RANK.finditer(output.words)]
    before = {line.process for line in output.lines}
    named += [match[1] for process in before if (match := _RANK_BEFORE.fullmatch(process))]
    return max(map(int, named), default=-1)
