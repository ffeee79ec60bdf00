"""The facts of a report's environment, each with its place. Pure.

A fact is only stated, never inferred: a version beside the name of the package, a count beside the device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, TypeVar

from distriage.base.texts import regex
from distriage.facts.counting.counts import GpuCounts, count_gpus, counts_gpus
from distriage.facts.counting.each import (
    MOST_ON_A_NODE,
    is_said_of_each,
    may_be_of_each,
    nodes_with,
    speaks_of_several_nodes,
)
from distriage.facts.counting.nodes import are_on_a_machine, count_nodes, highest_rank, printed_counts
from distriage.facts.counting.options import JOB_OF_SEVERAL, asks_for_one
from distriage.facts.demands import is_example
from distriage.facts.frameworks import framework_of, frameworks_in, versions_of_framework
from distriage.facts.gpus import gpu_model, gpu_places, listed_gpus
from distriage.facts.packages import python_of_paths, torch_versions, versions_of_packages
from distriage.facts.projects import NCCL, PYTORCH, Tracker, What, projects
from distriage.facts.regressions import worked_before
from distriage.facts.release.likeliest import likeliest_version
from distriage.facts.release.others import is_pair_of_product
from distriage.facts.scanning import Passage, Source, any_of, own_lists, passages, with_commands
from distriage.facts.several import moved_in, of_a_list, of_title, releases
from distriage.facts.spoken import absent_things, names_cpu_only, names_other_device
from distriage.facts.systems import launcher_of, system_of, windows_of_paths
from distriage.facts.versions import Comparison, Versions
from distriage.segments import Segments, split

_Value = TypeVar("_Value", str, int)
_OF_A_MAC = regex(r"(?:Apple )?M\d\b|.*\d{3}M\b")  # M2 Max, GeForce GT 750M
_CUDA_AT_WORK = ("cuda error", "cuda out of memory", "nccl error", "nccl warn", "nccl info")


@dataclass(frozen=True, slots=True)
class EnvironmentFacts:
    """Stated facts; None if not stated.

    Versions are strings as written, the first that is not said to work; `commit HASH` for a commit, `RCCL VERSION` for
    RCCL. `gpu_count` and `nodes` are the largest stated counts; `gpu_count` is the total, as stated or over all nodes.
    `gpus_per_node` is stated as such, as by `--nproc_per_node` or "8 GPUs each".

    Attributes:
        cuda: The toolkit's or as stated, else that of torch's build; `torch_cuda`: that of torch's build, if different.
        others: Framework under the product, or a known one that the reporter names beside an unknown product -> its
            version.
        ambiguous: Facts with several releases of which none is said to work, each with one version of every release:
            the one in use is unknown.
        absent: Things that the report says are absent, as by "NCCL version: N/A".
        on_cpu: The job runs on processors alone: its processes are not GPUs, and CUDA and NCCL do not occur.
        sources: Fact -> its place; none for a fact known only from the tracker.
        comparisons: Pairs of releases of which one works and the other fails.
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
    cann: str | None = None
    torch_cuda: str | None = None
    others: Mapping[str, str] = field(default_factory=dict)
    ambiguous: Mapping[str, Sequence[str]] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()
    on_cpu: bool = False
    sources: Mapping[str, Source] = field(default_factory=dict, compare=False)
    comparisons: Sequence[Comparison] = field(default=(), compare=False)

    def stated(self) -> dict[str, str | int]:
        """Stated facts by name, for display: "none" for an absent one, and no ambiguous ones, since the reporter often
        means but one of the releases.
        """
        named = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in _ABOUT}
        shown = {**dict.fromkeys(self.absent, "none"), **dict.fromkeys(self.ambiguous)}
        stated = {fact: value for fact, one in named.items() if isinstance(value := shown.get(fact, one), (str, int))}
        return {**stated, **self.others}


_ABOUT = frozenset({"others", "ambiguous", "absent", "on_cpu", "sources", "comparisons"})
_OF_DEVICES = frozenset({"cuda", "torch_cuda", "rocm", "nccl", "driver"})


def find_facts(title: str, body: str, identifier: str = "") -> EnvironmentFacts:
    """The facts of a report as filed; see `facts_of`."""
    return facts_of(split(title, body), identifier)


