"""The versions of the packages below a framework, and how a version is read beside a name. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from distriage.facts.scanning import before_on_line, first_at, matches_at, places

# An image's `2.3.0-cuda12.1-cudnn8` is 2.3.0, and `0.4.6-cu124` is 0.4.6. Each text is read in one way only: the second
# suffix begins with a sign.
_SUFFIX = r"(?:rc|dev|post|a|b|cu|git|rocm)[\w.]*"
VERSION = rf"(?P<v>\d+\.\d+(?:\.\d+){{0,2}}(?:(?!-cu)[-+.]?{_SUFFIX}(?:(?!-cu)[-+]{_SUFFIX})*)?)"
NAME_BEFORE = r"(?<![A-Za-z0-9_./-])"
NAME_AFTER = r"(?![A-Za-z_]|\d{1,2}(?!\.\d|\d))"  # "torch2.3" states a version, "torch2" is a name
_IS = "版本号?|[为是的：は]|バージョン|버전|верси[яи]|إصدار|هو"
_BLANKS = r"[^\S\n]{1,80}+"  # `pip list` sets versions in a column of their own: a run of blanks counts once
GAP = (  # each text is read in one way only
    rf"""(?:["'`*|\n]|{_BLANKS}|'s(?=\sversion)|version(?:\sis)?|ver(?:\.(?!\.))?|both|\(|info|:|=|-|v\.?|\.{{3,}}+"""
    rf"""|out\[\d{{1,4}}\]:|{_IS}){{0,24}}?"""
)
# Before that: what Lightning's and Transformers' templates say, and "after upgrading torch to 2.4.0".
NOTE = (
    r"(?:\snightly|\sversion\s\((?:GPU\?|use\scommand\sbelow|e\.g\.?,?\s[\d.]{1,10})\)"
    r"|(?P<to>\s(?:from\sv?\d[\d.]{1,12}\s)?to(?=\s)))?"
)
_TORCH = re.compile(  # no release of torch has two digits before the first point: "torch 11.6" speaks of CUDA
    rf"(?:{NAME_BEFORE}(?<!used\sto\sbuild\s)(?:pytorch/pytorch(?=:)|pytorch|torch|pytorch_version|torch\.__version__)"
    rf"|(?<=/cu\d\d\d/)torch){NAME_AFTER}{NOTE}{GAP}(?=\d\.)"
    rf"(?!1\.1\.0\svs\s1\.2\.0\ssupport){VERSION}",  # which stands in Lightning's form
    re.I,
)
_TORCH_STARTS = ("torch", "pytorch")
_WHEEL_TAG = re.compile(r"\+cu(\d\d)(\d)\b")
_PYTHON = re.compile(rf"{NAME_BEFORE}python{NAME_AFTER}{NOTE}{GAP}{VERSION}", re.I)
_PY = re.compile(rf"{NAME_BEFORE}py(?=3\.\d){VERSION}", re.I)
_SHORT_GAP = rf"(?:[\"'`*|\n:=v(-]|{_BLANKS}|{_IS}){{0,12}}"
_CUDA = re.compile(
    rf"(?:CUDA used to build PyTorch|CUDA runtime version|CUDA Version|cuda\s?toolkit"
    rf"|(?<=pytorch-)cuda(?==)|{NAME_BEFORE}cuda_(?=\d\d?\.\d\.r\d)"
    rf"|(?:{NAME_BEFORE}(?<!\+)|(?<=\d\.\d-))cuda(?:/cudnn)?(?: version)?){_SHORT_GAP}{VERSION}"
    r"|[+/-]cu(?P<tag>\d{3})\b",
    re.I,
)
# Without a point: "CUDA 9", "CUDA/cuDNN version: 10"; not "CUDA 8 GPUs". The first release read so is 7, the last 13.
_CUDA_SERIES = re.compile(
    rf"{NAME_BEFORE}cuda(?:(?:/cudnn)?\sversion\s?:?)?[ ]{{1,4}}(?P<v>[789]|1[0-3])"
    r"(?!\w|[.-]\w|\s(?:x\s|[x×*]|\d|gpus?|cards?|devices?|cores?|streams?|graphs?|kernels?|errors?|[abhltv]\d|rtx|gtx))",
    re.I,
)
_CUDA_OF_NVCC = re.compile(rf"cuda compilation tools, release {VERSION}", re.I)
_NO_CUDA = "cuda runtime version: no cuda"  # what a torch that is built with CUDA says where there is none
_CUDA_OF_TORCH = re.compile(rf"cuda used to build pytorch:{_BLANKS}{VERSION}", re.I)
_ROCM_OF_TORCH = re.compile(rf"rocm used to build pytorch:{_BLANKS}{VERSION}", re.I)
# Below `CUDA:` Lightning lists the cards, whether they are there, and the version.
_CUDA_LISTING = re.compile(
    rf"cuda:[^\S\n]*\n(?:[^\n]{{0,80}}\n){{1,40}}?[\s*-]{{0,24}}version:{_BLANKS}{VERSION}", re.I
)
_ROCM = re.compile(
    rf"(?:ROCM used to build PyTorch|{NAME_BEFORE}rocm(?: version)?){_SHORT_GAP}{VERSION}"
    r"|\+rocm(?P<wheel>\d\.\d(?:\.\d)?)",
    re.I,
)
_NCCL = re.compile(
    rf"{NAME_BEFORE}(?:nccl|(?P<rccl>rccl)|nvidia-nccl-cu\d+)(?:[ _-]?version)?"
    rf"(?:[\"'`*|\n:=v(]|{_BLANKS}|{_IS}){{1,10}}(?=[12]\.){VERSION}",
    re.I,
)
_VLLM_NCCL = re.compile(rf"vllm[-_]nccl[-_]cu\d\d(?:={{1,2}}|{_BLANKS})(?P<v>\d+\.\d+\.\d+)")  # vLLM loads its own
_HIP = re.compile(rf"{NAME_BEFORE}hip(?: version)?{_SHORT_GAP}{VERSION}", re.I)  # it bears ROCm's number
_DRIVER_VERSION = r"\s{0,10}(?:[|:：=是为]|is)?\s{0,4}(?P<v>\d{3}\.\d{2,3}(?:\.\d{2})?)"
_DRIVER = re.compile(rf"(?:driver(?: version)?|驱动(?:版本)?){_DRIVER_VERSION}", re.I)
_NVIDIA_SMI = re.compile(rf"nvidia-smi{_DRIVER_VERSION}", re.I)
# "torch 2.7.0 works; after the upgrade to 2.8.0 it hangs": a version without a name, of what was named before.
_OTHER_VERSION = re.compile(
    r"[^\n]{0,80}?(?:\b(?:to|with|on|in|but|only|and|or|(?P<bound>than|since|until))\s|[到至]\s?|(?:->|→)\s?"
    r"|[,;]\s(?=v?\d[\d.]{2,12}\s(?:hangs?|fails?|crash|does|gives|breaks?|works|is)))"
    rf"v?{VERSION}(?![\w%]|\s?(?:times|[GMTK]i?B|seconds|minutes|hours)\b)"
)
# What is said of a version that works. "Works around", "works only": not quite.
_WORKS_BEHIND = re.compile(
    r"[`'\"*)]{0,3},?\s(?:it\s|everything\s|all\s)?(?:works?|worked|(?:is|was|runs|ran)\s(?:fine|ok)|helps|(?:solv|fix|resolv)e[sd])\b"
    r"(?!\s(?:but|only|until|except|around))|\s?(?:就|则)?(?:没问题|没有问题|正常)"
    r"|[`'\"*)]{0,3}\sinstead\b[^\n.;]{0,80}\bwork(?:s|ed)\b",
    re.I,
)
# Bare "work" is nearly always denied or wished for: "can't get it to work with", "should work on".
_WORKS_BEFORE = re.compile(
    r"(?<!not\s)(?<!n't\s)(?<!never\s)(?<!longer\s)\b(?:works|worked|used\sto\swork|fine|ok|does(?:n.t|\snot)\s(?:occur|happen)"
    r"|no\sproblems?)\s(?:fine\s|well\s)?(?:with|on|in|under|up\sto)\s\Z",
    re.I,
)
_WORKS_BEFORE_CHARS = 40  # at most
_LAST_GOOD_BEFORE = re.compile(
    r"\blast\s(?:(?:known\s)?(?:good|working)\s(?:release|version)|(?:release|version)\s[^\n.;]{0,50}\bworks\b)[^\n.;]{0,20}\Z",
    re.I,
)
_LAST_GOOD_BEFORE_CHARS = 100  # at most
_DOWNGRADED = re.compile(rf"[Dd]owngrad(?:e|ed|ing)\s(?:[\w-]{{1,30}}\s)?to\sv?{VERSION}")
_UPGRADED_BEFORE = re.compile(
    r"(?:(?<!not\s)(?<!n't\s)(?<!be\s)\b(?:upgrad|updat|bump|switch)ed"
    r"|\b(?:after|since|when|once)\s(?:i\s|we\s)?(?:upgrad|updat)(?:ing|e))\s(?:my\s|our\s|the\s)?\Z",
    re.I,
)
_UPGRADED_BEFORE_CHARS = 30  # at most
# "We moved from vLLM 0.8.4 to 0.8.5": the first one is no longer in use. It is if one may "upgrade from" it.
_LEFT_BEFORE = re.compile(r"\b\w{2,12}(?:ed|ing|ion)\s(?:(?!to\s)[\w.-]{1,20}\s){0,3}from\s(?:the\s)?\Z", re.I)
_LEFT_BEFORE_CHARS = 90  # at most
_LEFT_BEHIND = re.compile(r"[`'\"*)]{0,3}\s(?:to|->|→)\s")
# setuptools-scm's version of a checkout without tags, `0.1.dev7393+gb1c1fe3`: a commit.
_UNTAGGED = re.compile(r"0\.1\.dev\d{1,6}(?:\+g(?P<commit>[0-9a-f]{7,40}))?")
_RELEASE = re.compile(r"\d+(?:\.\d+)+")
_MOST_LABELLED = 8


def versions_of_packages(text: str, words: str, torch: Sequence[str]) -> dict[str, list[str]]:
    """Every version of Python, CUDA, ROCm, NCCL and the driver that a text names, the fact's own first.

    Args:
        words: The same text, folded.
        torch: Its `torch_versions`; a build's tells that of CUDA.
    """
    return {
        "python": versions_at(_PYTHON, text, places(("python",), words))
        or versions_at(_PY, text, places(("py3.",), words)),
        "cuda": _cuda_versions(torch, text, words),
        "rocm": versions_at(_ROCM, text, places(("rocm", "+rocm"), words))
        or versions_at(_HIP, text, places(("hip",), words)),
        "nccl": versions_at(_VLLM_NCCL, text, places(("vllm-nccl", "vllm_nccl"), words))
        or versions_at(_NCCL, text, places(("nccl", "rccl", "nvidia-nccl"), words)),
        # Under WSL the driver's version is another one than that of `nvidia-smi`.
        "driver": versions_at(_DRIVER, text, places(("driver", "驱动"), words))
        or versions_at(_NVIDIA_SMI, text, places(("nvidia-smi",), words)),
    }


def torch_versions(text: str, words: str) -> list[str]:
    """Every version of torch that a text names; see `versions_of_packages`."""
    return versions_at(_TORCH, text, places(_TORCH_STARTS, words))


def releases(versions: Sequence[str]) -> list[str]:
    """One version of each release among them: 2.1 may be 2.1.2, and 2.1.2+cu121 is; 2.3 is not."""
    found: dict[tuple[str, ...], str] = {}
    for version in versions:
        if numbers := _RELEASE.search(version):
            found.setdefault(tuple(numbers[0].split(".")), version)
    shorter = {release[:length] for release in found for length in range(1, len(release))}
    return [version for release, version in found.items() if release not in shorter]


def _cuda_versions(torch: Sequence[str], text: str, words: str) -> list[str]:
    """Those of CUDA. The build that runs says more than the prose, which may speak of another machine."""
    if any("+rocm" in version for version in torch) or _NO_CUDA in words:
        return []
    if tags := [f"{tag[1]}.{tag[2]}" for version in torch if (tag := _WHEEL_TAG.search(version))]:
        return tags
    if "used to build pytorch" in words:
        if first_at(_ROCM_OF_TORCH, text, places(("rocm used",), words)):
            return []
        if built := versions_at(_CUDA_OF_TORCH, text, places(("cuda used",), words)):
            return built
    named = places(("cuda", "+cu", "-cu", "/cu"), words)
    if found := versions_at(_CUDA, text, named) or versions_at(_CUDA_OF_NVCC, text, named):
        return found
    listing = first_at(_CUDA_LISTING, text, places(("cuda:",), words))
    return [listing["v"]] if listing else versions_at(_CUDA_SERIES, text, named)


def versions_at(pattern: re.Pattern[str], text: str, begins: Sequence[int]) -> list[str]:
    """The versions that stand at some places, each with the one that the text sets against it.

    Of several, those that the text says to work are left out: the report is about the others. Of these a labelled
    line's, such as `PyTorch version: 2.4.0`, is the one in use.
    """
    if not begins:
        return []
    found: list[tuple[str, bool]] = []
    labelled: list[str] = []
    for match in matches_at(pattern, text, begins):
        if not (version := _written(match)) or not _is_in_use(match):
            continue
        works = _works(text, match.start(), match.end())
        found.append((version, works))
        if _is_labelled(text, match):
            labelled.append(version)
        other = _OTHER_VERSION.match(text, match.end())
        if other is None or other["v"].partition(".")[0] != version.partition(".")[0]:
            continue
        # "0.8.4 is slower than 0.8.2, since 0.7.0": of one that fails, the other is but a comparison.
        if (works or not other["bound"]) and (written := _written(other)):
            found.append((written, _works(text, other.start("v"), other.end())))
    versions = [version for version, _ in found]
    working = {version for version, works in found if works}
    if len(versions) > 1:
        working.update(match["v"] for match in _DOWNGRADED.finditer(text))
    failing = [version for version in versions if version not in working] or versions
    own = tuple(dict.fromkeys(version for version in labelled if version in failing))[:_MOST_LABELLED]
    longer = tuple(f"{version}." for version in own)  # a label's 3.6 is the 3.6.8 of the text
    return [version for version in failing if version in own or version.startswith(longer)] if own else failing


def _is_labelled(text: str, match: re.Match[str]) -> bool:
    """Whether a version follows the colon of a line of its own, or stands in a listing of `torch.utils.collect_env`."""
    before = before_on_line(text, match.start())
    return before in {"[pip3]", "[conda]"} or (before == "" and ":" in match[0])


def _is_in_use(match: re.Match[str]) -> bool:
    """Not of "the last release that works", nor of an upgrade "torch to 2.4.0" that is meant and did not take place."""
    start = match.start()
    if _LAST_GOOD_BEFORE.search(match.string, max(0, start - _LAST_GOOD_BEFORE_CHARS), start):
        return False
    before = max(0, start - _UPGRADED_BEFORE_CHARS)
    return not match.groupdict().get("to") or bool(_UPGRADED_BEFORE.search(match.string, before, start))


def _works(text: str, start: int, end: int) -> bool:
    """Whether a version, with its name from `start` to `end`, is said to work or to be the one before an upgrade."""
    before = _WORKS_BEFORE.search(text, max(0, start - _WORKS_BEFORE_CHARS), start)
    return bool(before or _WORKS_BEHIND.match(text, end) or _is_left(text, start, end))


def _is_left(text: str, start: int, end: int) -> bool:
    """Whether a version, with its name from `start` to `end`, is the one that was upgraded from."""
    behind = _LEFT_BEHIND.match(text, end)
    return bool(behind and _LEFT_BEFORE.search(text, max(0, start - _LEFT_BEFORE_CHARS), start))


def _written(match: re.Match[str]) -> str:
    """The version of a match, as written; of a wheel's tag what it means, of a checkout its commit or nothing."""
    parts = match.groupdict()
    if tag := parts.get("tag"):
        return f"{tag[:2]}.{tag[2]}"
    if parts["v"] and (checkout := _UNTAGGED.match(match.string, match.start("v"))):
        return f"commit {checkout['commit']}" if checkout["commit"] else ""
    version = (parts["v"] or parts["wheel"]).rstrip(".,")
    return f"RCCL {version}" if parts.get("rccl") else version
