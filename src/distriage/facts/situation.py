"""Where a report's job ran, as far as advice depends on it: device or system, training or inference. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Final

from distriage.base.texts import folded, regex, shortened
from distriage.facts.environment import EnvironmentFacts
from distriage.facts.needs import seen_in
from distriage.facts.projects import PYTORCH, Projects, What, projects
from distriage.facts.scanning import any_of, first_at, places
from distriage.facts.spoken import says_no_device, subjects_of
from distriage.segments import Segments


class Platform(StrEnum):
    """Decides which commands exist: a family of devices, or a system with few of them."""

    NVIDIA = "nvidia"
    ROCM = "rocm"
    NPU = "npu"
    TPU = "tpu"
    HPU = "hpu"
    XPU = "xpu"
    MACOS = "macos"
    WINDOWS = "windows"
    CPU = "cpu"  # processes that compute without a device


_OF_SEVERAL = {"several", "ranks", "nodes", "nccl", "process-group"}  # invisible to one process
_SYSTEMS = frozenset({Platform.MACOS, Platform.WINDOWS})
# Names that only such a device has. `torch.utils.collect_env` names ROCm, HIP and XPU on any machine.
_WORDS: Mapping[Platform, tuple[str, ...]] = {
    Platform.ROCM: ("rocm/", " hip error", "hiperror", " hip out of memory", "amdgpu", "amd instinct", "radeon"),
    Platform.NPU: ("torch_npu", "torch-npu", "vllm-ascend", "vllm_ascend", "npu-smi", "hccl", "ascend npu", "昇腾"),
    Platform.TPU: ("libtpu", "tpu v", "tpu-v", "tpu pod", "cloud tpu", "pytorch/xla", " torch_xla", "torch-xla"),
    Platform.HPU: ("habana", "gaudi", "synapseai", "hl-smi"),
    Platform.XPU: ("xpu-smi", "intel_extension_for_pytorch", "intel-extension-for-pytorch", "ponte vecchio"),
}
ATTACHMENT: Final = r"github\.com/(?:user-attachments|[\w.-]{1,40}/[\w.-]{1,100})/files/\d{1,20}/"
_ATTACHED_LISTING = regex(
    r"\[[\w.-]{0,60}(?<![a-z])(?:collect)?env(?:ironment)?(?![a-z])[\w.-]{0,60}\.(?:txt|log|md|json|ya?ml)\]"
    rf"\(https://{ATTACHMENT}"
)
_IMAGE = regex(r"nvidia/(?P<own>nemo)?[\w-]*:v?2\d\.\d\d|pytorch:\d\d\.\d\d-py3")  # its tag tells what is in it
_MODELS: Mapping[Platform, tuple[str, ...]] = {  # beginnings of their names
    Platform.ROCM: ("MI", "RADEON", "RX "),
    Platform.NPU: ("ASCEND", "910"),
    Platform.TPU: ("TPU",),
    Platform.HPU: ("GAUDI",),
    Platform.XPU: ("MAX",),
    Platform.MACOS: ("APPLE", *(f"M{generation} " for generation in range(1, 6))),
}
_TORCH_NPU = regex(r"torch[_-]npu[\s:=v版本]{0,8}\d")  # has PyTorch's number

_LIBRARY_GAP = r"[ \t(:=v-]{0,8}(?:version)?(?: \(use command below\))?[ \t:=v-]{0,8}\d"
# Horovod's form; the library's version is the next field.
_LIBRARY_FIELD = regex(r"(?<!\w)framework[ \t]?:(?:[ \t]?\([^()\n]{0,80}\))?(?P<said>[^\n]{0,60})")
_LIBRARY_FIELD_VERSION = regex(r"(?<!\w)framework version[ \t]?:[ \t'\"`]{0,4}v?\d")
# Between a product and its release, and words before a release without a name.
_FILLER = (
    r"[\s:=v`\"'*(,.-]|version|images?\b|with\b|tag\b|release|is\b|was\b|at\b|on\b|build\b|from\b|installed|openai\b"
    r"|docker\b"
)
_NAMELESS_STARTS = ("release", "update", "upgrad", "image", "tag ", "branch")
_NAMELESS_RELEASE = regex(
    r"(?<![\w-])(?:release|update|upgrad(?:e|ed|ing)|image|tag|branch)(?: (?:from|to|of|with|tag|version))?"
    r"[ :=`]{1,3}v?\d{1,2}\.[\dx]"
)
_NUMBER = regex(  # a release without any word beside it
    r"(?:\A|\n|\(|\b(?:in|on|with|from|to|since|after|using|at|than|until|before|is|was|and|the|using version) )"
    r"v?\d{1,3}\.\d{1,3}\.\d{1,3}(?!\w|\.\d)"
    r"|(?:[(\[]|\b(?:in|on|version) )v\.?\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?![\w-]|\.\d)"
)
# Perhaps the product's: a commit, a build, a release before the first, the newest; in a title any number.
_ANY_RELEASE = regex(
    r"\b(?:alpha|beta|rc)[-. ]?\d|\bb\d{4,5}\b|(?<![\w/])(?=[a-f]{0,39}\d)(?=\d{0,39}[a-f])[0-9a-f]{7,40}(?!\w)"
    r"|\b(?:latest|newest|current|recent|main|master|head|develop)\s(?:\w{1,20}\s){0,2}"
    r"(?:version|release|branch|build|commit|master|main)s?\b"
    r"|\b(?:latest|newest|recent|head|develop)\s(?:(?:docker\s)?image|code|state|package)s?\b"
    r"|\b(?:current|main|master)\s(?:image|package)s?\b"
    r"|\bver(?:sion)?\s?:?\s(?:newest|latest)\b|\bversion==\d|最新(?:的?代码|的?版)"
    r"|\bbranch(?:es)?\s?(?:[`'\"]|_?\((?:main|master)\b)|\bpr-\d{3,6}\b"
    r"|\b(?:pr|pull request)\b[^\n.]{0,60}#\d{3,6}|/pull/\d{2,6}"
    r"|git clone [^\n]{1,200}\n[^`]{0,200}(?:install|setup\.py)"
    r"|(?:(?:\A|\n|[,;]\s)|\b(?:and|both|or|on|of|vs) )(?:(?:the )?main|master)"
    r"(?=\s?(?:[,.;)\n]|\Z)| (?:is|fails|works|too)\b)"
    r"|\b(?:running|using|build|version)\s(?:[\w.-]{1,30}\s)?#\d{3,6}"
    r"|\bnightly\b|\b(?:from|pull(?:ed|ing)?|on|at) (?:(?:the )?main|master)\b"
    r"(?! (?:gpu|host|loop|machine|node|process|rank|server|thread)\b)"
)
_IN_TITLE = regex(r"(?<![a-z])v\d|\b(?:in|on|with|from|to|since|after|using|at|until|version) v?\d{1,3}\.\d")
_PRINTED = regex(r"\.(?:__)?version[^\n]{0,40}\n[^\n]{0,40}\d\.\d")  # "print(tf.VERSION)" and its output
_FIRST_CHARS = 400
_VERSION_FIELD = regex(r"\W*(?:[\w.-]{1,30} ){0,3}(?:versions?|release|commit|build)(?:[ /(].{0,60})?\W*")
_FILLED = regex(r"\d|\b(?:main|master|nightly|latest)\b", re.I)
# The choices of a form: "(TensorFlow, Keras, PyTorch, MXNet)", "(Python version, TensorFlow version, OS)".
_CHOICES = r"\((?=[^()\d\n]{0,99},)[^()\d\n]{0,60}tensorflow[^()\d\n]{0,60}\)"
# A Python environment named like a library, which says nothing about the job: before a prompt, or as AWS names them.
_PYTHON_ENVIRONMENT = r"\([\w.-]{1,40}\)\s{0,2}(?=[\w.-]{1,40}@|[$#%]\s)|(?:tensorflow2?|pytorch|mxnet)_p\d{2,3}"
_NO_NAMES = regex(f"{_CHOICES}|{_PYTHON_ENVIRONMENT}")


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a job ran.

    Attributes:
        library: That it computes with, according to the framework or the reporter.
        serving: It serves a model rather than training one; before `at`, as far as the framework tells.
        stated: Facts that the report states under another name (CANN's version as `cuda`, the library's as `torch`), or
            says are absent.
        server: The report is about a server of language models.
        one_process: A single process on a single device shows it.
        explained: The reporter explains the cause, according to `explains`.
        seen: Needs of checks and questions that are met, from `seen_in`.
        subjects: The reporter's subjects, from `subjects_of`.
        checkable: A check is likely to be found useful; the classifier's scores tell.
    """

    platform: Platform = Platform.NVIDIA
    library: str | None = None
    serving: bool = False
    stated: frozenset[str] = frozenset()
    server: bool = False
    one_process: bool = False
    explained: bool = False
    seen: frozenset[str] = frozenset()
    subjects: frozenset[str] = frozenset()
    checkable: bool = True

    def at(self, means: Set[str], *, several: bool | None) -> Situation:
        """The situation, completed with labels that are sure enough to act on.

        Args:
            means: Meanings of the report's labels (`Label.means`); suggestions will do.
            several: Whether several processes are involved; None if unsure.
        """
        serving = "serving" in means or (self.serving and "training" not in means)
        seen = {*self.seen}
        if serving or "trains" in seen:
            seen.add("serving" if serving else "training")
        if serving and self.server:
            seen.add("server")
        if several:
            seen.add("several")
        elif several is False:
            seen -= _OF_SEVERAL
        return replace(self, serving=serving, one_process=several is False, seen=frozenset(seen))


