"""The facts of a report's environment. Pure.

A fact is only what the report states: a version beside the name of the package, a count beside the device. Reads the raw text,
template lines and listings included, since that is where facts stand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from distriage.base.texts import folded, shortened
from distriage.facts.counts import count_gpus, listed_gpus
from distriage.facts.frameworks import framework_of, nameless_versions, versions_of_framework
from distriage.facts.gpus import gpu_model, gpu_places
from distriage.facts.nodes import count_nodes, speaks_of_several_nodes
from distriage.facts.projects import PYTORCH, projects
from distriage.facts.scanning import first_at, places
from distriage.facts.systems import system_of
from distriage.facts.versions import releases, torch_versions, versions_of_packages

# What a form says where there is none: "NCCL version: N/A", "GPU models and configuration: No CUDA". Of torch's build "N/A"
# means that it could not be imported.
_NONE = re.compile(
    r":[ \t]{0,20}(?:(?:n[/.]?a|none)(?: ?\([^()\n]{0,40}\))?|no (?:cuda|gpus?)|not? applicable|not used|-)"
    r"\.?[ \t\r]{0,20}(?=\n|\Z)"
)
_LABEL = re.compile(
    r"[ \t>*#.\d-]{0,12}(?P<name>cuda|nccl|nvidia driver|gpu)s?(?:/cudnn| used to build pytorch(?![ \t]{0,20}:\s?n/))?"
    r"(?:,? ?(?:models?|types?|versions?|build|runtime|and|configuration|memory|if used|\([^()\n]{0,40}\))){0,5}"
    r"(?:\*\*)?[ \t]{0,20}:"
)
_ABSENT_FACTS = {"cuda": ("cuda",), "nccl": ("nccl",), "nvidia driver": ("driver",), "gpu": ("gpu_model", "gpu_count")}


@dataclass(frozen=True, slots=True)
class EnvironmentFacts:
    """What the report states; None where it states nothing.

    Versions are strings as written, the first that is not said to work; of a commit `commit HASH`, of RCCL
    `RCCL VERSION`. `gpu_count` and `nodes` are counts, the largest that is stated: of GPUs in all, as stated or as the
    nodes have them together. `gpus_per_node` is stated as such, as by `--nproc_per_node` or "8 GPUs each". `ambiguous`
    holds the facts of which the report names several releases and does not say which one works, each with one version
    of every release: it is not known then which one is in use. `absent` names what the report says that there is none
    of, as by "NCCL version: N/A".
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
    ambiguous: Mapping[str, Sequence[str]] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()

    def stated(self) -> dict[str, str | int]:
        """What the report states, by name, to be shown: of an ambiguous fact each release, "none" of an absent one."""
        named = {one.name: getattr(self, one.name) for one in fields(self)}
        shown = {
            **dict.fromkeys(self.absent, "none"),
            **{fact: _either(found) for fact, found in self.ambiguous.items()},
        }
        return {fact: value for fact, one in named.items() if isinstance(value := shown.get(fact, one), (str, int))}


def find_facts(title: str, body: str, identifier: str = "") -> EnvironmentFacts:
    """Read the facts that a report states. Never raises; time is linear in the input, of which what is `shortened` is read.

    Args:
        identifier: The report's id; of `owner/repo#12` the repository tells the framework where it is a framework's own.
    """
    text = _readable(title, body)
    words = folded(text)
    framework, versions = _framework_and_torch(title, text, words, identifier)
    versions |= versions_of_packages(text, words, versions["torch"])
    nodes = count_nodes(text, words)
    named = gpu_places(words)
    model = gpu_model(text, words, named)
    absent = _absent(words) - ({"gpu_count"} if model else set())
    stated = model is not None or versions["cuda"] or versions["nccl"]
    on_gpus = False if "cuda" in absent else bool(stated) or None
    gpus, gpus_per_node = count_gpus(text, words, names_gpu=bool(named), on_gpus=on_gpus)
    # Of several nodes without a number, the sum is not known.
    if gpus_per_node is not None and (nodes or not speaks_of_several_nodes(words)):
        gpus = max(gpus or 0, gpus_per_node * (nodes or 1))
    if listed := listed_gpus(text, words):  # of which a job may use some only
        gpus_per_node = gpus_per_node or listed
        if not gpus and (nodes or not speaks_of_several_nodes(words)):
            gpus = listed * (nodes or 1)
    first = {fact: next(iter(found), None) for fact, found in versions.items()}
    several = {fact: found for fact, named in versions.items() if len(named) > 1 and len(found := releases(named)) > 1}
    facts = EnvironmentFacts(
        framework=framework,
        framework_version=first["framework_version"],
        torch=first["torch"],
        python=first["python"],
        cuda=first["cuda"],
        rocm=first["rocm"],
        nccl=first["nccl"],
        driver=first["driver"],
        gpu_model=model,
        gpu_count=gpus,
        gpus_per_node=gpus_per_node,
        nodes=nodes,
        os=system_of(text, words),
        launcher=_launcher(text),
        ambiguous=several,
    )
    if not absent:
        return facts
    return replace(facts, absent=frozenset(fact for fact in absent if getattr(facts, fact) is None))


def find_versions(title: str, body: str, identifier: str = "") -> dict[str, str]:
    """`framework`, `framework_version` and `torch` as `find_facts` reads them, in an eighth of its time; what is not
    stated is absent.
    """
    text = _readable(title, body)
    words = folded(text)
    framework, versions = _framework_and_torch(title, text, words, identifier)
    found = {"framework": framework, **{fact: next(iter(named), None) for fact, named in versions.items()}}
    return {name: value for name, value in found.items() if value is not None}


def _framework_and_torch(
    title: str, text: str, words: str, identifier: str
) -> tuple[str | None, dict[str, Sequence[str]]]:
    """The framework, and every version of it and of torch that the text names."""
    tracker = projects().tracker_of(identifier)
    framework = framework_of(title, text, words, tracker)
    torch = torch_versions(text, words)
    own: Sequence[str] = []
    if framework == PYTORCH:
        own = torch = torch or nameless_versions(text, words)
    elif framework is not None:
        own = versions_of_framework(framework, text, words, tracker)
    return framework, {"framework_version": own, "torch": torch}


def _readable(title: str, body: str) -> str:
    return "\n".join(line[:2000] for line in shortened(f"{title}\n{body}").split("\n"))


def _either(versions: Sequence[str]) -> str:
    return " or ".join(versions if len(versions) < 4 else [*versions[:2], "others"])


def _absent(words: str) -> set[str]:
    """What a form says that there is none of."""
    found: set[str] = set()
    for none in _NONE.finditer(words):
        begin = words.rfind("\n", 0, none.start()) + 1
        label = _LABEL.match(words, begin)
        if label and label.end() == none.start() + 1:
            found.update(_ABSENT_FACTS[label["name"]])
    return found


def _launcher(text: str) -> str | None:
    launchers = projects().launchers.items()
    found = (name for name, one in launchers if first_at(one.expression, text, places(one.starts, text)))
    return next(found, None)
