"""The versions of the packages below a framework: torch, Python, CUDA, ROCm, NCCL and the driver. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from distriage.base.texts import regex
from distriage.facts.scanning import Passage, first_at, places
from distriage.facts.versions import (
    BLANKS,
    GAP,
    IS,
    NAME_AFTER,
    NAME_BEFORE,
    NO_VERSIONS,
    NOTE,
    VERSION,
    Versions,
    joined,
    versions_at,
)

_TORCH = regex(  # no release of torch has two digits before the first point: "torch 11.6" speaks of CUDA
    rf"(?:{NAME_BEFORE}(?<!used\sto\sbuild\s)(?:pytorch/pytorch(?=:)|pytorch|torch|pytorch_version|torch\.(?:__)?version(?:__)?)"
    rf"|(?:(?<=/cu\d\d\d/)|(?<=-py\d\d\d-)|(?<=-py\d\d-)|(?<=\d-)(?=torch\d\.\d{{1,2}}\.\d))torch|(?<=habanalabs/)pytorch-installer){NAME_AFTER}{NOTE}{GAP}(?=\d\.)"
    rf"(?!1\.1\.0\svs\s1\.2\.0\ssupport){VERSION}",  # part of Lightning's form
    re.I,
)
_TORCH_STARTS = ("torch", "pytorch")
_TORCH_OF_FORM = regex(  # of Horovod
    r"framework:(?:[^\n]{0,60}[ ):](?<!and ))?pytorch[ \t]{0,9}\n"
    rf"[ \d.*-]{{0,6}}framework version:[ \t]{{0,9}}v?{VERSION}",
    re.I,
)
_WHEEL_TAG = regex(r"\+cu(\d\d)(\d)\b")
_PYTHON = regex(
    rf"{NAME_BEFORE}(?<!requires\s)(?<!require\s)(?<!needs\s)python(?:_version(?==))?{NAME_AFTER}{NOTE}{GAP}(?=[23]\.){VERSION}",
    re.I,
)
_PY = regex(rf"{NAME_BEFORE}py ?(?=3\.\d){VERSION}", re.I)
_PY_TAG = regex(r"(?<![A-Za-z0-9])py(?P<py>3(?:[5-9]|1[0-4]))(?![A-Za-z0-9]|\.\d)")  # of an image, beside `cu116`
_PYTHON_OF_PATH = regex(  # lib/python3.10/site-packages/, bin/python3.10, Python38\\lib\\site-packages, a wheel
    r"python(?:(?P<v>[23]\.\d{1,2})(?:/(?:site-packages|dist-packages|lib-dynload|[a-z_]{2,30}(?:/|\.py))"
    r"|(?:(?<=bin/python\d\.\d)|(?<=bin/python\d\.\d\d))(?!\w))"
    r"|(?P<major>[23])(?P<minor>\d{1,2})\\(?:(?:lib\\)?site-packages|lib\\[a-z_]{2,30}(?:\\|\.py)))"
    r"|py(?P<egg>3\.\d{1,2})(?=-linux|-win|-macosx|\.egg)"
    r"|cp(?:ython-)?3(?P<tag>\d{1,2})-(?=cp3|x86_64|aarch64|win|linux|darwin)",
    re.I,
)
# 2.29.2-1+cuda12.9 of a package, /usr/local/cuda-12.4 of a path
_CUDA_OF_SUFFIX = regex(r"(?:\+cuda|/cuda[-/]|[_-]cuda[_-])(?P<v>\d\d?\.\d)(?!\d)", re.I)
_COLON = r"[ \t]{0,20}:"  # vLLM's listing sets them in a column
_SHORT_GAP = rf"(?:[\"'`*|\n:=v(-]|release |{BLANKS}|{IS}){{0,12}}"
_CUDA_TEXT = (
    rf"(?:CUDA used to build PyTorch|CUDA runtime version|CUDA Version|cuda\s?toolkit"
    rf"|(?<=pytorch-)cuda(?==)|{NAME_BEFORE}cuda_(?=\d\d?\.\d\.r\d)"
    rf"|(?:{NAME_BEFORE}(?<!\+)|(?<=\d\.\d-)|(?<=ubuntu\d\d\.\d\d-))cuda(?:/cudnn| and cudnn)?(?: version)?)"
    rf"{_SHORT_GAP}"
    rf"(?!\d+\.\d+\.\d+\.\d){VERSION}"
)
_CUDA = regex(_CUDA_TEXT, re.I)
_CUDA_IN_LIST = regex(rf"{_CUDA_TEXT}(?=\s?(?:[,;()|\n]|\Z))", re.I)  # not "CUDA 12.1 on the old machine"
_CUDA_TAG = regex(
    r"(?:(?<=[+/_:(,，、-])|(?<=with )|(?<=mxnet )|(?<=[+\d] ))cu(?P<tag>\d{3})(?:mkl)?\b"
    r"|(?<=-)cu(?P<digits>[789]\d)\b",
    re.I,
)
# Without a point: "CUDA 9", "CUDA/cuDNN version: 10"; not "CUDA 8 GPUs". The first release read so is 7, the last 13.
_CUDA_SERIES = regex(
    rf"{NAME_BEFORE}cuda(?:(?:/cudnn)?\sversion\s?:?)?[ -]{{0,4}}(?P<v>[789]|1[0-3])(?:\.x)?"
    r"(?!\w|[.-]\w|[ \t](?:x\s|[x×*]|\d|gpus?|cards?|devices?|cores?|streams?|graphs?"
    r"|kernels?|errors?|[abhltv]\d|rtx|gtx))",
    re.I,
)
# Words that tell the toolkit, which builds, from the runtime that torch brings with it.
_TOOLKIT = regex(
    rf"(?:cuda compilation tools, release |installed cuda version |cuda runtime version{_COLON} "
    rf"|cuda\s?toolkit(?: version)?{_SHORT_GAP}"
    rf"|nvcc(?: version|: release)?(?:{_SHORT_GAP}|\s?\.{{3,}}\s)|(?:system|local) cuda(?: version)?{_SHORT_GAP}"
    rf"|cuda(?: version)?{_SHORT_GAP}(?=[\d.]{{3,8}} ?\(?(?:nvcc|toolkit)\b)){VERSION}",
    re.I,
)
_TOOLKIT_STARTS = ("cuda", "installed cuda", "nvcc", "system cuda", "local cuda")
_CUDA_OF_SMI = regex(rf"driver version: [\d.]{{5,12}}\s{{1,9}}\|?\s{{0,4}}cuda version: {VERSION}", re.I)
_NO_CUDA = regex(rf"cuda runtime version{_COLON} no cuda")  # from a torch built with CUDA on a machine without it
_CUDA_OF_TORCH = regex(rf"cuda used to build pytorch{_COLON}{BLANKS}{VERSION}", re.I)
_ROCM_OF_TORCH = regex(rf"rocm used to build pytorch{_COLON}{BLANKS}{VERSION}", re.I)
# Below `CUDA:` Lightning lists the cards, whether they are there, and the version.
_CUDA_LISTING = regex(rf"cuda:[^\S\n]*\n(?:[^\n]{{0,80}}\n){{1,40}}?[\s*-]{{0,24}}version:{BLANKS}{VERSION}", re.I)
_ROCM = regex(rf"(?:ROCM used to build PyTorch|{NAME_BEFORE}(?<!\+)rocm(?: version)?){_SHORT_GAP}{VERSION}", re.I)
_ROCM_INSTALLED = regex(rf"rocm version{_COLON}{BLANKS}{VERSION}", re.I)  # beside that of torch's build, by vLLM
_ROCM_TAG = regex(r"\+rocm(?P<v>\d\d?\.\d\d?(?:\.\d\d?)?)(?!\d)|-rocm(?P<digits>\d{3})\b", re.I)
_NCCL = regex(
    rf"{NAME_BEFORE}(?<!as\sof\s)(?:(?:nvidia-)?nccl-cu\d+|nccl|(?P<rccl>rccl))(?:[ _-]?version)?"
    rf"(?:[/_-](?=[12]\.\d{{1,2}}\.\d)|(?:[\"'`*|\n:=v(]|{BLANKS}|{IS}){{1,10}}(?=[12]\.)){VERSION}",
    re.I,
)
_VLLM_NCCL = regex(rf"vllm[-_]nccl[-_]cu\d\d(?:={{1,2}}|{BLANKS})(?P<v>\d+\.\d+\.\d+)")  # vLLM loads its own
_HIP = regex(rf"{NAME_BEFORE}hip(?: version)?{_SHORT_GAP}{VERSION}", re.I)  # it bears ROCm's number
_DRIVER_VERSION = r"[\s`*]{0,10}(?:[|:：=(是为]|is)?[\s`*v]{0,4}(?P<v>\d{3}\.\d{1,3}(?:\.\d{1,3})?)(?![\d.]\d)"
_DRIVER = regex(
    rf"(?:driver(?: version| nvidia)?|(?:kernel|libcuda) reported version is|驱动(?:版本)?){_DRIVER_VERSION}", re.I
)
# An item of its own, as "driver 580, CUDA 13"; not "driver 400 errors" and not "Selenium driver 404 (not found)".
_DRIVER_SERIES = regex(
    r"(?:(?P<nvidia>(?<=nvidia[ -]))|(?<![\w.-])(?<!\w[^\S\n])|(?<=\ba\s)|(?<=\b(?:an|on)\s)|(?<=\b(?:the|gpu|and)\s)"
    r"|(?<=\b(?:cuda|with)\s)|(?<=\bgraphics\s))"
    r"driver(?:\sversion)?(?::?\s|-)(?P<v>[3-6]\d\d)(?![\w-]|\.\w|\s?[gm]i?b)"
    r"(?:(?<=-\d\d\d)|(?<=:\s\d\d\d)|(?=\s{0,3}(?:[,;.()|/，；。）\n]|\Z)| (?:and|on|with) |(?(nvidia)|(?!))))",
    re.I,
)
_CANN = regex(  # in the lines of its file, as vLLM Ascend's `collect_env` prints them, or beside its name
    rf"{NAME_BEFORE}cann(?::\s{{1,9}}package_name=\S{{1,60}}\s{{1,9}}version="
    rf"|(?:[ _-]?version)?(?:[\"'`*|\n:=v(：]|{BLANKS}|{IS}){{1,10}}(?=\d\.)){VERSION}",
    re.I,
)
_NVIDIA_SMI = regex(rf"nvidia-smi{_DRIVER_VERSION}", re.I)


def python_of_paths(*passages: Passage) -> Versions:
    """Python's version in the paths of the first passage that has some; none if they differ."""
    for passage in passages:
        matches = [
            found
            for place in places(("python2", "python3", "py3.", "cpython-3", "cp3"), passage.words)
            if (found := _PYTHON_OF_PATH.match(passage.text, place))
        ]
        said = {
            found["v"] or found["egg"] or f"{found['major'] or 3}.{found['minor'] or found['tag']}" for found in matches
        }
        if said:
            return NO_VERSIONS if len(said) > 1 else Versions({said.pop(): passage.source(matches[0].start())})
    return NO_VERSIONS