ORDINARY: Final = Situation()


def situation_of(facts: EnvironmentFacts, segments: Segments, title: str, body: str, own: str) -> Situation:
    """The situation by a report's facts and words. Never raises; linear in the input.

    A name in the text counts only if no fact mentions NVIDIA: reports compare devices.

    Args:
        own: The reporter's own words, without the form's and without listings of the environment.
    """
    words, own = folded(shortened(f"{title}\n{body}")), folded(own)
    platform = _platform(facts, words)
    stated = {"torch"} if platform is Platform.NPU and _TORCH_NPU.search(words) else set()
    library, version_stated = _library_of(facts, folded(title), words, own)
    subjects = set(subjects_of(own, words))
    no_device = facts.on_cpu
    if platform not in _SYSTEMS | {Platform.NVIDIA, Platform.CPU}:
        subjects.add("device")
    elif no_device or (facts.gpu_model is None and (says_no_device(words) or facts.absent & {"cuda", "gpu_model"})):
        no_device = True
        subjects -= {"device", "nccl"}  # denied
    elif facts.gpu_model or facts.gpu_count:
        subjects.add("device")
    if _ATTACHED_LISTING.search(words):
        stated |= {"framework_version", "torch", "nccl"}
    if image := _IMAGE.search(words):
        stated |= {"torch", "nccl", *(["framework_version"] if image["own"] else [])}
    if version_stated or first_at(_PRINTED, words, places((".version", ".__version"), words)):
        stated.add("torch")
    loose = f"{own}\n{words[: len(segments.title) + _FIRST_CHARS]}"
    if facts.framework_version is None and (
        _says_release(facts.framework, own)
        or _answers_version(segments)
        or _IN_TITLE.search(folded(segments.title)) is not None
        or _ANY_RELEASE.search(loose) is not None
    ):
        stated.add("framework_version")
    return Situation(
        platform,
        library=library,
        serving=_is_server(facts.framework),
        stated=frozenset(stated),
        server=_names_server(facts.framework, words),
        subjects=frozenset(subjects),
        seen=seen_in(facts, segments, platform, library, subjects, no_device=no_device),
    )


