"""The versions of a report that do not fit together. Pure.

Silent unless certain. Only versions that a tool lists count, not those in sentences. A package in two releases, one of
a works/fails pair, somebody's own build or a pre-release rules itself out. torchvision and torchaudio count only where
the report speaks of them: a stale torchaudio is in many environments, and hurts few. The driver is left to the known
problems, which ask for a symptom: the package `cuda-compat` makes up for an old one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from distriage.base.texts import folded, regex
from distriage.facts.compatibility.matrix import CUDA, Mismatch, fits, mismatches, released
from distriage.facts.compatibility.requirements import OTHERS, PACKAGES, PYTHON, named
from distriage.facts.environment import EnvironmentFacts
from distriage.facts.projects import What, projects
from distriage.facts.scanning import Source, any_of
from distriage.facts.several import releases
from distriage.segments import Kind, Segments

# A line of `pip freeze`, `pip list`, `conda list` or collect_env, and `vllm: 0.6.3` of SGLang's or Transformers'.
_LISTED: Final = regex(
    r"[ \t>*|`-]{0,12}(?:\[(?:pip3?|conda)\]\s{1,4})?(?P<name>[A-Za-z][\w.-]{2,40})"
    r"(?: [vV]ersion)?(?:\s?==\s?|\s{0,30}:\s{0,20}|\s{1,60}\(?|\s?\|\s{0,20})"
    r"v?(?P<v>\d+(?:\.[\w]+)+(?:\+[\w.]+)?)(?=[\s,)|`]|\Z)"
)
_NUMBERS: Final = 2  # full stops in a whole version
_MOST_CHARS: Final = 200  # of such a line
_NAMES: Final = frozenset({*PACKAGES, *OTHERS})
_OF_TORCH: Final = ("torchvision", "torchaudio")
_OF_LINUX: Final = ("nvidia-", "triton")
_SERVERS: Final = ("vllm", "sglang")  # on Windows and macOS always somebody's own build
_BY_ANY_TOOL: Final = frozenset({PYTHON, CUDA, "torch"})
_STAMPED: Final = "vllm 0.6.2"  # of a checkout, vLLM's script gave the last release until then
_FAILS_TO_LOAD: Final = ("undefined symbol", "cannot load", "::nms", "entry point not found", "winerror 127")
_OWN_BUILD: Final = (
    *("built from source", "build from source", "install from source", "installed from source", "install -e"),
    *("compile and install", "compiled from source", "setup.py install", "setup.py develop", "editable"),
    *("use_existing_torch", "own build", "jetson", "aarch64", "arm64", "nvcr.io"),
)


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
    stated = listed(facts, segments)
    if facts.on_cpu or facts.rocm is not None or (len(stated) < 2 and facts.gpu_model is None):
        return []
    versions = {name: version for name, (version, _) in stated.items()}
    loaded = facts.nccl if facts.nccl and "nccl" not in facts.ambiguous else None
    elsewhere = (facts.os or "").startswith(("Windows", "macOS"))
    found = [
        one
        for one in mismatches(versions, facts.gpu_model, loaded=loaded)
        if not ((one.needs.startswith(_OF_LINUX) or one.package in _SERVERS) and elsewhere)
        and one.needs not in _OF_TORCH  # wanted by a package that wants torch itself
        and not _is_beside(one.package, facts.framework)
    ]
    if not found:
        return []
    said = "\n".join(folded(one.text) for one in segments.all if one.kind is not Kind.LISTING)
    text = "\n".join(folded(one.text) for one in segments.all)
    if any_of(_OWN_BUILD, text):
        return []
    fails_to_load = any_of(_FAILS_TO_LOAD, text)
    by_need: dict[str, Misfit] = {}
    for one in found:
        if one.package in _OF_TORCH and not (fails_to_load or one.package in said):
            continue
        at = stated[one.package][1]
        here = stated[one.needs][1] if one.needs in stated else None
        here = here or facts.sources.get("nccl" if "nccl" in one.needs else "gpu_model")
        by_need.setdefault(one.needs, Misfit(one, at, here or at))
    return list(by_need.values())


def _is_beside(package: str, product: str | None) -> bool:
    """Whether a package is a server or a trainer that the report's product does not stand on."""
    known = projects().called(package)
    if known is None or known.name == product or known.what is What.LIBRARY:
        return False
    of = projects().all.get(product or "")
    return of is not None and known.name not in of.on and known.what is of.what


def listed(facts: EnvironmentFacts, segments: Segments) -> dict[str, tuple[str, Source]]:
    """Package on PyPI, `python` or `cuda` -> its one version, and its place in a list of a tool."""
    in_lines = list(_listed(segments))
    sure = {name for name, _, _ in in_lines} | _BY_ANY_TOOL
    found: dict[str, dict[str, Source]] = {}
    for name, version, source in [*in_lines, *_of_facts(facts)]:
        found.setdefault(name, {}).setdefault(version, source)
    one_each = {
        name: next(iter(versions.items()))
        for name, versions in found.items()
        if name in sure and len(releases(versions)) == 1
    }
    if "torch" in one_each and one_each["torch"][0].count(".") < _NUMBERS:
        del one_each["torch"]
    return {name: (version, at) for name, (version, at) in one_each.items() if at.segment is Kind.LISTING}


def _listed(segments: Segments) -> Iterator[tuple[str, str, Source]]:
    """Packages with all numbers of their versions; "torch 2.4" was typed by somebody."""
    for segment in segments.of(Kind.LISTING):
        for line in segment.lines:
            if len(line.text) <= _MOST_CHARS and (match := _LISTED.match(line.text)):
                name, version = named(match["name"]), match["v"]
                if name in _NAMES and version.count(".") >= _NUMBERS and not _is_unstamped(line.text, name, version):
                    yield name, version, Source(Kind.LISTING, line.number)


def _is_unstamped(line: str, name: str, version: str) -> bool:
    product, _, since = _STAMPED.partition(" ")
    return name == product and " Version" in line and not fits(released(version), f">={since}", default=False)


def _of_facts(facts: EnvironmentFacts) -> Iterator[tuple[str, str, Source]]:
    pairs = {pair.fact: pair for pair in facts.comparisons}
    cuda = "torch_cuda" if facts.torch_cuda else "cuda"
    stated: Mapping[str, tuple[str | None, str]] = {
        "torch": (facts.torch, "torch"),
        PYTHON: (facts.python, "python"),
        CUDA: (getattr(facts, cuda), cuda),
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
