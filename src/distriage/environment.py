"""The facts of a report's environment. Pure.

A fact is only what the report states: a version beside the name of the package, a count beside the device. Reads the raw text,
template lines and listings included, since that is where facts stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

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
_GAP = r"""(?:["'`*|\s]|version|ver(?:\.(?!\.))?|\(|info|:|=|-|v|\.{3,}+){1,24}?"""  # each text is read in one way only


def _versioned(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w./-]){name}(?![\w]){_GAP}{_VERSION}", re.I)


_TORCH = re.compile(  # no release of torch has two digits before the first point: "torch 11.6" speaks of CUDA
    rf"(?<![\w./-])(?:pytorch|torch|pytorch_version|torch\.__version__)(?![\w]){_GAP}(?=\d\.){_VERSION}", re.I
)
_PYTHON = _versioned("python")
_CUDA = re.compile(
    rf"(?:CUDA used to build PyTorch|CUDA runtime version|CUDA Version|cuda toolkit|(?<![\w./-])cuda(?:/cudnn)?(?: version)?)(?:[\"'`*|\s:=v(-]){{1,12}}{_VERSION}|\+cu(?P<cu>\d{{3}})\b",
    re.I,
)
_NCCL = re.compile(
    rf"(?<![\w./-])(?:nccl|nvidia-nccl-cu\d+)(?:[ _-]?version)?(?:[\"'`*|\s:=v(]){{1,10}}{_VERSION}", re.I
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
_GPU_NUMBER = r"(?:10[5-8]0|[2-5]0[5-9]0)"
_CARD_BEFORE = (
    r"(?:(?<![\w.])\d{1,3}\s?[x×*]\s?|\b(?:nvidia|geforce|tesla|gpus?)\W{1,3}|[张块卡颗]\s?"
    r"|\b(?:an?|one|two|three|four|five|six|seven|eight|ten|twelve|sixteen|single|several|multiple|both|my|our)\s)"
)
_CARD_AFTER = r"(?=\s?(?:Ti\b|super\b|GPUs?\b|cards?\b|上|显卡|卡|\(?\d{2}\s?GB?\b))"
_MEMORY = r"(?i:[ -](?:SXM\d?|PCIe|\d{2,3}\s?GB))*"
_GPU = re.compile(
    rf"(?:\b|(?<=\d[xX×*]))(?P<name>{_GPU_NAME}{_MEMORY})\b|(?i:{_CARD_BEFORE})(?P<counted>{_GPU_NUMBER}(?i:\s?Ti\b)?)(?![\dA-Za-z_])"
    rf"|\b(?P<number>{_GPU_NUMBER}(?i:\s?Ti\b)|{_GPU_NUMBER}(?i:{_CARD_AFTER}))"
)
_GPU_COUNT = (
    re.compile(
        r"\b(?P<v>\d{1,4})\s?(?:x|×|\*)\s?(?:nvidia\s|tesla\s|amd\s|geforce\s){0,2}(?:[ABHLV]\d00|RTX|GTX|GH200|B200|H20|L40|T4|A10|A40|MI\d{3}|V100|\d0[5-9]0|A6000|P100|TITAN|NPU|GPU)",
        re.I,
    ),
    re.compile(
        rf"\b(?!{_GPU_NUMBER}\b)(?P<v>\d{{1,4}})[ -](?:(?:nvidia|tesla|geforce|cuda|rtx|gtx|[ABHV]\d00|V100|\d0[5-9]0|a6000|-)\s){{0,3}}"
        r"(?:\d{2,3}\s?GB\s)?(?:GPUs?|卡|cards?)\b",
        re.I,
    ),
    re.compile(
        r"(?<![\w.,:-])(?<!cuda )(?<!version )(?P<v>[1-9]\d{0,2}) (?:nvidia |tesla |amd |geforce ){0,2}"  # 8 A100
        r"(?:[AHV]100s?|[AH]800|H20|H200|B200|L40S?|RTX|GTX|A10|A40|A6000|MI\d{3}X?|Ascend|910B)\b",
        re.I,
    ),
    re.compile(rf"(?<!\d)(?!{_GPU_NUMBER}\s?卡)(?P<v>\d{{1,4}})\s?(?:张|块|卡)"),
    re.compile(
        r"--?(?:nproc[_-]per[_-]node|num[_-]gpus|tensor[_-]parallel[_-]size|tp(?:[_-]size)?)[= ](?P<v>\d{1,3})\b"
    ),
)
_NODES = (
    re.compile(r"\b(?P<v>\d{1,4})[ -](?:compute |worker |DGX )?(?:nodes?|machines?|servers?|hosts?)\b", re.I),
    re.compile(r"--?(?:nnodes|num[_-]nodes)[= ](?P<v>\d{1,4})\b"),
    re.compile(r"(?P<v>\d{1,3})\s?(?:个节点|台|机)"),
)
_SINGLE_NODE = re.compile(r"\b(?:single|one)[ -](?:node|machine|server|host)\b|单机", re.I)
_OS = re.compile(
    r"\b(?P<v>(?:Ubuntu|CentOS(?: Linux)?|Debian|Red Hat Enterprise Linux|RHEL|Rocky Linux|Alibaba Cloud Linux|SUSE|SLES|Fedora|Arch Linux|Amazon Linux|macOS|Mac OS X?|Windows|WSL\d?)"
    r"(?:[ -](?:release )?\d+(?:\.\d+){0,3}(?: LTS)?)?)",
    re.I,
)

# Words of which a text in lower case holds one where the pattern may match. To look for them first halves the time.
_GPU_WORDS = (
    *("a100", "h100", "v100", "p100", "b100", "a800", "h800", "h200", "b200", "b300", "l40", "a6000"),
    *("titan", "ascend", "rtx", "gtx", "tpu", "910b", "t4", "l4", "a10", "a30", "a40", "p40", "m40", "k80", "h20"),
    *(f"mi{digit}" for digit in range(10)),
    *(f"{series}0{model}0" for series in range(1, 6) for model in range(5, 10)),
)
_COUNT_WORDS = (*_GPU_WORDS, "gpu", "npu", "card", "卡", "张", "块", "nproc", "-tp", "tensor")
_NODE_WORDS = ("node", "machine", "server", "host", "节点", "台", "机")
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

    def stated(self) -> dict[str, str | int]:
        """The facts that the report states, by name."""
        return {item.name: value for item in fields(self) if (value := getattr(self, item.name)) is not None}


def find_facts(title: str, body: str) -> EnvironmentFacts:
    """Read the facts that a report states. Never raises; time is linear in the input, of which the first 200,000 characters are read."""
    text = _readable(title, body)
    words = folded(text)
    framework, version = _framework(text)
    cuda = _CUDA.search(text) if "cuda" in words or "+cu" in words else None
    gpu = _GPU.search(text) if _any_of(_GPU_WORDS, words) else None
    counted = _any_of(_COUNT_WORDS, words)
    counts = [int(m.group("v")) for pattern in _GPU_COUNT for m in pattern.finditer(text)] if counted else []
    listed = len(set(re.findall(r"^GPU (\d+): ", text, re.M)))
    several = _any_of(_NODE_WORDS, words)
    nodes = [int(m.group("v")) for pattern in _NODES for m in pattern.finditer(text)] if several else []
    if several and not nodes and _SINGLE_NODE.search(text):
        nodes = [1]
    launcher = next(
        (name for name, needed, pattern in _LAUNCHERS if _any_of(needed, text) and pattern.search(text)),
        None,
    )
    return EnvironmentFacts(
        framework=framework,
        framework_version=version,
        torch=_first(_TORCH, text) if "torch" in words else None,
        python=_first(_PYTHON, text) if "python" in words else None,
        cuda=(cuda.group("v") or f"{cuda.group('cu')[:2]}.{cuda.group('cu')[2]}") if cuda else None,
        nccl=_first(_NCCL, text) if "nccl" in words else None,
        driver=_first(_DRIVER, text) if "driver" in words else None,
        gpu_model=" ".join(gpu[gpu.lastgroup or 0].split()) if gpu else None,
        gpu_count=max([n for n in [*counts, listed] if 0 < n <= 100_000], default=None),
        nodes=max([n for n in nodes if 0 < n <= 10_000], default=None),
        os=_first(_OS, text) if _any_of(_OS_WORDS, words) else None,
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


def _any_of(words: Iterable[str], text: str) -> bool:
    return any(word in text for word in words)


def _readable(title: str, body: str) -> str:
    text = f"{title}\n{body}"[:MAX_INPUT_CHARS]
    return "\n".join(line[:2000] for line in text.split("\n"))


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return " ".join(match.group("v").split()).rstrip(".,") if match else None


_FRAMEWORK_NAME = re.compile(
    r"(?<![\w-])(" + "|".join(sorted(map(re.escape, FRAMEWORKS), key=len, reverse=True)) + r")(?![\w-])", re.I
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
            match_ = re.search(rf"(?<![\w./-]){re.escape(word)}(?![\w-]){_GAP}{_VERSION}", text, re.I)
            if match_:
                return framework, match_.group("v").rstrip(".,")
    return framework, None