def _is_server(framework: str | None) -> bool:
    return projects().is_a(framework, What.SERVER)


def _names_server(framework: str | None, words: str) -> bool:
    """Whether a report is about a server of models, or names one and no known framework."""
    servers = (spelling for spelling, name in projects().names.items() if _is_server(name))
    return _is_server(framework) or (framework not in projects().all and any_of(servers, words))


def _platform(facts: EnvironmentFacts, words: str) -> Platform:
    model, system = (facts.gpu_model or "").upper(), (facts.os or "").casefold()
    if facts.on_cpu:
        return Platform.CPU
    if facts.rocm is not None:
        return Platform.ROCM
    for platform, beginnings in _MODELS.items():
        if model.startswith(beginnings):
            return platform
    nvidia = bool(model) or facts.cuda is not None or facts.driver is not None
    if not nvidia:
        for platform, names in _WORDS.items():
            if any_of(names, words):
                return platform
    if system.startswith("windows") and "wsl" not in words:
        return Platform.WINDOWS
    if nvidia:
        return Platform.NVIDIA
    if system.startswith("mac"):
        return Platform.MACOS
    project = projects().all.get(facts.framework or "")
    return Platform(project.platform) if project and project.platform else Platform.NVIDIA


def _library_of(facts: EnvironmentFacts, title: str, words: str, own: str) -> tuple[str | None, bool]:
    """The library, None if neither the framework nor the reporter tells; and whether its version is stated.

    Args:
        title: Folded; it comes before the rest.
        words: Title and body, folded.
        own: The reporter's own words, folded: a listing of packages names unused libraries.
    """
    name = projects().library_of(facts.framework)
    if name is None:
        field = first_at(_LIBRARY_FIELD, words, places(("framework",), words))
        said = (field["said"] if field else "", title, _NO_NAMES.sub("", own))
        name = next(filter(None, map(_named, said)), None) or (PYTORCH if facts.torch else None)
    if name is None:
        return None, False
    beside = facts.torch is not None if name == PYTORCH else _states_version(name, words)
    return name, beside or first_at(_LIBRARY_FIELD_VERSION, words, places(("framework version",), words)) is not None


