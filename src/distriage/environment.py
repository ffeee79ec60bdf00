"""The facts of a report's environment. Pure.

A fact is only what the report states: a version beside the name of the package, a count beside the device. Reads the raw text,
template lines and listings included, since that is where facts stand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache

from distriage.counts import AFTER, GPU_NUMBER, GPU_STARTS, count_gpus, count_nodes
from distriage.recipe.lines import folded
from distriage.recipe.normalize import MAX_INPUT_CHARS
from distriage.scanning import first_at, places

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
_DEEPSPEED_LAUNCHER = re.compile(r"[^\w\n]*deepspeed[^\S\n]+(?:--|\S+\.py)")  # of a line
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
_DRIVER = re.compile(r"driver(?: version)?\s{0,10}(?:\||:|=|is)?\s{0,4}(?P<v>\d{3}\.\d{2,3}(?:\.\d{2})?)", re.I)
# Names that mean nothing but a GPU; those of two or three characters only in capitals.
_GPU_NAME = (
    r"(?:(?i:[AHV]100S?|[AH]800|H200|GH200|GB[23]00|B[123]00|L40S?|A6000|P100|MI\d{3}X?|RTX[ -]?A?\d{4}(?:[ -]?(?:Ti|Super))?"
    r"|GTX[ -]?\d{3,4}(?:[ -]?(?:Ti|Super))?|Titan\s?(?:RTX|Xp|V|X)|Ascend\s?910\w?|910B|TPU\s?v\d\w*)"
    r"|T4|L4|A10G?|A30|A40|P40|M40|K80|H20)"
)
# A bare number is a step, a line or a page, unless a count or a word beside it says that it is a card.
_MEMORY = r"(?i:[ -](?:SXM\d?|PCIe|\d{2,3}\s?GB))*"
_GPU = re.compile(rf"(?:\b|(?<=\d[xX×*])|(?<=[^\x00-\x7f]))(?P<v>{_GPU_NAME}{_MEMORY}){AFTER}")
_FOUR_DIGITS = re.compile(r"[1-5](?<!\d.)0[5-9]0")
_CARD_BEFORE = re.compile(
    r"(?:(?<![\w.])\d{1,3}\s?[x×*]\s?|\b(?:nvidia|geforce|tesla|gpus?)\W{1,3}|[张块卡颗]\s?"
    r"|\b(?:an?|one|two|three|four|five|six|seven|eight|ten|twelve|sixteen|single|several|multiple|both|dual|my|our)\s)\Z",
    re.I,
)
_CARD_BEFORE_CHARS = 10  # at most
_COUNTED_CARD = re.compile(rf"(?P<v>{GPU_NUMBER}(?i:\s?Ti\b)?)(?![\dA-Za-z_])")
_CARD_AFTER = r"(?=\s?(?:Ti\b|super\b|GPUs?\b|cards?\b|上|显卡|卡|\(?\d{2}\s?GB?\b))"
_CARD = re.compile(rf"\b(?P<v>{GPU_NUMBER}(?i:\s?Ti\b)|{GPU_NUMBER}(?i:{_CARD_AFTER}))")
_OS = re.compile(
    r"(?:\b|(?<=[^\x00-\x7f]))(?P<v>(?:Ubuntu|CentOS(?: Linux)?|Debian|Red Hat Enterprise Linux|RHEL|Rocky Linux|Alibaba Cloud Linux|SUSE|SLES|Fedora|Arch Linux|Amazon Linux|macOS|Mac OS X?|Windows|WSL\d?)"
    r"(?:[ -]?(?:release )?\d+(?:\.\d+){0,3}(?: LTS)?)?)",
    re.I,
)

_TORCH_STARTS = ("torch", "pytorch")
_OS_STARTS = (
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
    framework, version = _framework(text, words)
    rocm = first_at(_ROCM, text, places(("rocm", "+rocm"), words))
    cuda = first_at(_CUDA, text, places(("cuda", "+cu"), words))
    return EnvironmentFacts(
        framework=framework,
        framework_version=version,
        torch=_value(first_at(_TORCH, text, places(_TORCH_STARTS, words))),
        python=_value(first_at(_PYTHON, text, places(("python",), words))),
        cuda=(cuda.group("v") or f"{cuda.group('cu')[:2]}.{cuda.group('cu')[2]}") if cuda else None,
        rocm=(rocm.group("v") or rocm.group("wheel")) if rocm else None,
        nccl=_value(first_at(_NCCL, text, places(("nccl", "nvidia-nccl"), words))),
        driver=_value(first_at(_DRIVER, text, places(("driver",), words))),
        gpu_model=_gpu(text, words),
        gpu_count=count_gpus(text, words),
        nodes=count_nodes(text, words),
        os=_value(first_at(_OS, text, places(_OS_STARTS, words))),
        launcher=_launcher(text),
    )


def find_versions(title: str, body: str) -> dict[str, str]:
    """`framework`, `framework_version` and `torch` as `find_facts` reads them, in an eighth of its time; what is not
    stated is absent.
    """
    text = _readable(title, body)
    words = folded(text)
    framework, version = _framework(text, words)
    torch = _value(first_at(_TORCH, text, places(_TORCH_STARTS, words)))
    found = {"framework": framework, "framework_version": version, "torch": torch}
    return {name: value for name, value in found.items() if value is not None}


def _readable(title: str, body: str) -> str:
    text = f"{title}\n{body}"[:MAX_INPUT_CHARS]
    return "\n".join(line[:2000] for line in text.split("\n"))


def _value(match: re.Match[str] | None) -> str | None:
    return " ".join(match.group("v").split()).rstrip(".,") if match else None


_FRAMEWORK_NAME = re.compile(
    r"(?<![A-Za-z0-9_-])("
    + "|".join(sorted(map(re.escape, FRAMEWORKS), key=len, reverse=True))
    + rf"){_NAME_AFTER}(?!-)",
    re.I,
)


@cache
def _framework_version(word: str) -> re.Pattern[str]:
    return re.compile(rf"{_NAME_BEFORE}{re.escape(word)}{_NAME_AFTER}(?!-){_GAP}{_VERSION}", re.I)


def _framework(text: str, words: str) -> tuple[str | None, str | None]:
    """The framework that is named most, and its version where one stands beside the name."""
    counts: dict[str, int] = {}
    for place in places(FRAMEWORKS, words):
        if match := _FRAMEWORK_NAME.match(text, place):
            name = FRAMEWORKS[words[match.start() : match.end()]]
            counts[name] = counts.get(name, 0) + 1
    if not counts:
        return None, None
    framework = max(counts, key=lambda name: counts[name])
    for word, name in FRAMEWORKS.items():
        if name == framework and (match := first_at(_framework_version(word), text, places((word,), words))):
            return framework, match.group("v").rstrip(".,")
    return framework, None


def _gpu(text: str, words: str) -> str | None:
    """The GPU that is named first."""
    first = first_at(_GPU, text, places(GPU_STARTS, words))
    for number in _FOUR_DIGITS.finditer(text):
        place = number.start()
        if first and first.start() < place:
            break
        counted = _CARD_BEFORE.search(text, place - _CARD_BEFORE_CHARS, place)
        if card := (_COUNTED_CARD.match(text, place) if counted else None) or _CARD.match(text, place):
            return _value(card)
    return _value(first)


def _launcher(text: str) -> str | None:
    lines = sorted({text.rfind("\n", 0, place) + 1 for place in places(("deepspeed",), text)})
    if first_at(_DEEPSPEED_LAUNCHER, text, lines):
        return "deepspeed"
    return next((name for name, starts, pattern in _LAUNCHERS if first_at(pattern, text, places(starts, text))), None)