def torch_versions(passage: Passage, *, labelled: bool = False) -> Versions:
    """Every version of torch that a text names; see `versions_of_packages`."""
    of_form = versions_at(_TORCH_OF_FORM, passage, places(("framework:",), passage.words), labelled=labelled)
    named = versions_at(_TORCH, passage, places(_TORCH_STARTS, passage.words), labelled=labelled)
    return joined((of_form, named))


def versions_of_packages(passage: Passage, torch: Versions, *, labelled: bool = False) -> dict[str, Versions]:
    """Every version of Python, CUDA, ROCm, NCCL and the driver that a text names, the fact's own first.

    `cuda` is the toolkit's or as stated, else that of torch; `torch_cuda` is torch's if different.

    Args:
        labelled: As for `versions_at`.

    Returns:
        Field of `EnvironmentFacts` -> its versions.
    """

    def at(pattern: re.Pattern[str], *starts: str) -> Versions:
        begins = places(starts, passage.words)
        return versions_at(pattern, passage, begins, labelled=labelled) if begins else NO_VERSIONS

    cuda, torch_cuda = _cuda_versions(passage, torch, at)
    return {
        "python": at(_PYTHON, "python") or at(_PY, "py3.", "py 3.") or at(_PY_TAG, "py3"),
        "cuda": cuda,
        "torch_cuda": torch_cuda,
        "rocm": at(_ROCM_INSTALLED, "rocm version")
        or at(_ROCM, "rocm")
        or at(_ROCM_TAG, "+rocm", "-rocm")
        or at(_HIP, "hip"),
        "cann": at(_CANN, "cann"),
        "nccl": at(_VLLM_NCCL, "vllm-nccl", "vllm_nccl") or at(_NCCL, "nccl", "rccl", "nvidia-nccl"),
        # Under WSL the driver's version is another one than that of `nvidia-smi`.
        "driver": at(_DRIVER, "driver", "kernel reported", "libcuda reported", "驱动")
        or at(_NVIDIA_SMI, "nvidia-smi")
        or at(_DRIVER_SERIES, "driver"),
    }


