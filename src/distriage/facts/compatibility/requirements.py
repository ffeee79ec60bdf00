"""The requirements of a Python package, from its own metadata: on Python and on the packages around torch. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from distriage.base.texts import regex

if TYPE_CHECKING:
    from packaging.requirements import Requirement

PYTHON: Final = "python"
# The packages whose requirements and versions count here.
PACKAGES: Final = (
    *("torch", "torchvision", "torchaudio", "torch-npu", "xformers", "flash-attn", "transformer-engine"),
    *("deepspeed", "megatron-core", "accelerate", "transformers", "peft", "trl", "lightning", "pytorch-lightning"),
    *("vllm", "vllm-ascend", "sglang", "ray"),
)
OTHERS: Final = (
    *("triton", "tokenizers", "huggingface-hub", "numpy", "pydantic", "flashinfer-python", "transformer-engine-torch"),
    *(f"nvidia-{name}-cu{major}" for name in ("nccl", "cudnn", "cuda-runtime") for major in (11, 12, 13)),
    *("nvidia-cuda-runtime", "cuda-toolkit"),  # from CUDA 13 on
)
_BETWEEN: Final = regex(r"[-_.]+")  # the words of a name (PEP 503)
_LOCAL: Final = regex(r"\+[\w.]{1,20}")  # torch_npu wants `torch==2.6.0+cpu`, and takes a build without a tag
_MINORS: Final = range(7, 16)  # of Python 3
_LINUX: Final = {
    "os_name": "posix",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "implementation_name": "cpython",
    "extra": "",
}


def requirements_of(requires: Iterable[str], python: str | None) -> dict[str, str]:
    """Package, or `python` -> PEP 440 specifier, on Linux with an x86 processor.

    Without extras, without packages in any version, and without those whose version differs between Pythons.

    Args:
        requires: The fields `Requires-Dist`.
        python: The field `Requires-Python`.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    found = {PYTHON: python} if python else {}
    try:
        minors = [minor for minor in _MINORS if not python or SpecifierSet(python).contains(f"3.{minor}.99")]
    except InvalidSpecifier:
        return {}
    parsed = [one for line in requires if (one := _parsed(line)) is not None and one.specifier]
    wanted: dict[str, set[str]] = {}
    for minor in minors:
        for name, specifier in _on(parsed, minor).items():
            wanted.setdefault(name, set()).add(specifier)
    found |= {name: next(iter(all_)) for name, all_ in wanted.items() if len(all_) == 1}
    return found


def named(name: str) -> str:
    """A package's name as PyPI compares it: `flash_attn` is `flash-attn`."""
    return _BETWEEN.sub("-", name).lower()  # without `packaging.utils`, which imports a dozen modules


def _on(requirements: Iterable[Requirement], minor: int) -> Mapping[str, str]:
    version = {"python_version": f"3.{minor}", "python_full_version": f"3.{minor}.0"}
    found: dict[str, str] = {}
    for one in requirements:
        if one.marker is None or one.marker.evaluate({**_LINUX, **version}):
            name = named(one.name)
            specifier = _LOCAL.sub("", str(one.specifier))
            found[name] = ",".join(filter(None, (found.get(name), specifier)))
    return found


@cache
def _parsed(line: str) -> Requirement | None:
    """A requirement on a package that counts, if readable."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        return None
    return requirement if named(requirement.name) in {*PACKAGES, *OTHERS} else None
