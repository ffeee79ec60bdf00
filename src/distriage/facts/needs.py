"""Needs of checks and questions that a report meets. Pure except for reading the list of words.

A need is a name; a check that declares it stays silent if the report does not show it. `needs.toml` has those shown by
words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from functools import cache
from typing import Literal

from distriage.base.texts import folded, packaged_table, regex
from distriage.base.validation import Strict, read_entry
from distriage.facts.environment import EnvironmentFacts
from distriage.facts.projects import NCCL, PYTORCH, Projects, What, projects
from distriage.facts.regressions import is_regression
from distriage.facts.scanning import any_of, first_at, places
from distriage.segments import Kind, Segments

# Python, IPython, Cython, PyTorch's C++, gdb and Java; and pytest's, whose beginning alone says too little.
_TRACEBACK = ("traceback (", '", line ', ".py in ", ".pyx in ", "frame #", "\n#0 ", "\n#1 ", "\n\tat ")
_PYTEST = regex(r"\.py:\d{1,6}: (?:in |\w{1,60}(?:error|exception))")
_COLLECTIVES = ("nccl", "gloo", "process_group", "torch.distributed", "ray.train", "torchtrainer")
_CUDA_ERRORS = ("cuda error", "cuda out of memory", "nccl error", "nccl warn")  # a card is there, despite any denial
_NATIVE = (  # a program of C++; its frames, files and libraries occur in the logs of Python's, too
    ("c++", "libtorch", "plasma manager"),
    regex(
        r"c\+\+(?<![\w+]c\+\+)(?![\w+]| ?(?:exception|stack|compiler|extension|version))"
        r"|libtorch(?![\w.-]{0,20}\.so|_)|plasma manager"
    ),
)
_PYTHON = (".py", "import ", "pytest", "python", "pip install", "torch.", "torchrun")
_JVM = regex(r"\b(?:java|jvm|scala|spark-submit|(?:dl|nd)4j|deeplearning4j)\b|\.java:\d")
_SEVERAL = (
    (
        *(" rank", "rank ", "ranks", "world", "multi", "data", "tensor", "pipeline", "expert", "context", "model"),
        *("distribut", "workers", "ddp", "fsdp", "zero", "nccl", "tp"),
    ),
    regex(
        r" ranks?\b|rank \d|ranks\b|world[ _-]?size(?![=: ]{1,3}1\b)|multi[- _]?(?:gpu|node|process|card|worker)"
        r"|(?:data|tensor|pipeline|expert|context|model)[- _]parallel(?![- _]size[ =]{1,3}1\b)"
        r"|distributed|workers\b|ddp\b|fsdp|zero[- _]?[123]\b|nccl|tp[ =]{0,3}(?:[2-9]|\d\d)\b"
    ),
)
_RANKS = (  # processes of one job, each with a rank
    (
        *("rank", "world", "torchrun", "nproc", "deepspeed", "accelerate launch", "mpirun", "mpiexec", "srun"),
        *("horovod", "ddp", "distributed", "dist_", "fsdp", "zero", "nccl", "megatron", "parallel", "tp", "hccl"),
    ),
    regex(
        r"rank[ :=_]?\d|ranks\b|local_rank|world[ _-]?size(?![=: ]{1,3}1\b)|torchrun|nproc|deepspeed|accelerate launch"
        r"|dist_(?:device_|a)?sync|mpirun|mpiexec|srun|horovod|ddp\b|distributed(?:dataparallel|_c10d|\.)|fsdp"
        r"|zero[- _]?[123]\b|nccl|hccl|megatron|parallel_size[ =:]{1,3}(?:[2-9]|\d\d)\b|tp[ =]{0,3}(?:[2-9]|\d\d)\b"
    ),
)
_ALONE = (  # a launched process that is the only one
    ("world", "member: 1/1", "with 1 "),
    regex(r"world[ _-]?size[\"']?(?:\s?[=:]\s?|\s(?:is\s|of\s)?)1(?![\w.])|member: 1/1(?!\d)|with 1 (?:process|node)"),
)
_NOT_ALONE = (
    ("world", "rank", "nproc"),
    regex(
        r"world[ _-]?size[\"']?(?:\s?[=:]\s?|\s(?:is\s|of\s)?)(?:[2-9]|1\d)|rank[ :=_\[]{0,2}[1-9]"
        r"|nproc[a-z_-]{0,12}[ =][2-9]"
    ),
)
_ONE_PROCESS, _NOT_ONE = ("nn.dataparallel", "mirroredstrategy"), ("distributed", "ddp", "multiworkermirrored")
_HANGS = (
    (
        *("hang", "hung", "stuck", "lock", "freez", "froze", "stall", "wait", "block", "never ", "not ", "ever"),
        *("indef", "no progress", "watchdog", "nothing ", "prints nothing", "卡", "挂起", "阻塞"),
    ),
    regex(
        r"(?<![a-z])(?:hang|hung|stuck|freez|froze|stall|wait(?:s|ing|ed)?\b)|lock(?:ed)? ?up|(?<=dead)lock"
        r"|block(?:s|ed)? (?:for|at|in|until|on)\b|never (?:return|finish|come|end|get|start|exit)"
        r"|ever(?:(?<=forever)|(?<=for ever))|not (?:return|finish|end|progress|exit|move)\b|indefinite"
        r"|no progress|watchdog|nothing (?:happens|(?:is )?printed)|prints nothing|挂起|阻塞"
        r"|卡[住死]|卡在(?<![张块个]卡在)"
    ),
)
_RENAMED = (
    ("unexpected keyword", "cannot import name", "module '", "'tensor' object"),
    regex(r"unexpected keyword|cannot import name|module '[^'\n]{1,80}' has no|'tensor' object has no attribute"),
)
_SEVERAL_NODES = (
    *("cluster", "nodes", "machines", "kubernetes", "k8s", "redis_address", "--head"),
    *("head node", "head_node", "worker node", "hosts", "other node", "two servers"),
)
_UNDERWAY = (  # the job had run for a while
    ("after ", "at step", "at iteration", "at epoch", "at the "),
    regex(
        r"(?<!up )(?<!out )after (?:about |around |some |roughly |~ ?|a few |several |many |two |three "
        r"|\d[\d,.]{0,6}k? ?)(?:of )?(?:training )?(?:iterations?|steps?|hours?|h|epochs?|days?)\b"
        r"(?! of (?!training|running))"
        r"|(?:after|at) (?:the )?(?:iteration|step|epoch) ?#?(?:[2-9]|1\d)(?! of the)"
    ),
)
# In a title: a server's answer is wrong, and perhaps not its tokens.
_ANSWER = regex(
    r"(?:tool|function)[ _-]?(?:call|pars)|finish_?reason|reasoning[ _-](?:content|parser)|response_format|\bjson\b"
    r"|logprob|\bn ?[=>] ?\d|\bchunks\b|(?<!\w)(?<!cuda )(?<!side )stream(?:ing|ed|_options)?\b"
)
_RESERVED = regex(  # the allocator's own numbers, in GiB
    r"(\d{1,4}(?:\.\d{1,3})?) gib (?:is )?reserved by pytorch but unallocated"
    r"|(\d{1,4}(?:\.\d{1,3})?) gib already allocated[^\n]{0,80}?(\d{1,4}(?:\.\d{1,3})?) gib reserved in total"
)
_RELEASE = regex(r"(\d{1,2})\.(\d{1,2})")
_NEWEST = (99, 0)  # a release that is not stated
_OLD_TORCH = ("mib cached", "gib cached", "reserved in total by pytorch")  # how releases before 2 count memory
_TITLE_CHARS = 256  # GitHub's maximum
_WATCHED = regex(r"rank ?(\d{1,5})\]:? ?[^\n]{0,200}?seqnum=")
_LIBRARIES = ("site-packages", "dist-packages", "...", "/lib/python", "<frozen", "torch/", "/opt/conda")
_FRAME = regex(r"file \"([^\"\n]{1,300})\", line")


class Words(Strict):
    """A need that words show; as an entry of `needs.toml`."""

    said: tuple[str, ...] = ("",)
    unless: tuple[str, ...] = ()
    where: Literal["", "title", "own"] = ""


def seen_in(
    facts: EnvironmentFacts,
    segments: Segments,
    platform: str,
    library: str | None,
    subjects: Set[str],
    *,
    no_device: bool,
) -> frozenset[str]:
    """The needs that a report meets. Never raises; linear in the report."""
    shown = folded("\n".join(segment.text for segment in segments.all if segment.kind is not Kind.LISTING))
    own = folded("\n".join(segment.text for segment in segments.of(Kind.TITLE, Kind.PROSE, Kind.FORM)))
    title = folded(segments.title)[:_TITLE_CHARS]
    framework, known = facts.framework, projects()
    project = known.all.get(framework or "")
    native = (known.is_native(framework) or _stands(_NATIVE, own)) and not any_of(_PYTHON, shown)
    ray = framework == "Ray" and not any_of(_COLLECTIVES, shown)
    alone = facts.nodes in {None, 1} and _stands(_ALONE, shown) and not _stands(_NOT_ALONE, shown)
    several = not alone and (
        max(facts.gpu_count or 0, facts.nodes or 0) > 1
        or (facts.gpu_count is None and _stands(_SEVERAL, shown))
        or (project is not None and project.distributed)
    )
    several_nodes = facts.nodes > 1 if facts.nodes is not None else any_of(_SEVERAL_NODES, own.replace("numa node", ""))
    # Workers of Ray and Horovod have a device only where the report speaks of one.
    spoken = bool(subjects & {"device", "nccl"}) or None not in (facts.cuda, facts.gpu_model)
    on_cpu = no_device or (ray and not spoken)
    gpu = (
        platform in {"nvidia", "rocm"}
        and (not on_cpu or any_of(_CUDA_ERRORS, shown))
        and (spoken or any_of(("gpu", "cuda", "nccl"), shown) or framework not in {"Ray", "Horovod", None})
    )
    torch = library == PYTORCH or (library is None and "torch" in shown)
    of_nccl = project is not None and NCCL in {framework, *project.on}
    nccl = gpu and several and not ray and "nccl" not in facts.absent
    one_process = any_of(_ONE_PROCESS, shown) and not any_of(_NOT_ONE, shown)
    frame, hangs = _last_frame(segments), _stands(_HANGS, shown)
    stated = _RELEASE.match(facts.torch or "")
    release = (int(stated[1]), int(stated[2])) if stated else _NEWEST
    recent = release >= (2, 0) and not any_of(_OLD_TORCH, shown)
    python_shown = any_of(_PYTHON, shown) or bool(frame)
    holds = {
        "native": native,
        "python": not native and (python_shown or (project is not None and _JVM.search(shown) is None)),
        "python-shown": not native and python_shown,
        "several": several,
        "alone": alone,
        "ranks": several
        and not ray
        and not one_process
        and (_stands(_RANKS, shown) or (torch and (facts.gpu_count or 0) > 1)),
        "pair": any(map(is_regression, facts.comparisons)),
        "nodes": several_nodes,
        "gpu": gpu,
        "nvidia": gpu and platform == "nvidia",
        "nccl": nccl and (of_nccl or "nccl" in shown or (torch and "gloo" not in own)),
        "torch": torch,
        "process-group": several and torch and not ray and framework != "Horovod",
        "ray": ray,
        "error": segments.first_error is not None,
        "needs-output": segments.first_error is None,
        "traceback": any_of(_TRACEBACK, shown) or first_at(_PYTEST, shown, places((".py:",), shown)) is not None,
        "own-frame": bool(frame)
        and not any_of((*_LIBRARIES, *_folders(known)), frame)
        and not (framework and f"{framework.lower()}/" in frame),
        "child-failed": "childfailederror" in shown and segments.first_error is None,
        "recent-torch": recent,
        "recorder": recent and release >= (2, 9),
        "old-recorder": recent and (2, 3) <= release < (2, 9),  # its settings have other names
        "reserved": any(map(_is_fragmented, _RESERVED.findall(shown))),
        "config": bool(segments.of(Kind.CONFIGURATION)),
        "toolkit-unknown": facts.cuda is None or facts.driver is None,
        "hangs": hangs,
        "underway": _stands(_UNDERWAY, own) and not any_of(("init_process_group", "rendezvous"), own),
        "no-hang": not hangs,
        "renamed": _stands(_RENAMED, shown) and "unknown location" not in shown,
        "one-rank-shown": len(set(_WATCHED.findall(shown))) < 2,  # else the reader can compare
        "answer-format": _ANSWER.search(title) is not None,
    }
    places_of = {"": shown, "own": own, "title": title}
    by_words = {
        name: any_of(words.said, text := places_of[words.where]) and not any_of(words.unless, text)
        for name, words in words_of_needs().items()
    }
    by_words |= {
        "own-process": not by_words["alien-process"],
        "no-store": not by_words["store-barrier"],
        "serves-alone": project is not None and project.what is What.SERVER and not by_words["trains"],
    }
    devices = set() if platform == "nvidia" else {platform}  # which is not known of most reports
    return frozenset(devices.union(name for name, held in (holds | by_words).items() if held))


def _is_fragmented(sizes: tuple[str, str, str]) -> bool:
    """Whether much memory is only reserved: a GiB at least."""
    unallocated, allocated, reserved = sizes
    return (float(unallocated) if unallocated else float(reserved) - float(allocated)) >= 1


def _last_frame(segments: Segments) -> str:
    """The path of the last frame above the first error, folded; empty without a traceback."""
    path = ""
    for segment in segments.of(Kind.TRACEBACK, Kind.LOG):
        for line in segment.lines:
            if line == segments.first_error and path:
                return path
            if found := _FRAME.search(folded(line.text)):
                path = found[1]
    return path


@cache
def _folders(known: Projects) -> tuple[str, ...]:
    """How the folders of projects are called in paths."""
    called = {
        name.replace(" ", "_").replace("-", "_")
        for project in known.all.values()
        for name in (*project.names, *project.at_home, *(one.rpartition("/")[2] for one in project.repositories))
    }
    return tuple(f"{name}/" for name in sorted(called) if len(name) > 2)


@cache
def words_of_needs() -> Mapping[str, Words]:
    """The needs that words show, in the order of `needs.toml`."""
    return {
        name: read_entry(Words, entry, f"needs.toml: {name}")
        for name, entry in packaged_table(__package__, "needs.toml").items()
    }


def _stands(said: tuple[tuple[str, ...], re.Pattern[str]], text: str) -> bool:
    starts, pattern = said
    return first_at(pattern, text, places(starts, text)) is not None
