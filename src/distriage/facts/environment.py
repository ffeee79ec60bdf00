"""The facts of a report's environment. Pure.

A fact is only what the report states: a version beside the name of the package, a count beside the device. Reads the raw text,
template lines and listings included, since that is where facts stand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields

from distriage.facts.counts import count_gpus
from distriage.facts.frameworks import PYTORCH, framework_of, versions_of_framework
from distriage.facts.gpus import gpu_model, gpu_places
from distriage.facts.nodes import count_nodes, speaks_of_several_nodes
from distriage.facts.scanning import first_at, places
from distriage.facts.versions import differ, torch_versions, versions_of_packages
from distriage.recipe.lines import folded
from distriage.recipe.normalize import shortened

# Name, what a match begins with, pattern.
_LAUNCHERS = tuple(
    (name, starts, re.compile(pattern))
    for name, starts, pattern in (
        ("torchrun", ("torchrun", "torch.dis"), r"\btorchrun\b|torch\.distributed\.(?:run|launch)\b"),
        ("accelerate", ("accelerate launch",), r"\baccelerate launch\b"),
        ("colossalai", ("colossalai run",), r"\bcolossalai run\b"),
        ("horovodrun", ("horovodrun",), r"\bhorovodrun\b"),
        ("mpirun", ("mpirun", "mpiexec"), r"\bmpi(?:run|exec)\b"),
        ("srun", ("srun", "sbatch"), r"\bsrun\b|\bsbatch\b"),
        ("ray", ("ray ",), r"\bray (?:start|job submit|up)\b"),
        ("vllm", ("vllm",), r"\bvllm serve\b|vllm\.entrypoints\S*api_server"),
        ("sglang", ("sglang",), r"sglang\.launch_server"),
    )
)
_DEEPSPEED_LAUNCHER = re.compile(  # its own options: `pip install deepspeed --upgrade` launches nothing
    r"(?<![\w./-])deepspeed(?:[^\S\n]|\\\n){1,20}(?:-H\s|[^\s(]\S{0,200}\.py\b|--(?:num_|hostfile|include|exclude|master_"
    r"|launcher|module|autotuning|no_|enable_each_rank_log|bind_cores|elastic_|force_multi|node_rank|save_pid))"
)
_OS = re.compile(
    r"(?:\b|(?<=[^\x00-\x7f]))(?P<v>(?:Ubuntu|CentOS(?: Linux)?|Debian|Red Hat Enterprise Linux|RHEL|Rocky Linux|Alibaba Cloud Linux|SUSE|SLES|Fedora|Arch Linux|Amazon Linux|macOS|Mac OS X?"
    # "sliding windows" are no system
    r"|(?-i:W)indows|(?<=\bon )windows|(?<=[^\x00-\x7f])windows|(?<=[^\x00-\x7f:=]\s)windows"
    r"|windows(?=[ -]?(?:1[01]|[78]|server)\b|\s?[^\x00-\x7f])|WSL\d?)"
    r"(?:[ -]?(?:release )?\d+(?:\.\d+){0,3}(?: LTS)?)?)",
    re.I,
)

_OS_STARTS = (
    *("ubuntu", "centos", "debian", "red hat", "rhel", "rocky linux", "alibaba cloud", "suse", "sles", "fedora"),
    *("arch linux", "amazon linux", "macos", "mac os", "windows", "wsl"),
)


@dataclass(frozen=True, slots=True)
class EnvironmentFacts:
    """What the report states; None where it states nothing.

    Versions are strings as written, the first that is not said to work; of a commit `commit HASH`, of RCCL
    `RCCL VERSION`. `gpu_count` and `nodes` are counts, the largest that is stated: of GPUs in all, as stated or as the
    nodes have them together. `gpus_per_node` is stated as such, as by `--nproc_per_node` or "8 GPUs each". `ambiguous`
    names the facts of which the report names several releases and does not say which one works: it is not known then
    which one is in use.
    """

    framework: str | None = None
    framework_version: str | None = None
    torch: str | None = None
    python: str | None = None
    cuda: str | None = None
    nccl: str | None = None
    driver: str | None = None
    gpu_model: str | None = None
    gpu_count: int | None = None
    gpus_per_node: int | None = None
    nodes: int | None = None
    os: str | None = None
    launcher: str | None = None
    rocm: str | None = None
    ambiguous: frozenset[str] = frozenset()

    def stated(self) -> dict[str, str | int]:
        """The facts that the report states, by name."""
        return {item.name: value for item in fields(self) if isinstance(value := getattr(self, item.name), (str, int))}


def find_facts(title: str, body: str, identifier: str = "") -> EnvironmentFacts:
    """Read the facts that a report states. Never raises; time is linear in the input, of which what is `shortened` is read.

    Args:
        identifier: The report's id; of `owner/repo#12` the repository tells the framework where it is a framework's own.
    """
    text = _readable(title, body)
    words = folded(text)
    framework = framework_of(title, text, words, identifier)
    packages = versions_of_packages(text, words)
    versions = {"framework_version": _own_versions(framework, text, words, packages["torch"]), **packages}
    nodes = count_nodes(text, words)
    named = gpu_places(words)
    gpus, gpus_per_node = count_gpus(text, words, names_gpu=bool(named))
    # Of several nodes without a number, the sum is not known.
    if gpus_per_node is not None and (nodes or not speaks_of_several_nodes(words)):
        gpus = max(gpus or 0, gpus_per_node * (nodes or 1))
    first = {fact: next(iter(found), None) for fact, found in versions.items()}
    return EnvironmentFacts(
        framework=framework,
        framework_version=first["framework_version"],
        torch=first["torch"],
        python=first["python"],
        cuda=first["cuda"],
        rocm=first["rocm"],
        nccl=first["nccl"],
        driver=first["driver"],
        gpu_model=gpu_model(text, words, named),
        gpu_count=gpus,
        gpus_per_node=gpus_per_node,
        nodes=nodes,
        os=_value(first_at(_OS, text, places(_OS_STARTS, words))),
        launcher=_launcher(text),
        ambiguous=frozenset(fact for fact, found in versions.items() if differ(found)),
    )


def find_versions(title: str, body: str, identifier: str = "") -> dict[str, str]:
    """`framework`, `framework_version` and `torch` as `find_facts` reads them, in an eighth of its time; what is not
    stated is absent.
    """
    text = _readable(title, body)
    words = folded(text)
    framework = framework_of(title, text, words, identifier)
    found = {
        "framework": framework,
        "framework_version": next(iter(_own_versions(framework, text, words)), None),
        "torch": next(iter(torch_versions(text, words)), None),
    }
    return {name: value for name, value in found.items() if value is not None}


def _own_versions(framework: str | None, text: str, words: str, torch: Sequence[str] = ()) -> Sequence[str]:
    if framework is None:
        return []
    return torch if framework == PYTORCH else versions_of_framework(framework, text, words)


def _readable(title: str, body: str) -> str:
    return "\n".join(line[:2000] for line in shortened(f"{title}\n{body}").split("\n"))


def _value(match: re.Match[str] | None) -> str | None:
    return " ".join(match.group("v").split()) if match else None


def _launcher(text: str) -> str | None:
    if first_at(_DEEPSPEED_LAUNCHER, text, places(("deepspeed",), text)):
        return "deepspeed"
    return next((name for name, starts, pattern in _LAUNCHERS if first_at(pattern, text, places(starts, text))), None)
