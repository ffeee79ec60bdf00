"""The GPUs that options of commands and configurations ask for. Pure."""

from __future__ import annotations

import re
from math import prod
from typing import NamedTuple

from distriage.base.texts import regex
from distriage.facts.counting.numerals import number_of, numbers_at
from distriage.facts.gpus import GPU_NAME, GPU_NUMBER
from distriage.facts.scanning import Counts, Passage, any_of, first_at, matches_at, most, places

COMMAND = r"(?:[^\n\\]|\\\n?){0,200}?"  # the rest of one, over lines that end in a backslash
# Options and fields, and a value behind them; of `--gres=gpu:a100:8` with the type between.
_VALUE = r"(?::[a-z]\w{0,30})?[\"'\]]{0,2}\s{0,8}[=:填]?\s{0,3}[\"']?(?P<v>\d{1,4})\b"
_PER_NODE_OPTIONS = (
    *("nproc_per_node", "nproc-per-node", "nprocpernode", "gpus_per_node", "gpus-per-node", "gres=gpu"),
    *("nvidia.com/gpu", "amd.com/gpu", "gpu_num_devices", "num gpus  ", 'gpu "num', "nprocs", "numprocpernode"),
)
_HOST_SLOTS = regex(r" slots=(?P<v>\d{1,3})\b")  # of a hostfile
_OF_SKYPILOT = ("accelerators", "--gpus")  # accelerators: H100:8, accelerators: {A100: 4}, --gpus H200:8
_SKYPILOTS = regex(
    rf"(?:accelerators[\"']?[:= ]\s?|--gpus[ =])[\"'{{]{{0,2}}{GPU_NAME}(?:-[\w-]{{1,16}})?[\"']?:\s?"
    r"(?P<v>[1-9]|1[0-6])(?!\w|[.:]\d)",
    re.I,
)
_PER_NODE_FIELD = regex(  # GPUs per node: 8
    r"(?:gpu|card)s? ?(?:per|/|(?:on|in) each) ?(?:node|machine|server|host)\*{0,2}\s?[:=]\*{0,2}\s?"
    r"(?P<v>\d{1,2})(?![\w.])"
)
_PER_NODE_OPTION = regex(rf"(?:{'|'.join(map(re.escape, _PER_NODE_OPTIONS))}){_VALUE}")
OPTIONS = (
    *("num_gpus", "num-gpus", "tensor_parallel_size", "tensor-parallel-size"),
    *("numgpus", "num_devices", "num_processes", "num-processes", "gpu count", "gpu_count", "number of gpus:"),
    *("tpu_cores=", "-tp-size", "-tp ", "ngpu=", "gpunum="),
)
# But not the advice of Accelerate's errors, the demand of a Ray actor, the origin of a checkpoint, or a degree of 1.
_OPTION = regex(
    r"(?<!specifying `--)(?<!target)(?<!target[-_])(?<!cpu_)(?<!remote\()(?<!options\()(?<!remote\(num_cpus=\d, )"
    r"(?<!options=\{[\"'])(?<!saved with )(?<!saved with dp )"
    rf"(?!(?:tensor.parallel.size|-tp(?:-size)?)[\"' ]?\s{{0,3}}[=:]?\s{{0,3}}1\b)"
    rf"(?:{'|'.join(OPTIONS)}){_VALUE}(?!\s?(?:!=|[*x×]\s?\d))"
)
# One side of a server whose prefill and decoding are apart; the server beside a trainer; an example
_SIDE_BEFORE = regex(
    r"\b(?:prefill|decod(?:e|ing))(?: (?:pods?|nodes?|workers?|instances?))?:? ?[`(]?-{0,2}\Z|\be\.g\.,? `?-{0,2}\Z"
    rf"|\bvllm(?:-serve\b{COMMAND}|_)\Z"
)
_SIDE_BEFORE_CHARS = 120  # at most
_GPUS_OPTION = regex(  # --gpus 4, --gpus=16, ngpus=8, gpus: 4
    rf"gpus(?:[\"']?\s{{0,2}}[=:]\s{{0,2}}[\"']?|(?<=--gpus)\s)(?P<v>\d{{1,4}})(?<!{GPU_NUMBER})"
    r"(?![\w.:]|[,-]\d|\s?[x×*]\s?\d|\s?(?:gb|m?s|sec|min)\b)"
)
_GPUS_OPTION_BEFORE = regex(r"(?:\A|[^\w.]|\btrainer\.)(?:n_?)?\Z")
_GPUS_OPTION_BEFORE_CHARS = 10  # at most
_SEVERAL_NODES = ("num_nodes", "num-nodes")  # beside it, Lightning's `gpus` are of each
_COUNT_BEFORE = regex(r"(?:\b\d{1,3}|\b[a-z]{3,5}) \Z")  # "7 GPUs: 256"
NO_GPUS = regex(r"gpus[\"']?\]?\s?[=:]\s?(?:0|none)\b(?![.,]\d)")
_DEVICES = regex(r"(?<!\w)devices[\"']?\s?[=:]\s?(?P<v>\d{1,3})\b(?!,\s?\d)")  # of Lightning's trainer
_CPU_CHARS = 30  # before it, as in `accelerator="cpu", devices=4`
_ON_CPU_BEHIND = regex(r"devices ?= ?\d{1,3}, ?accelerator ?= ?[\"']cpu")
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
_HOST_ALONE = r"[\w.-]{2,60}(?![\w.:-])"
MPI_HOSTS = regex(
    rf"[a-z]{{6,10}}{COMMAND}\s(?:-H|--hosts?)\s"
    rf"(?P<hosts>{_HOST}(?:,{_HOST}){{0,127}}|{_HOST_ALONE}(?:,{_HOST_ALONE}){{1,127}})"
)
_MPI_PROCESSES = regex(rf"[a-z]{{6,10}}{COMMAND}\s(?:-np?|--np)\s(?P<v>\d{{1,5}})\b")
_MPI_PER_NODE = regex(
    rf"[a-z]{{6,10}}{COMMAND}\s(?:(?:-N|-ppn|--?npernode)[ =]|--?map-by\sppr:(?=\d{{1,3}}:node))(?P<v>\d{{1,3}})\b"
)
# Degrees of one command, whose product counts; SGLang's replicas of attention share its cards.
_DEGREES = regex(
    r"(?<!target)(?<!target[-_])(?P<kind>(?:tensor|pipeline|data)[_-]parallel[_-]size|-[tpd]p(?:-size)?)"
    r"[ =]\s?(?P<v>\d{1,4})(?![\w:])"
)
_COMMANDS_END = regex(r"(?<!\\)\n|`")
_DP_ATTENTION = ("dp-attention", "dp_attention", "dp attention")
_OF_SERVERS = ("vllm", "sglang")  # whose degrees are the whole job; a trainer's data parallelism fills the rest
# Some that share one machine share its cards.
_SHARED = regex(
    r"oversubscribe[^\n]{0,99}\b(?:127\.0\.0\.1|localhost)\b(?!:\d)"
    r"|\b(?:127\.0\.0\.1|localhost)\b(?!:\d)[^\n]{0,99}oversubscribe"
)
# Words where several runs are compared, or each process has several cards
_OTHERS = regex(r"\b(?:works?|worked|fine|ok|pass(?:es)?|succeeds?|each process|per process)\b|(?:n't|not) hang")
_DIST_TRAIN = regex(
    r"dist_(?:train|test)\.sh\s[^\s./$]{0,99}[./$]\S{0,200}\s(?:\S{1,200}\s)?(?P<v>\d{1,2})(?![\w.])"
)  # of OpenMMLab
_DEEPSPEED_GPUS = regex(r"deepspeed\s[^\n]{0,80}?--num_gpus[= ](?P<v>\d{1,3})\b")