def facts_of(segments: Segments, identifier: str = "") -> EnvironmentFacts:
    """Read the facts that a report states. Never raises; time is linear in the input.

    The reporter's words and listings state facts; tools' output counts only for lack of these, and only if labelled: an
    error mentions versions and counts that are not the reporter's.

    Args:
        identifier: The report's id; the repository in `owner/repo#12` tells the framework.
    """
    own, stated, output = passages(segments)
    started = with_commands(segments, stated)
    framework, versions = _framework_and_torch(segments, own, stated, output, identifier)
    versions |= versions_of_packages(stated, versions["torch"])
    if output.text:
        printed = versions_of_packages(output, Versions(), labelled=True)
        versions |= {fact: named for fact, named in printed.items() if not versions[fact]}
    versions["python"] = versions["python"] or python_of_paths(output, own, stated)
    versions = {
        fact: of_a_list(of_title(named, segments.title), stated.text or output.text) for fact, named in versions.items()
    }
    others = _versions_of_others(framework[0], own, stated)
    comparisons = _comparisons(own, projects().tracker_of(identifier), {**versions, **others})
    product = versions["framework_version"]
    working = {pair.works for pair in comparisons if pair.fact == "framework_version"}
    failing = {one: at for one, at in product.in_use.items() if one not in working}
    versions["framework_version"] = replace(product, in_use=failing or product.in_use)
    if framework[0] == NCCL:
        versions["nccl"] = versions["nccl"] or versions["framework_version"]
    example = is_example(segments.title, own, output)
    named_gpus = gpu_places(stated.words)
    model = None if example else gpu_model(stated, named_gpus)
    found: dict[str, tuple[str | int, Source]] = {}
    absent = absent_things(stated.words)
    if absent and (model or versions["cuda"] or names_other_device(own.words)):
        absent -= {"gpu_model", "gpu_count"}  # "GPU model: N/A" answers nothing then
    on_cpu = (
        model is None and _is_on_cpu(own, stated, output, versions["torch"]) and not names_other_device(stated.words)
    )
    on_gpus = False if "cuda" in absent else bool(model or versions["cuda"] or versions["nccl"]) or None
    nodes = None if example else count_nodes(started)
    serves = projects().is_a(framework[0], What.SERVER)
    gpus = count_gpus(started, names_gpu=bool(named_gpus), on_gpus=on_gpus, serves=serves)
    if nodes and nodes[0] == 1 and gpus.total and gpus.total[0] > MOST_ON_A_NODE:
        nodes = None  # it works, or happens too, on a single one
    counted = {} if example else _counted(started, output, nodes, gpus)
    if 0 < counted.get("gpu_count", (0,))[0] <= highest_rank(output):
        del counted["gpu_count"]  # it is of one node
    if on_cpu:
        versions = {fact: named for fact, named in versions.items() if fact not in _OF_DEVICES}
        found |= {fact: count for fact, count in counted.items() if count[0] == 0}
    else:
        found |= _placed("gpu_model", model, stated)
        found |= _placed("gpu_model", None if model else gpu_model(output, gpu_places(output.words)), output)
        found |= counted
    found |= _placed("nodes", nodes, started)
    for fact, (count, place) in printed_counts(output).items():
        is_part = fact == "gpu_count" and nodes is not None and count < nodes[0]  # one process's, of several nodes
        if fact == "nodes" or not (on_cpu or is_part):
            found.setdefault(fact, (count, output.source(place)))
    is_remote = bool(nodes and nodes[0] > 1) or (model is not None and not _OF_A_MAC.match(model[0]))
    system = system_of(stated, is_remote=is_remote)
    found |= _placed("os", system, stated) or _placed("os", windows_of_paths(output), output)
    if not example:
        found |= _placed("launcher", launcher_of(stated), stated) or _placed("launcher", launcher_of(output), output)
    found |= {fact: next(iter(named.in_use.items())) for fact, named in versions.items() if named}
    values: dict[str, Any] = {"framework": framework[0], **{fact: value for fact, (value, _) in found.items()}}
    facts = EnvironmentFacts(
        **values,
        others={name: next(iter(named.in_use)) for name, named in others.items()},
        ambiguous={
            fact: some
            for fact, named in versions.items()
            if len(named.in_use) > 1 and len(some := releases(named.in_use)) > 1
        },
        on_cpu=on_cpu,
        sources={
            **({"framework": framework[1]} if framework[1] else {}),
            **{fact: source for fact, (_, source) in found.items()},
            **{name: next(iter(named.in_use.values())) for name, named in others.items()},
        },
        comparisons=comparisons,
    )
    never = frozenset(fact for fact in absent if getattr(facts, fact) is None)
    return replace(facts, absent=never) if absent else facts


def _comparisons(own: Passage, tracker: Tracker, versions: Mapping[str, Versions]) -> tuple[Comparison, ...]:
    """Works/fails pairs, in the product's own tracker with numbers that no name stands beside."""
    in_use = versions["framework_version"].in_use
    found = {
        fact: pair
        for fact, named in versions.items()
        if (pair := named.compared(fact))
        and (fact == "framework_version" or not is_pair_of_product(own.words, pair.works, pair.fails, in_use))
    }
    if tracker.product and "framework_version" not in found:
        plain = worked_before(own, tracker, in_use)
        found |= {plain.fact: plain} if plain is not None else {}
    return tuple(found.values())