def _cuda_versions(passage: Passage, torch: Versions, at: Callable[..., Versions]) -> tuple[Versions, Versions]:
    words = passage.words
    if (
        any("+rocm" in version for version in torch.in_use)
        or first_at(_NO_CUDA, words, places(("cuda runtime",), words))
        or at(_ROCM_OF_TORCH, "rocm used")
    ):
        return NO_VERSIONS, NO_VERSIONS
    tags = {tag: source for version, source in torch.in_use.items() if (tag := _WHEEL_TAG.search(version))}
    if not tags and "cu" not in words and "nvcc" not in words:
        return NO_VERSIONS, NO_VERSIONS
    built = Versions({f"{tag[1]}.{tag[2]}": source for tag, source in tags.items()}) or at(_CUDA_OF_TORCH, "cuda used")
    stated, toolkit = at(_CUDA, "cuda"), at(_TOOLKIT, *_TOOLKIT_STARTS)
    of_driver = at(_CUDA_OF_SMI, "driver version").in_use  # the newest possible one
    if built:
        same = tuple(f"{version}." for version in built.in_use)
        stated = at(_CUDA_IN_LIST, "cuda") if tags else stated
        repeated = any(f"{version}.".startswith(same) for version in stated.in_use)
        # Other words may be about another machine.
        named = toolkit if repeated else joined((stated, toolkit))
        others = {
            one: at for one, at in named.in_use.items() if not f"{one}.".startswith(same) and one not in of_driver
        }
        return (Versions(others), built) if others else (built, NO_VERSIONS)
    if stated or toolkit:
        return toolkit if toolkit and of_driver else joined((stated, toolkit)), NO_VERSIONS
    tagged = at(_CUDA_TAG, *(f"cu{digit}" for digit in range(1, 10)))
    if len(tagged.in_use) == 1:  # of several packages, the one in use is unknown
        return tagged, NO_VERSIONS
    listing = first_at(_CUDA_LISTING, passage.text, places(("cuda:",), words))
    if listing:
        return Versions({listing["v"]: passage.source(listing.start("v"))}), NO_VERSIONS
    return at(_CUDA_SERIES, "cuda") or at(_CUDA_OF_SUFFIX, "+cuda", "/cuda", "_cuda", "-cuda"), NO_VERSIONS
