"""The facts of a report's environment. Pure.

A fact is only what the report states: a version beside the name of the package, a count beside the device. Reads the raw text,
template lines and listings included, since that is where facts stand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

from distriage.counts import AFTER, GPU_NUMBER, GPU_WORDS, any_of, count_gpus, count_nodes
from distriage.recipe.lines import folded
from distriage.recipe.normalize import MAX_INPUT_CHARS

FRAMEWORKS: Mapping[str, str] = {  # what a report calls it -> the name that we use
    "deepspeed": "DeepSpeed",
    "megatron-lm": "Megatron-LM",
    "megatron-core": "Megatron-LM",
    "megatron_core": "Megatron-LM",
    "megatron": "Megatron-LM",
    "colossalai": "Colossal-AI",
    "colossal-ai": "Colossal-AI",
    "horovod": "Horovod",
    "vllm": "vLLM",
    "sglang": "SGLang",
    "accelerate": "Accelerate",
    "pytorch-lightning": "Lightning",
    "pytorch_lightning": "Lightning",
    "lightning": "Lightning",
    "ray": "Ray",
    "fsdp": "PyTorch FSDP",
    "ddp": "PyTorch DDP",
    "distributeddataparallel": "PyTorch DDP",
}
# Name, words of which one must be there, pattern: what costs is to search a long log for what it does not hold.
_LAUNCHERS = tuple(
    (name, words, re.compile(pattern, re.M))
    for name, words, pattern in (
        ("deepspeed", ("deepspeed",), r"^[^\w\n]*deepspeed[^\S\n]+(?:--|\S+\.py)"),
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
_VERSION = r"(?P<v>\d+\.\d+(?:\.\d+)?(?:[-+.]?(?:rc|dev|post|a|b|cu|git|rocm)[\w.]*)*)"
_NAME_BEFORE = r"(?<![A-Za-z0-9_./-])"
_NAME_AFTER = r"(?![A-Za-z_]|\d{1,2}(?!\.\d|\d))"  # "torch2.3" states a version, "torch2" is a name
_IS = "版本号?|[为是的：は]|バージョン|버전|верси[яи]|إصدار|هو"
_GAP = (  # each text is read in one way only
    rf"""(?:["'`*|\s]|version(?:\sis)?|ver(?:\.(?!\.))?|\(|info|:|=|-|v|\.{{3,}}+|{_IS}){{0,24}}?"""
)


def _versioned(name: str) -> re.Pattern[str]:
    return re.compile(rf"{_NAME_BEFORE}{name}{_NAME_AFTER}{_GAP}{_VERSION}", re.I)


_TORCH = re.compile(  # no release of torch has two digits before the first point: "torch 11.6" speaks of CUDA
    rf"{_NAME_BEFORE}(?:pytorch|torch|pytorch_version|torch\.__version__){_NAME_AFTER}{_GAP}(?=\d\.){_VERSION}", re.I
)
_PYTHON = _versioned("python")
_CUDA = re.compile(
    r"(?:CUDA used to build PyTorch|CUDA runtime version|CUDA Version|cuda toolkit"
    rf"|{_NAME_BEFORE}(?<!\+)cuda(?:/cudnn)?(?: version)?)(?:[\"'`*|\s:=v(-]|{_IS}){{0,12}}{_VERSION}|\+cu(?P<cu>\d{{3}})\b",
    re.I,
)
_ROCM = re.compile(
    rf"(?:ROCM used to build PyTorch|{_NAME_BEFORE}rocm(?: version)?)(?:[\"'`*|\s:=v(-]|{_IS}){{0,12}}{_VERSION}"
    r"|\+rocm(?P<wheel>\d\.\d(?:\.\d)?)",
    re.I,
)
_NCCL = re.compile(
    rf"{_NAME_BEFORE}(?:nccl|nvidia-nccl-cu\d+)(?:[ _-]?version)?(?:[\"'`*|\s:=v(]|{_IS}){{1,10}}{_VERSION}", re.I
)
_DRIVER = re.compile(
    r"(?:nvidia )?driver(?: version)?\s{0,10}(?:\||:|=|is)?\s{0,4}(?P<v>\d{3}\.\d{2,3}(?:\.\d{2})?)", re.I
)
# Names that mean nothing but a GPU; those of two or three characters only in capitals.
_GPU_NAME = (
    r"(?:(?i:[AHV]100S?|[AH]800|H200|GH200|GB[23]00|B[123]00|L40S?|A6000|P100|MI\d{3}X?|RTX[ -]?A?\d{4}(?:[ -]?(?:Ti|Super))?"
    r"|GTX[ -]?\d{3,4}(?:[ -]?(?:Ti|Super))?|Titan\s?(?:RTX|Xp|V|X)|Ascend\s?910\w?|910B|TPU\s?v\d\w*)"
    r"|T4|L4|A10G?|A30|A40|P40|M40|K80|H20)"
)
# A bare number is a step, a line or a page, unless a count or a word beside it says that it is a card.
_CARD_BEFORE = (
    r"(?:(?<![\w.])\d{1,3}\s?[x×*]\s?|\b(?:nvidia|geforce|tesla|gpus?)\W{1,3}|[张块卡颗]\s?"
    r"|\b(?:an?|one|two|three|four|five|six|seven|eight|ten|twelve|sixteen|single|several|multiple|both|dual|my|our)\s)"
)
_CARD_AFTER = r"(?=\s?(?:Ti\b|super\b|GPUs?\b|cards?\b|上|显卡|卡|\(?\d{2}\s?GB?\b))"
_MEMORY = r"(?i:[ -](?:SXM\d?|PCIe|\d{2,3}\s?GB))*"
_GPU = re.compile(
    rf"(?:\b|(?<=\d[xX×*])|(?<=[^\x00-\x7f]))(?P<name>{_GPU_NAME}{_MEMORY}){AFTER}|(?i:{_CARD_BEFORE})(?P<counted>{GPU_NUMBER}(?i:\s?Ti\b)?)(?![\dA-Za-z_])"
    rf"|\b(?P<number>{GPU_NUMBER}(?i:\s?Ti\b)|{GPU_NUMBER}(?i:{_CARD_AFTER}))"
)
_OS = re.compile(
    r"(?:\b|(?<=[^\x00-\x7f]))(?P<v>(?:Ubuntu|CentOS(?: Linux)?|Debian|Red Hat Enterprise Linux|RHEL|Rocky Linux|Alibaba Cloud Linux|SUSE|SLES|Fedora|Arch Linux|Amazon Linux|macOS|Mac OS X?|Windows|WSL\d?)"
    r"(?:[ -]?(?:release )?\d+(?:\.\d+){0,3}(?: LTS)?)?)",
    re.I,
)

_OS_WORDS = (
    *("ubuntu", "centos", "debian", "red hat", "rhel", "rocky linux", "alibaba cloud", "suse", "sles", "fedora"),
    *("arch linux", "amazon linux", "macos", "mac os", "windows", "wsl"),
)


@dataclass(frozen=True, slots=True)
class EnvironmentFacts:
    """What the report states; None where it states nothing.

    Versions are strings as written. `gpu_count` and `nodes` are counts, the largest that is stated.
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
    nodes: int | None = None
    os: str | None = None
    launcher: str | None = None
    rocm: str | None = None

    def stated(self) -> dict[str, str | int]:
        """The facts that the report states, by name."""
        return {item.name: value for item in fields(self) if (value := getattr(self, item.name)) is not None}


def find_facts(title: str, body: str) -> EnvironmentFacts:
    """Read the facts that a report states. Never raises; time is linear in the input, of which the first 200,000 characters are read."""
    text = _readable(title, body)
    words = folded(text)
    framework, version = _framework(text)
    rocm = _ROCM.search(text) if "rocm" in words else None
    cuda = _CUDA.search(text) if "cuda" in words or "+cu" in words else None
    gpu = _GPU.search(text) if any_of(GPU_WORDS, words) else None
    launcher = next(
        (name for name, needed, pattern in _LAUNCHERS if any_of(needed, text) and pattern.search(text)),
        None,
    )
    return EnvironmentFacts(
        framework=framework,
        framework_version=version,
        torch=_first(_TORCH, text) if "torch" in words else None,
        python=_first(_PYTHON, text) if "python" in words else None,
        cuda=(cuda.group("v") or f"{cuda.group('cu')[:2]}.{cuda.group('cu')[2]}") if cuda else None,
        rocm=(rocm.group("v") or rocm.group("wheel")) if rocm else None,
        nccl=_first(_NCCL, text) if "nccl" in words else None,
        driver=_first(_DRIVER, text) if "driver" in words else None,
        gpu_model=" ".join(gpu[gpu.lastgroup or 0].split()) if gpu else None,
        gpu_count=count_gpus(text, words),
        nodes=count_nodes(text, words),
        os=_first(_OS, text) if any_of(_OS_WORDS, words) else None,
        launcher=launcher,
    )


def find_versions(title: str, body: str) -> dict[str, str]:
    """`framework`, `framework_version` and `torch` as `find_facts` reads them, in an eighth of its time; what is not
    stated is absent.
    """
    text = _readable(title, body)
    framework, version = _framework(text)
    found = {"framework": framework, "framework_version": version, "torch": _first(_TORCH, text)}
    return {name: value for name, value in found.items() if value is not None}


def _readable(title: str, body: str) -> str:
    text = f"{title}\n{body}"[:MAX_INPUT_CHARS]
    return "\n".join(line[:2000] for line in text.split("\n"))


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return " ".join(match.group("v").split()).rstrip(".,") if match else None


_FRAMEWORK_NAME = re.compile(
    r"(?<![A-Za-z0-9_-])("
    + "|".join(sorted(map(re.escape, FRAMEWORKS), key=len, reverse=True))
    + rf"){_NAME_AFTER}(?!-)",
    re.I,
)


def _framework(text: str) -> tuple[str | None, str | None]:
    """The framework that is named most, and its version where one stands beside the name."""
    counts: dict[str, int] = {}
    for match in _FRAMEWORK_NAME.finditer(text):
        name = FRAMEWORKS[match.group().lower()]
        counts[name] = counts.get(name, 0) + 1
    if not counts:
        return None, None
    framework = max(counts, key=lambda name: counts[name])
    for word, name in FRAMEWORKS.items():
        if name == framework:
            match_ = re.search(rf"{_NAME_BEFORE}{re.escape(word)}{_NAME_AFTER}(?!-){_GAP}{_VERSION}", text, re.I)
            if match_:
                return framework, match_.group("v").rstrip(".,")
    return framework, None
