"""The environment that a run would have on this machine, and the versions in it that do not fit together.

Reads installed packages' metadata and files, and runs `nvidia-smi` and `nvcc`; imports no package that it looks at.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from distriage.base.errors import InputError
from distriage.facts.compatibility.known_bad import Combination, combinations, frameworks
from distriage.facts.compatibility.matrix import COMPUTE, CUDA, DRIVER, Mismatch, fits, mismatches, released
from distriage.facts.compatibility.requirements import OTHERS, PACKAGES, PYTHON, named, requirements_of
from distriage.facts.environment import EnvironmentFacts

if TYPE_CHECKING:
    from packaging.version import Version

TIMEOUT_S: Final = 20
_SITES: Final = ("lib/python3.*/site-packages", "lib/python3/dist-packages", "Lib/site-packages")
_PYTHON: Final = re.compile(r"^version(?:_info)?\s*=\s*(\d+\.\d+(?:\.\d+)?)", re.M)
_CUDA_OF: Final = re.compile(r"cu(\d\d)(\d)\Z")
_RUNTIME: Final = re.compile(r"nvidia-cuda-runtime(?:-cu\d\d)?")
_NVCC: Final = re.compile(r"release (\d+\.\d+)")
_NCCL: Final = re.compile(r"libnccl\.so\.(\d+\.\d+\.\d+)\Z")
_ABSENT: Final = "not installed"
_OUTSIDE: Final = frozenset({CUDA, DRIVER, COMPUTE})


class Library(NamedTuple):
    """A copy of NCCL that the loader finds before torch's own."""

    path: str
    version: str


class Machine(NamedTuple):
    """The versions that a run would find here.

    Attributes:
        place: The folder whose packages these are.
        packages: Name on PyPI -> version, of those that the table knows.
        requires: Package -> its own requirements: another package, or `python` -> PEP 440 specifier.
        cuda: That torch is built for.
        nvcc: CUDA of the compiler.
        libraries: Copies of NCCL on `LD_LIBRARY_PATH` and in `LD_PRELOAD`.
        compat: Whether `LD_LIBRARY_PATH` has the package `cuda-compat`, which makes up for an old driver.
    """

    place: str
    python: str
    packages: Mapping[str, str]
    requires: Mapping[str, Mapping[str, str]]
    cuda: str | None
    driver: str | None
    gpus: Sequence[str]
    nvcc: str | None
    libraries: Sequence[Library]
    compat: bool