_DEVICE_LIST_STARTS = ("visible_devices", "gpus=", "gpus =", "--gpu", "--device", "device_ids", "--include")
_DEMAND_OF_ONE = regex(r"(?<!-)num_gpus ?= ?1\b")  # an actor's or a trial's, of which Ray runs several
_DEMANDING = ("actor", "trial", "raylet", "ray.remote")
ONE_VISIBLE = regex(r"visible_devices[\"'\]]{0,3}\s?[=:]\s?[\"']?(\d{1,2})(?![,\d])")
# A degree of 1, or the number of a single device
_ONE_STARTS = ("tensor", "-tp", "gpus=[", "gpus = [")
_ONE = regex(r"(?:tensor[_-]parallel[_-]size|-tp(?:-size)?)[\"']?[ =:]{1,3}1\b|gpus\s?=\s?\[\d\]")

JOB_OF_SEVERAL = regex(r"multi(?:[- ]?|ple )gpu|more than one gpu|several (?:gpu|card)s")
_SERVER_STARTS = ("sglang.launch_server", "vllm serve", "vllm.entrypoints", "llm(")
_SERVER = regex(
    r"sglang\.launch_server\b|vllm serve\b|vllm\.entrypoints\b|(?:(?<==)|(?<==\s))llm\("
    r"|(?<!\w)llm\((?:\s{0,9}model\b|[\"'])"
)
# Signs of several processes, in words and logs, which name each degree, if only 1
_SEVERAL = regex(
    r"(?:tensor|pipeline|data|expert)[ _-]parallel(?![\w-]{0,10}[\"']?[ =:]{1,3}(?:1\b|none|false))"
    r"|(?<![a-z])[tdpe]p(?:[ _-]?(?:size|degree|rank))?[\"']?(?:[ =:]{0,3}|\sof\s)(?![01]\b)\d|\d[ -]way"
    rf"|(?:nnodes|world[ _]size)(?![\"']?[ =:]{{1,3}}1\b)|rank[ =][1-9]|多卡|{JOB_OF_SEVERAL.pattern}"
)
# A value from elsewhere, another launcher, each of several: the degree is unknown
_UNKNOWN_DEGREE = regex(
    r"gpus|num_processes|\beach\b|--config|\$[a-z{]|[(,]\s?\*\*\w|engine_?args|accelerate launch|torchrun|mpirun|srun"
)