def _states_version(library: str, words: str) -> bool:
    spellings = projects().all[library].at_home
    called = "|".join(map(re.escape, spellings))
    version = re.compile(rf"(?<!\w)(?:{called})(?:[-_][cg]pu)?{_LIBRARY_GAP}")
    return first_at(version, words, places(spellings, words)) is not None


def _answers_version(segments: Segments) -> bool:
    """Whether the form's field for the version is filled, however it is written."""
    return any(
        _VERSION_FIELD.fullmatch(folded(heading)) and _FILLED.search(answer)
        for heading, answer in segments.answers.items()
    )


def _says_release(framework: str | None, own: str) -> bool:
    """Whether the reporter states a release in any form: "Ray 2.5x", "the vLLM image with 0.8", "the update to 1.7"."""
    project = projects().all.get(framework or "")
    spellings = (*project.names, *project.at_home, project.name.lower()) if project else ()
    called = "|".join(map(re.escape, spellings))
    release = re.compile(rf"(?<![\w-])(?:{called})(?:{_FILLER}){{1,16}}\d{{1,3}}\.[\dx]")
    return bool(spellings) and (
        first_at(release, own, places(spellings, own)) is not None
        or first_at(_NAMELESS_RELEASE, own, places(_NAMELESS_STARTS, own)) is not None
        or _NUMBER.search(own) is not None
    )


def _named(text: str) -> str | None:
    """The library that a text names; PyTorch before others, since a reporter who mentions it computes with it."""
    return next((name for name, pattern in _mentions(projects()) if pattern.search(text)), None)


@cache
def _mentions(known: Projects) -> Sequence[tuple[str, re.Pattern[str]]]:
    return [(project.name, re.compile(project.mentions)) for project in known.all.values() if project.mentions]
