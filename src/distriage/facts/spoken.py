"""A reporter's subjects, and whether a report denies a device. Pure.

A question is worth asking only if the report is about its subject.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from distriage.base.texts import regex
from distriage.facts.scanning import any_of, first_at, matches_at, places

# Searched for in the reporter's own words, since every form and listing mentions GPUs. For each, the beginnings of a
# match, and the pattern; None: the words suffice.
_SUBJECTS: Mapping[str, tuple[tuple[str, ...], re.Pattern[str] | None]] = {
    "device": (
        ("gpu", "cuda", "nvidia", "rocm", "gaudi", "ascend", "tpu", "hpu", "npu", "xpu", "mps", "nccl", "显卡", "显存"),
        regex(
            r"(?<!tensorflow[-_])gpu|cuda|nvidia|rocm|gaudi|ascend(?!ing)|显|(?<![a-z])(?:[thnx]pus?|mps|nccl)(?![a-z])"
        ),
    ),
    "nccl": (("nccl", "rccl"), None),
    # Which source it is: a branch's newest, as with the project's own tests, a commit, or a line that GitHub quotes.
    "source": (
        (
            *("nightly", "commit", "line", "ci fail", "cd pipeline", "failing ", "up-to-date with", "up to date with"),
            *("master", "main", "today", "主分支", "mainline", "source install", "jenkins", "codebase", "clone"),
        ),
        regex(
            r"(?<!\w)nightly|(?<!\w)commit[^\n]{0,20}?(?<!\w)[0-9a-f]{7}|c[id] (?:fail|pipeline)"
            r"|failing [^\n]{0,40}?test|(?<!\w)lines? \d{1,5}(?: to \d{1,5})?\s{1,2}in\s{1,2}[0-9a-f]{7}(?!\w)"
            r"|up.to.date with the master|主分支|(?:master|main)[`'\"*]{0,2} of today|today's (?:master|main)"
            r"|(?<=latest )mainline|(?<=merged )(?:master|main) into|source install(?!ation)|jenkins"
            r"|codebase(?<=(?:latest|newest) codebase)|(?:cloned?|cloning)\b[^\n]{0,60}\btoday"
        ),
    ),
    "error": (
        (
            *("error", "exception", "traceback", "crash", "fails", "failed", "failing", "abort", "assertion"),
            *("side assert", "broken"),
            *("segfault", "segmentation fault", "core dump", "sigsegv", "sigabrt", "sigbus", "sigill"),
        ),
        # A worker that failed is restarted, and a memory error that was seen is measured.
        regex(
            r"(?<!\ba memory )(?<!by one )(?<!by-one )error|(?<!store an )(?<!raise an )(?<!throw an )exception"
            r"|traceback|crash|fail(?:s|ing)|abort|assertion"
            r"|side assert|broken|seg|core|sig|failed(?! (?:worker|node|process|rank|task|machine|actor|pod)s?\b)"
        ),
    ),
}
_PERMALINK = regex(
    r"/(?:blob|tree|commits?)/[0-9a-f]{7,40}(?![\w-])"
    r"|(?<!\w)(?:commit|version)[: `]{1,3}(?=[a-f]{0,39}\d)[0-9a-f]{7,40}(?!\w)"
    r"|[(@`](?=\w{0,6}\d)(?=\w{0,6}[a-f])[0-9a-f]{7,10}[),`]|\[x\][^\n]{0,60}up.to.date with the master"
)
# Branches: "the `main` branch", "on main it hangs", "tip of master". "Main" is an adjective in "the main reason" and
# "on main thread", a function in "in main" and "from main import x"; "master" is else but a process.
_MAIN_BEHIND = (
    r"(?=\s(?:builds?|version|install|as|at|but|by|does|fails|for|from|hangs|has|i|if|in|is|it|now|of|on|since|still|that"
    r"|the|this|today|too|we|when|while|with|[a-z]{2,6}n't|[0-9a-f]{7,40})\b|[ \t\r]?(?:[,;:!?)\n]|\Z)|\.(?!\w)|\s[(-])"
)
_BRANCH = regex(
    r"(?<![\w.-])(?:(?:master|main)[\"'`*]{0,2}\s(?P<noun>branch|wheels?)\b"
    rf"|(?<!\bin )(?<!\bthe )main[\"'`*]{{0,2}}{_MAIN_BEHIND}"
    r"|master(?![\w-]| (?:node|port|rank|proc|addr|worker)))"
)
_BRANCH_BEFORE = regex(
    r"(?:\b(?:the|on|at|from|with|to|against|in|(?:latest|current|newest|recent)(?: [\w-]{1,20})?|(?:tip|top|head) of)"
    r"\s|最新\s|\b(?:origin|upstream)/)[\"'`*]{0,2}\Z"
)
_BRANCH_BEFORE_CHARS = 40  # at most
_BRANCH_ALONE = regex(r"(?:\A|\n)(?:main|master|nightly)(?:,[^\n]{0,30})?[ \t\r.]{0,9}(?=\n|\Z)")  # on its line
_NO_ERROR = (
    ("silent", "no ", "without ", "n't ", "not "),
    regex(
        r"silent|(?:(?<!\w)no|without)(?: any| an)?(?: further| other| more)?(?: warnings?(?: or|,))?"
        r" (?:error|exception|traceback)"
        r"|without a (?:word|warning|message)|not? any error|n[o']t (?:raise|throw|fail)"
    ),
)
# "no" and "not" only as the whole value: "GPU memory: not released after step" denies nothing.
_NONE = (
    r"[ \t]{0,20}(?:(?:n[/.]?a|none|null|false)(?!\w| of)"
    r"|(?:no(?: cuda| gpus?)?|not (?:used|using|available|applicable|relevant|related|required|supported)"
    r"(?: (?:cuda|gpus?))?|-)(?=[ \t\r]{0,20}(?:[\n,()}\].;]|\Z)))"
)
_HEADING = (
    r"(?: (?:models?|types?|count|number|available|used|memory|and|configuration|versions?|runtime"
    r"|\([^()\n]{0,40}\))){0,5}[\"']?[ \t]?[:=]"
)
# In a form's field, in a call's argument, in prose; with the beginnings of a match.
_NO_DEVICE = (
    (
        *("gpu", "cuda", "use_cuda", "available", "0/0 gpus", "registered devices", "no ", "without ", "cpu"),
        *("tensorflow-cpu", "ddp_cpu", "--device", "device cpu"),
    ),
    regex(
        rf"(?:gpus?|cuda)(?: is)? available[ \t]?:{_NONE}|gpus?{_HEADING}{_NONE}"
        rf"|(?<=[\n *-])(?<![thx]pu )available[ \t]?:{_NONE}"  # Lightning's listing
        r"|gpus[\"']?[ \t]?[:=][ \t]?0(?![\w.,])|(?<!\d)0/0 gpus|registered devices: \[cpu"
        r"|(?<!\w)no (?:cuda[ -](?:capable )?devices?|gpus?(?! (?:memory|util|usage|error|kernel|p2p|resources)))"
        r"|without (?:a |any )?gpus?\b|(?<!\w)cpu[- ]?only|(?:(?<=\] )|(?<=\]: ))cpu backend\b|--device[ =]cpu\b"
        r"|(?<=[,;\n] )device cpu(?=[.,;\n]|\Z)|tensorflow-cpu|cuda used to build pytorch[ \t]{0,20}: none"
        r"|use_cuda=(?:0|off)|(?<!\w)ddp_cpu(?!\w)"
    ),
)
# The answer of a form, not what torch was built with
_DEVICE_ANSWERED = regex(r"(?:\A|\n)[ \t*\d.-]{0,6}(?:cuda|nccl) version:[ \t]{0,9}v?\d")
# "TPU available: False", "using: 0 TPU cores" and "it works on TPU" name none in use.
_OTHER_DEVICE = (
    ("tpu", "npu", "hpu", "xpu", "ascend", "hccl", "oneccl", "gaudi", "neuron"),
    regex(
        r"(?<![\w-])(?<!0 )(?<!works on )(?<!pytorch )"
        r"(?:[tnhx]pus?|ascend|hccl|oneccl|gaudi|neuron ?cores?)(?![\w-]|\?| available)"
    ),
)
# Words for an absent thing in a form: "NCCL version: N/A", "GPU models and configuration: No CUDA"; a dash may be no
# answer. For torch's build "N/A" means that it could not be imported.
_ABSENT = regex(
    r":[ \t]{0,20}(?:(?:n[/.]?a|none)(?: ?\([^()\n]{0,40}\))?|no (?:cuda|gpus?)|not? applicable|not used)"
    r"\.?[ \t\r]{0,20}(?=\n|\Z)"
)
_ABSENT_LABEL = regex(
    r"[ \t>*#.\d-]{0,12}(?P<name>cuda|nccl|nvidia driver|gpu)s?(?:/cudnn| used to build pytorch(?![ \t]{0,20}:\s?n/))?"
    r"(?:,? ?(?:models?|types?|versions?|build|runtime|and|configuration|memory|if used|\([^()\n]{0,40}\))){0,5}"
    r"(?:\*\*)?[ \t]{0,20}:"
)
_ABSENT_FACTS = {"cuda": ("cuda",), "nccl": ("nccl",), "nvidia driver": ("driver",), "gpu": ("gpu_model", "gpu_count")}


def subjects_of(own: str, words: str) -> frozenset[str]:
    """A report's subjects. An error counts only without mention of a silent one.

    Args:
        own: The reporter's own words, folded: without the form's and without listings.
    """
    found = {subject for subject, (starts, pattern) in _SUBJECTS.items() if _stands(starts, pattern, own)}
    if _PERMALINK.search(words) or _names_branch(own):
        found.add("source")
    return frozenset(found - {"error"} if _stands(*_NO_ERROR, own) else found)


def _names_branch(own: str) -> bool:
    return _BRANCH_ALONE.search(own) is not None or any(
        branch["noun"] or _BRANCH_BEFORE.search(own, max(0, branch.start() - _BRANCH_BEFORE_CHARS), branch.start())
        for branch in matches_at(_BRANCH, own, places(("main", "master"), own))
    )


def names_cpu_only(own: str, words: str) -> bool:
    """Whether a job runs on processors alone: the reporter says so, or speaks of Gloo and of no device.

    Args:
        own: The reporter's own words, folded.
        words: Listings included.
    """
    if says_no_device(words):
        return True
    return "gloo" in own and not (_stands(*_SUBJECTS["device"], own) or _DEVICE_ANSWERED.search(words))


def says_no_device(words: str) -> bool:
    """Whether a folded text denies a GPU."""
    return _stands(*_NO_DEVICE, words)


def names_other_device(words: str) -> bool:
    """Whether a folded text speaks of accelerators without CUDA, such as TPUs, that may be in use."""
    return _stands(*_OTHER_DEVICE, words)


def _stands(starts: tuple[str, ...], pattern: re.Pattern[str] | None, text: str) -> bool:
    if pattern is None:
        return any_of(starts, text)
    return first_at(pattern, text, places(starts, text)) is not None


def absent_things(words: str) -> set[str]:
    """The things a form says are absent."""
    found: set[str] = set()
    for none in _ABSENT.finditer(words):
        begin = words.rfind("\n", 0, none.start()) + 1
        label = _ABSENT_LABEL.match(words, begin)
        if label and label.end() == none.start() + 1:
            found.update(_ABSENT_FACTS[label["name"]])
    return found
