"""Which versions fit together: `matrix.csv`, with the source and the date of each row. Pure except for reading it.

`python training/research matrix` writes the table: from packages' own metadata on PyPI, and from pages that are read by
hand. A row says what a run of a package's releases requires of another package, of Python, of CUDA or of the driver.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from distriage.base.texts import packaged, packaged_table, regex
from distriage.facts.compatibility.requirements import PYTHON

if TYPE_CHECKING:
    from packaging.version import Version

COLUMNS: Final = ("package", "first", "last", "needs", "specifier", "date", "source")
CUDA, DRIVER, COMPUTE, RELEASES = "cuda", "driver", "compute", "releases"
_SERIES: Final = regex(r"NVIDIA|TESLA|GEFORCE|QUADRO|RTX|\s")
_BUILD: Final = regex(r"cu\d{2,3}|cpu")  # a build of the release itself; another tag may be anybody's
_NVIDIA: Final = regex(r"nvidia-(?P<what>\w+?)-cu(?P<major>\d\d)\Z")
_OF_TORCH: Final = frozenset({"torch", "torchvision", "torchaudio"})
_SHOWN: Final = {
    "nccl": "NCCL",
    "cudnn": "cuDNN",
    "torch": "torch",
    CUDA: "CUDA",
    PYTHON: "Python",
    DRIVER: "an NVIDIA driver",
}


class Requirement(NamedTuple):
    """A row of the table.

    Attributes:
        package: Its name on PyPI; `torch+cu128` for one build; `cuda`.
        first, last: The releases that it holds for.
        needs: A package, or `python`, `cuda`, `driver` or `compute`; `releases`: the row lists all there are.
        specifier: As of PEP 440; of `releases`, `compute`, and of torch's CUDA and ROCm, a list.
        date: When it was released or the page was read: `2025-08-06`.
    """

    package: str
    first: str
    last: str
    needs: str
    specifier: str
    date: str
    source: str


class Mismatch(NamedTuple):
    """A version that another one does not fit.

    Attributes:
        package, version: The ones with the requirement.
        needs: The name of the other one.
        found: Its version, which does not fit.
        source: The page that states the requirement.
    """

    package: str
    version: str
    needs: str
    specifier: str
    found: str
    source: str

    def __str__(self) -> str:
        """One sentence for people."""
        subject = f"{_SHOWN.get(self.package, self.package)} {self.version}"
        if self.needs == COMPUTE:
            return (
                f"{subject} has no kernels for the {self.found}; it is built for {self.specifier.replace(' ', ', ')}."
            )
        other = _NVIDIA.match(self.needs)
        needs = _SHOWN.get(other["what"], other["what"]) if other else _SHOWN.get(self.needs, self.needs)
        wanted = self.specifier.removeprefix("==")
        return f"{subject} {'comes with' if other else 'requires'} {needs} {wanted}; here it is {self.found}."

    @property
    def remedy(self) -> str:
        """The way out; one sentence, Markdown."""
        if self.needs == COMPUTE:
            return "Install a build of torch that has kernels for this GPU."
        if self.needs == DRIVER:
            return "Upgrade the driver, install the `cuda-compat` package, or use a build for an older CUDA."
        if self.needs in {PYTHON, CUDA} or (self.needs == "torch" and self.package != "torch"):
            needs = _SHOWN[self.needs]
            return f"Install the release of {self.package} for this {needs}, or the {needs} that it requires."
        return f"Install `{self.needs}{self.specifier}`."


def mismatches(versions: Mapping[str, str], gpu: str | None = None, *, loaded: str | None = None) -> list[Mismatch]:
    """The versions that do not fit.

    A version that is not a release, is somebody's own build or is too short to tell is passed over.

    Args:
        versions: Name on PyPI, `python`, `cuda` or `driver` -> version.
        gpu: NVIDIA's name of a GPU.
        loaded: NCCL as its own log states it: `2.21.5+cuda12.4`.
    """
    found = list(_between(versions))
    if loaded and (wrong := _wrong_nccl(versions.get("torch", ""), loaded)):
        found = [one for one in found if "-nccl-" not in one.needs] + [wrong]
    if gpu and (lacking := _without_kernels(versions.get("torch", ""), gpu)):
        found.append(lacking)
    return found


def requirements(package: str, version: Version) -> list[Requirement]:
    """The rows of a package that hold for a release; none of a version that was never released."""
    from packaging.version import Version

    release, rows = Version(version.public), _table().get(package, ())
    if (listed := listed_releases(package)) and str(release) not in listed:
        return []
    return [row for row in rows if Version(row.first) <= release <= Version(row.last)]


def listed_releases(package: str) -> Sequence[str]:
    """All releases of a package, the oldest first; empty if it is not in the table."""
    return next((row.specifier.split() for row in _table().get(package, ()) if row.needs == RELEASES), ())


def _between(versions: Mapping[str, str]) -> Iterator[Mismatch]:
    known = {name: version for name, text in versions.items() if (version := released(text)) is not None}
    tag = torch.local if (torch := known.get("torch")) is not None else None
    unusual = torch is not None and tag not in {None, _usual_tag(requirements("torch", torch))}
    for package, version in known.items():
        if unusual and package not in {*_OF_TORCH, CUDA}:
            continue  # for processors or another CUDA: from source, with other requirements
        rows = requirements(package, version)
        if package == "torch" and unusual:
            rows = [row for row in rows if not row.needs.startswith(("nvidia-", "cuda-")) and tag != "cpu"]
        for row in rows:
            if row.needs in known and not fits(known[row.needs], row.specifier, default=True):
                page = _page(row, version)
                yield Mismatch(package, versions[package], row.needs, row.specifier, versions[row.needs], page)


def _page(row: Requirement, version: Version) -> str:
    """The page of this release; the row names that of the first one."""
    return row.source.replace(f"/{row.first}/", f"/{version.public}/")


def _usual_tag(rows: Sequence[Requirement]) -> str | None:
    """The tag of torch's wheel on PyPI, whose requirements the table has: `cu128`."""
    runtime = next((row.specifier for row in rows if row.needs.startswith(("nvidia-cuda-runtime", "cuda-toolkit"))), "")
    return "cu" + "".join(runtime.removeprefix("==").split(".")[:2]) if runtime else None


