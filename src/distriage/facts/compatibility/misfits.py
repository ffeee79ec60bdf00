"""The versions of a report that do not fit together. Pure.

Silent unless certain: a package in two releases, one of a works/fails pair, an own build or a pre-release rules itself
out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from distriage.base.texts import folded
from distriage.facts.compatibility.matrix import CUDA, DRIVER, Mismatch, mismatches
from distriage.facts.compatibility.requirements import OTHERS, PACKAGES, PYTHON, named
from distriage.facts.environment import EnvironmentFacts
from distriage.facts.projects import What, projects
from distriage.facts.scanning import Source, any_of
from distriage.facts.versions import releases
from distriage.segments import Kind, Segments

# A line of `pip freeze`, `pip list`, `conda list` or collect_env, and `vllm: 0.6.3` of SGLang's or Transformers'.
_LISTED: Final = re.compile(
    r"[ \t>*|`-]{0,12}(?:\[(?:pip3?|conda)\]\s{1,4})?(?P<name>[A-Za-z][\w.-]{2,40})"
    r"(?: version)?(?:\s?==\s?|\s?:\s{0,20}|\s{1,60}\(?|\s?\|\s{0,20})"
    r"v?(?P<v>\d+(?:\.[\w]+)+(?:\+[\w.]+)?)(?=[\s,)|`]|\Z)"
)
_MOST_CHARS: Final = 200  # of such a line
_NAMES: Final = frozenset({*PACKAGES, *OTHERS})
_WORKS: Final = ("cuda available: true", "cuda_available: true", "is_available(): true", "is_available() true")
_OF_TORCH: Final = ("torchvision", "torchaudio")
_OF_LINUX: Final = ("nvidia-", "triton")


class Misfit(NamedTuple):
    """Two versions of a report that do not fit.

    Attributes:
        at, found_at: Where the report states them.
    """

    what: Mismatch
    at: Source
    found_at: Source


def misfits(facts: EnvironmentFacts, segments: Segments) -> list[Misfit]:
    """The versions that do not fit; of two packages that want the same thing, the first."""
    if facts.on_cpu:
        return []
    stated = _stated(facts, segments)
    versions = {name: version for name, (version, _) in stated.items()}
    if DRIVER in versions and any(any_of(_WORKS, folded(one.text)) for one in segments.all):
        del versions[DRIVER]  # torch says that CUDA works, as with the package `cuda-compat`
    if len(versions) < 2 and facts.gpu_model is None:
        return []
    nccl = facts.sources.get("nccl")
    loaded = facts.nccl if facts.nccl and "nccl" not in facts.ambiguous else None
    found: dict[str, Misfit] = {}
    for one in mismatches(versions, facts.gpu_model, loaded=loaded):
        if one.needs.startswith(_OF_LINUX) and (facts.os or "").startswith(("Windows", "macOS")):
            continue
        if _is_beside(one.package, facts.framework) or (one.needs in _OF_TORCH and "torch" in found):
            continue
        at = stated[one.package][1]
        here = (
            stated[one.needs][1]
            if one.needs in stated
            else nccl
            if "nccl" in one.needs
            else facts.sources.get("gpu_model")
        )
        found.setdefault(one.needs, Misfit(one, at, here or at))
    return list(found.values())


def _is_beside(package: str, product: str | None) -> bool:
    """Whether a package is a server or a trainer that the report's product does not stand on."""
    known = projects().called(package)
    if known is None or known.name == product or known.what is What.LIBRARY:
        return False
    of = projects().all.get(product or "")
    return of is not None and known.name not in of.on and known.what is of.what


def _stated(facts: EnvironmentFacts, segments: Segments) -> dict[str, tuple[str, Source]]:
    """Package, `python`, `cuda` or `driver` -> its one version, and its place."""
    found: dict[str, dict[str, Source]] = {}
    for name, version, source in [*_listed(segments), *_of_facts(facts)]:
        found.setdefault(name, {}).setdefault(version, source)
    return {name: next(iter(versions.items())) for name, versions in found.items() if len(releases(versions)) == 1}


def _listed(segments: Segments) -> Iterator[tuple[str, str, Source]]:
    for segment in segments.of(Kind.LISTING):
        for line in segment.lines:
            if len(line.text) <= _MOST_CHARS and (match := _LISTED.match(line.text)):
                name = named(match["name"])
                if name in _NAMES:
                    yield name, match["v"], Source(Kind.LISTING, line.number)


def _of_facts(facts: EnvironmentFacts) -> Iterator[tuple[str, str, Source]]:
    pairs = {pair.fact: pair for pair in facts.comparisons}
    cuda = "torch_cuda" if facts.torch_cuda else "cuda"
    stated: Mapping[str, tuple[str | None, str]] = {
        "torch": (facts.torch, "torch"),
        PYTHON: (facts.python, "python"),
        CUDA: (getattr(facts, cuda), cuda),
        DRIVER: (facts.driver, "driver"),
        named(facts.framework or "-"): (facts.framework_version, "framework_version"),
        **{named(name.replace(" ", "-")): (version, name) for name, version in facts.others.items()},
    }
    for name, (version, fact) in stated.items():
        source = facts.sources.get(fact)
        if version is None or source is None:
            continue
        yield name, version, source
        for other in facts.ambiguous.get(fact, ()):
            yield name, other, source
        if fact in pairs:
            yield name, pairs[fact].works, source