def read_machine(environment: Path | None) -> Machine:
    """Look at an environment.

    Args:
        environment: Its folder; None: the active one, or else that of this program.

    Raises:
        InputError: The folder is not an environment.
    """
    active = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    if environment is None and active and Path(active).resolve() != Path(sys.prefix).resolve():
        environment = Path(active)
    if environment is None:
        place, python, found = sys.prefix, platform.python_version(), list(distributions())
    else:
        site = _site(environment)
        place, python, found = str(environment), _python(environment, site), list(distributions(path=[str(site)]))
    known = {name: one for one in reversed(found) if (name := _name(one)) in {*PACKAGES, *OTHERS}}
    packages = {name: known[name].version for name in sorted(known)}
    requires = {
        name: requirements_of(known[name].requires or (), known[name].metadata["Requires-Python"])
        for name in packages
        if name in PACKAGES
    }
    gpus = [
        line.rpartition(",") for line in _ask("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    ]
    folders = [Path(one) for one in os.environ.get("LD_LIBRARY_PATH", "").split(":") if one]
    nvcc = _NVCC.search("\n".join(_ask(_compiler(), "--version")))
    return Machine(
        place=place,
        python=python,
        packages=packages,
        requires=requires,
        cuda=_cuda(packages),
        driver=gpus[0][2].strip() if gpus else None,
        gpus=[name.strip() for name, _, _ in gpus],
        nvcc=nvcc[1] if nvcc else None,
        libraries=list(_libraries(folders)),
        compat=any("compat" in folder.parts for folder in folders),
    )


def unfit(machine: Machine) -> list[Mismatch]:
    """The versions that do not fit: by the packages' own requirements, and by the table for CUDA, driver and GPUs."""
    return [*_by_requirements(machine), *_by_table(machine), *_by_libraries(machine)]


def known_problems(machine: Machine) -> list[Combination]:
    """The known problems of these versions that no further condition decides, and GPUs that torch is not built for."""
    torch = machine.packages.get("torch")
    gpus: Sequence[str | None] = machine.gpus or [None]
    nccl = next((version for name, version in machine.packages.items() if name.startswith("nvidia-nccl-")), None)
    facts = [
        EnvironmentFacts(
            torch=torch, python=machine.python, cuda=machine.cuda, nccl=nccl, driver=machine.driver, gpu_model=gpu
        )
        for gpu in dict.fromkeys(gpus)
    ]
    listed = frameworks(machine.packages)
    certain = [
        one
        for one in combinations()
        if not one.mentions or (one.when.gpu_model and (one.when.torch or one.when.cuda) and not one.also)
    ]
    return [one for one in certain if any(one.holds(each, listed) for each in facts)]


def _by_requirements(machine: Machine) -> Iterator[Mismatch]:
    here = {**machine.packages, PYTHON: machine.python}
    for package, wanted in machine.requires.items():
        version = machine.packages[package]
        for needs, specifier in wanted.items():
            found = here.get(needs, _ABSENT if sys.platform == "linux" else None)
            if found == _ABSENT or (found and not fits(_version(found), specifier, default=True)):
                source = f"https://pypi.org/project/{package}/{version.partition('+')[0]}/"
                yield Mismatch(package, version, needs, specifier, found, source)


def _by_table(machine: Machine) -> Iterator[Mismatch]:
    versions = dict(machine.packages)
    if machine.cuda is not None:
        versions[CUDA] = machine.cuda
        tag = "+cu" + "".join(machine.cuda.split(".")[:2])
        if "+" not in versions["torch"]:
            versions["torch"] += tag
    if machine.driver is not None and not machine.compat:
        versions[DRIVER] = machine.driver
    found = [one for gpu in dict.fromkeys(machine.gpus or [""]) for one in mismatches(versions, gpu or None)]
    yield from dict.fromkeys(one for one in found if one.needs in _OUTSIDE)


def _by_libraries(machine: Machine) -> Iterator[Mismatch]:
    for needs, specifier in machine.requires.get("torch", {}).items():
        for library in machine.libraries:
            if needs.startswith("nvidia-nccl-") and not fits(released(library.version), specifier, default=True):
                found, torch = f"{library.version} ({library.path})", machine.packages["torch"]
                source = f"https://pypi.org/project/torch/{torch.partition('+')[0]}/"
                yield Mismatch("torch", torch, needs, specifier, found, source)


def _version(text: str) -> Version | None:
    """A version with pre-releases and own builds, whose package says itself which of them fit."""
    from packaging.version import InvalidVersion, Version

    try:
        return Version(text)
    except InvalidVersion:
        return None


def _name(one: Distribution) -> str:
    return named(one.metadata["Name"] or "")


def _site(environment: Path) -> Path:
    if environment.name in {"site-packages", "dist-packages"} and environment.is_dir():
        return environment
    found = next((site for pattern in _SITES for site in sorted(environment.glob(pattern))), None)
    if found is None:
        raise InputError(f"{environment}: holds no {_SITES[0]}; expected the folder of a virtual or Conda environment")
    return found


def _python(environment: Path, site: Path) -> str:
    """As the environment states it; else with the two numbers of its folder."""
    try:
        stated = _PYTHON.search((environment / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        stated = None
    of_conda = next((one.name.split("-")[1] for one in sorted(environment.glob("conda-meta/python-3*.json"))), None)
    named_so = re.search(r"python(3\.\d+)", str(site))
    return stated[1] if stated else of_conda or (named_so[1] if named_so else platform.python_version())


def _cuda(packages: Mapping[str, str]) -> str | None:
    """CUDA of torch's build: by its tag, else by the runtime beside it."""
    tag = _CUDA_OF.search(packages.get("torch", ""))
    if tag:
        return f"{tag[1]}.{tag[2]}"
    runtime = next((version for name, version in packages.items() if _RUNTIME.fullmatch(name)), None)
    return ".".join(runtime.split(".")[:2]) if runtime and "torch" in packages else None


def _compiler() -> str:
    home = os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    return shutil.which("nvcc") or str(Path(home, "bin", "nvcc"))


def _libraries(folders: Sequence[Path]) -> Iterator[Library]:
    preloaded = [Path(one) for one in re.split(r"[: ]", os.environ.get("LD_PRELOAD", "")) if "libnccl" in one]
    for path in [*preloaded, *(path for folder in folders for path in sorted(folder.glob("libnccl.so.2")))]:
        if match := _NCCL.search(path.resolve().name):
            yield Library(str(path), match[1])


def _ask(*command: str) -> list[str]:
    """The lines that a program writes; none if it is not there or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return []
    return [] if done.returncode else [line for line in done.stdout.splitlines() if line.strip()]