class AskedGpus(NamedTuple):
    """The counts that options ask for, each with its place.

    Attributes:
        most: The largest that options name; where a report compares runs, other than `gpus=` and MPI's processes.
    """

    per_node: Counts
    total: Counts
    most: tuple[int, int] | None


def asked_gpus(passage: Passage, *, on_gpus: bool) -> AskedGpus:
    """Read the options of a text.

    Args:
        on_gpus: Whether the job runs on GPUs, so that MPI's processes have one each.
    """
    text, words = passage.text, passage.words
    of_mpi = not on_gpus and any_of((*MPI_LAUNCHERS, "ompi_", "ompi "), words)  # its slots are processes
    of_hosts = [] if of_mpi else numbers_at(_HOST_SLOTS, words, (" slots=",))
    per_node = of_hosts if len({number for number, _ in of_hosts}) == 1 else []  # hosts that differ have none of each
    per_node += numbers_at(_PER_NODE_OPTION, words, _PER_NODE_OPTIONS) + numbers_at(_DIST_TRAIN, words, ("dist_t",))
    per_node += numbers_at(_PER_NODE_FIELD, words, ("gpu", "card"))
    per_node += numbers_at(_SKYPILOTS, words, _OF_SKYPILOT)
    per_node += numbers_at(_DEEPSPEED_GPUS, words, ("deepspeed ",))
    devices_of_trainer = numbers_at(_DEVICES, words, ("devices",))
    per_node += [
        one
        for one in devices_of_trainer
        if "cpu" not in words[max(0, one[1] - _CPU_CHARS) : one[1]] and not _ON_CPU_BEHIND.match(words, one[1])
    ]
    listed = matches_at(_DEVICE_LIST, words, places(_DEVICE_LIST_STARTS, words))
    lists = [(frozenset(re.findall(r"\d+", match["list"])), match.start()) for match in listed]
    visible = frozenset[str]().union(*(devices for devices, _ in lists))
    per_node += [(len(devices), place) for devices, place in lists]
    if lists and not _OTHERS.search(words):
        groups = {*(devices for devices, _ in lists), *(frozenset({one}) for one in ONE_VISIBLE.findall(words))}
        together = frozenset[str]().union(*groups)
        if len(together) == sum(map(len, groups)):  # apart, as of a trainer and the server beside it
            visible = together
            per_node.append((len(together), lists[0][1]))
    # The number of an elastic job's processes changes.
    is_shared = "oversubscribe" in words and _SHARED.search(words)
    processes = [] if "--max-np" in words or is_shared else numbers_at(_MPI_PROCESSES, words, MPI_LAUNCHERS)
    times = max([number for number, _ in processes], default=1)
    total = [
        (number, place)
        for number, place in (*numbers_at(_OPTION, words, OPTIONS), *_grids(words))
        if not _SIDE_BEFORE.search(words, max(0, place - _SIDE_BEFORE_CHARS), place)
    ]
    tests = numbers_at(_NCCL_TESTS, words, _NCCL_TESTS_STARTS)
    total += [(number * times, place) for number, place in tests]
    if "disaggregation-mode" in words:
        total.clear()  # of one side of the server
    if visible:
        total = [one for one in total if one[0] <= len(visible)]
    gpus = [
        (number_of(match), match.start())
        for match in matches_at(_GPUS_OPTION, words, places(("gpus",), words))
        if _GPUS_OPTION_BEFORE.search(words, max(0, match.start() - _GPUS_OPTION_BEFORE_CHARS), match.start())
        and not (":" in match[0] and _COUNT_BEFORE.search(words, max(0, match.start() - 8), match.start()))
    ]
    asked = [*per_node, *total] if times == 1 else []
    if any_of(_DEMANDING, words):
        asked = [one for one in asked if not _DEMAND_OF_ONE.match(words, one[1])]
    if not (tests or _OTHERS.search(words)):
        asked += [one for one in (*gpus, *processes) if one[0] > 1]
    if processes and on_gpus:
        of_each = max([number for number, _ in tests], default=1)
        begins = places(MPI_LAUNCHERS, words)
        per_node += [(number_of(one) * of_each, one.start()) for one in matches_at(_MPI_PER_NODE, text, begins)]
        total += processes
        hosts = [*matches_at(MPI_HOSTS, text, begins)]
        named = [host for match in hosts for host in match["hosts"].split(",") if ":" in host]
        slots = {int(host.rpartition(":")[2]) for host in named}
        per_node += [(slots.pop(), hosts[0].start())] if len(slots) == 1 else []
    if any_of(_SEVERAL_NODES, words):
        per_node, gpus = per_node + gpus, []
    return AskedGpus(per_node, total + gpus, most(asked, 100_000))