def find_versions(title: str, body: str, identifier: str = "") -> dict[str, str]:
    """`framework`, `framework_version` and `torch` as `find_facts` reads them, in less time; absent if not stated."""
    segments = split(title, body)
    own, stated, output = passages(segments)
    (framework, _), versions = _framework_and_torch(segments, own, stated, output, identifier)
    found = {"framework": framework, **{fact: next(iter(named.in_use), None) for fact, named in versions.items()}}
    return {name: value for name, value in found.items() if value is not None}


def _framework_and_torch(
    segments: Segments, own: Passage, stated: Passage, output: Passage, identifier: str
) -> tuple[tuple[str | None, Source | None], dict[str, Versions]]:
    """The framework with its place, and every version of it and of torch that the report names."""
    tracker = projects().tracker_of(identifier)
    framework, source = framework_of(own, partial(own_lists, segments), output, tracker)
    torch = torch_versions(stated) or torch_versions(output, labelled=True)
    is_torch = projects().product_of(framework) == PYTORCH
    version = torch if is_torch else Versions()
    if framework is not None and not is_torch:
        version = versions_of_framework(framework, stated, tracker)
        version = version or versions_of_framework(framework, output, tracker, labelled=True)
    if framework is not None and (not version or version.all_work):
        project = projects().all.get(framework)
        home = tracker if tracker.product else Tracker(framework, project, project.names if project else ())
        moved = moved_in(segments.title) if tracker.product else Versions()
        version = moved or likeliest_version(stated, output, home) or version
        torch = version if is_torch and next(iter(version.in_use), "")[:1].isdecimal() else torch
    return (framework, source), {"framework_version": version, "torch": torch}


def _versions_of_others(product: str | None, own: Passage, stated: Passage) -> dict[str, Versions]:
    """Versions of the frameworks under the product, else of those that the reporter names."""
    project = projects().all.get(product or "")
    others = (project.on if project else dict.fromkeys(frameworks_in(own))) if product else ()
    found = {one: versions_of_framework(one, stated, Tracker()) for one in others if one not in {product, PYTORCH}}
    return {name: versions for name, versions in found.items() if versions}


def _counted(
    text: Passage, output: Passage, nodes: tuple[int, int] | None, found: GpuCounts
) -> dict[str, tuple[int, Source]]:
    """`gpu_count` and `gpus_per_node`."""
    total, per_node, asked, is_unknown, is_part = found
    counts = {**_placed("gpu_count", total, text), **_placed("gpus_per_node", per_node, text)}
    times = nodes[0] if nodes else 1
    # The sum over several nodes is unknown without their number
    several = nodes is None and (
        speaks_of_several_nodes(text.words) or (per_node is not None and is_said_of_each(text.words, per_node[1]))
    )
    if per_node and not several and (total is None or per_node[0] * times > total[0]):
        if nodes_with(text.words, per_node[1]) in {None, times}:
            counts["gpu_count"] = (per_node[0] * times, text.source(per_node[1]))
        else:  # not all nodes have as many
            counts.pop("gpu_count", None)
    together = nodes[0] == 1 if nodes else total and not several and are_on_a_machine(text.words, total[0])
    if total and together and not per_node and not is_part:
        counts["gpus_per_node"] = counts["gpu_count"]
    on_one = times == 1 and not several
    if on_one and asked:
        counts |= _placed("gpu_count", asked, text)
    elif (on_one and is_unknown) or 0 < counts.get("gpu_count", (0,))[0] < times:
        counts.pop("gpu_count", None)
    elif total and times > 1 and not per_node and may_be_of_each(text.words, *total):
        del counts["gpu_count"]
    listed = listed_gpus(text)
    if listed and not (listed[0] == 1 and JOB_OF_SEVERAL.search(text.words)):  # a job may use only some of them
        source = text.source(listed[1])
        counts.setdefault("gpus_per_node", (listed[0], source))
        alone = listed[0] == 1 or not asks_for_one(text.words, output.words)
        if alone and not (total or per_node or several):
            counts["gpu_count"] = (listed[0] * times, source)
    return counts


def _is_on_cpu(own: Passage, stated: Passage, output: Passage, torch: Versions) -> bool:
    """Whether the job runs on processors alone: torch is built for them, or the reporter says so."""
    if any_of(_CUDA_AT_WORK, output.words):
        return False
    if any("+cpu" in version for version in torch.in_use):
        return True
    return names_cpu_only(own.words, f"{stated.words}\n{output.words}") and not counts_gpus(own.text)


def _placed(fact: str, found: tuple[_Value, int] | None, text: Passage) -> dict[str, tuple[_Value, Source]]:
    return {} if found is None else {fact: (found[0], text.source(found[1]))}