def _wrong_nccl(torch: str, loaded: str) -> Mismatch | None:
    """The NCCL that a run loaded, if a torch wheel of the same CUDA release brought another."""
    version, (nccl, _, cuda) = released(torch), loaded.partition("+cuda")
    if version is None or not cuda or not (version.local or "").startswith(f"cu{cuda.partition('.')[0]}"):
        return None
    rows = requirements("torch", version)
    rows = requirements(f"torch+{version.local}", version) + (rows if _usual_tag(rows) == version.local else [])
    row = next((row for row in rows if (of := _NVIDIA.match(row.needs)) and of["what"] == "nccl"), None)
    if (
        row is None
        or not row.needs.endswith(cuda.partition(".")[0])
        or fits(released(nccl), row.specifier, default=True)
    ):
        return None
    return Mismatch("torch", torch, row.needs, row.specifier, nccl, _page(row, version))


def _without_kernels(torch: str, gpu: str) -> Mismatch | None:
    version, capability = released(torch), compute_of(gpu)
    if version is None or capability is None or not version.local:
        return None
    for row in requirements(f"torch+{version.local}", version):
        if row.needs == COMPUTE and not _runs_on(row.specifier.split(), capability):
            return Mismatch("torch", torch, COMPUTE, row.specifier, f"{gpu} ({capability})", row.source)
    return None


def _runs_on(built: Sequence[str], capability: str) -> bool:
    """Kernels run on the same generation from their minor number on; `+PTX`, on any newer one."""
    major, minor = map(int, capability.split("."))
    for one in built:
        at, _, ptx = one.partition("+")
        its_major, its_minor = map(int, at.split("."))
        if (its_major == major and its_minor <= minor) or (ptx and (its_major, its_minor) <= (major, minor)):
            return True
    return False


def compute_of(gpu: str) -> str | None:
    """NVIDIA's compute capability of a GPU, such as `9.0`, if known."""
    name = _SERIES.sub("", gpu.upper())
    known = [beginning for beginning in _capabilities() if name.startswith(beginning)]
    return _capabilities()[max(known, key=len)] if known else None


def released(text: str) -> Version | None:
    """A version if it is a release, or one of its builds for CUDA or a processor; else None."""
    from packaging.version import InvalidVersion, Version

    try:
        version = Version(text)
    except InvalidVersion:
        return None
    is_own = version.local is not None and not _BUILD.fullmatch(version.local)
    return None if version.is_prerelease or is_own else version


def fits(version: Version | None, specifier: str, *, default: bool) -> bool:
    """Whether a version meets a specifier.

    Args:
        default: The answer if it has fewer numbers than it takes to tell: 2.7 may be 2.7.1.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import Version

    if version is None:
        return default
    try:
        wanted = SpecifierSet(specifier)
    except InvalidSpecifier:  # a list
        return default
    bounds = [Version(one.version.removesuffix(".*")).release for one in wanted]
    known = len(version.release)
    if any(len(bound) > known and bound[:known] == version.release for bound in bounds):
        return default
    return wanted.contains(version, prereleases=True)


@cache
def _table() -> Mapping[str, Sequence[Requirement]]:
    text = packaged(__package__, "matrix.csv")
    found: dict[str, list[Requirement]] = {}
    for row in csv.reader(text.splitlines()[1:]):
        found.setdefault(row[0], []).append(Requirement(*row))
    return found


@cache
def _capabilities() -> Mapping[str, str]:
    """Beginning of a GPU's name -> its compute capability."""
    rows = packaged_table(__package__, "compute.toml")
    return {name: capability for capability, names in rows.items() for name in names}