def asks_for_one(words: str, printed: str) -> bool:
    """Whether a command or call takes one GPU, however many are listed: by an option, or as a server does that is
    started without a degree.

    Args:
        words, printed: A folded text, and the output of tools.
    """
    if "-dp" in words:
        return False
    return first_at(_ONE, words, places(_ONE_STARTS, words)) is not None or (
        first_at(_SERVER, words, places(_SERVER_STARTS, words)) is not None
        and not (_SEVERAL.search(words) or _UNKNOWN_DEGREE.search(words) or _SEVERAL.search(printed))
    )


def _grids(words: str) -> Counts:
    """The product of the degrees of parallelism in each command that has others than that of tensors."""
    found: list[tuple[dict[str, int], int]] = []
    shares_attention, is_server = any_of(_DP_ATTENTION, words), any_of(_OF_SERVERS, words)
    end = -1
    for match in matches_at(_DEGREES, words, places(("tensor", "-tp", "pipeline", "-pp", "data", "-dp"), words)):
        if match.start() > end:
            end = behind.start() if (behind := _COMMANDS_END.search(words, match.end())) else len(words)
            found.append(({}, match.start()))
        kind = match["kind"].strip("-")[0]
        if kind != "d" or not shares_attention:
            found[-1][0][kind] = number_of(match)
    return [
        (prod(degrees.values()), place)
        for degrees, place in found
        if (len(degrees) > 1 or (is_server and degrees.keys() - {"t"})) and max(degrees.values()) > 1
    ]
