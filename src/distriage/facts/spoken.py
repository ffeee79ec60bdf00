"""A reporter's subjects, including an installation, and whether a report denies a device. Pure.

A question is worth asking only if the report is about its subject.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from distriage.facts.scanning import any_of, first_at, matches_at, places

# Searched for in the reporter's own words, since every form and listing mentions GPUs. For each, the beginnings of a
# match, and the pattern; None: the words suffice.
_SUBJECTS: Mapping[str, tuple[tuple[str, ...], re.Pattern[str] | None]] = {
    "device": (
        ("gpu", "cuda", "nvidia", "rocm", "gaudi", "ascend", "tpu", "hpu", "npu", "xpu", "mps", "nccl", "显卡", "显存"),
        re.compile(
            r"(?<!tensorflow[-_])gpu|cuda|nvidia|rocm|gaudi|ascend(?!ing)|显|(?<![a-z])(?:[thnx]pus?|mps|nccl)(?![a-z])"
        ),
    ),
    "cuda": (("cuda", "cudnn", "nvcc", "rocm", "hip"), re.compile(r"cud|nvcc|rocm|(?<![a-z])hip(?![a-z])")),
    "nccl": (("nccl", "rccl"), None),
    "nodes": (("nodes", "hosts", "machines", "servers", "hostfile", "multinode", "multi-node"), None),
    "version": (("version",), re.compile(r"version[^\n\d]{0,20}\d+\.\d")),  # of anything
    # Which source it is: a branch's newest, as with the project's own tests, a commit, or a line that GitHub quotes.
    "source": (
        (
            *("nightly", "commit", "line", "ci fail", "cd pipeline", "failing ", "up-to-date with", "up to date with"),
            *("master", "main", "today", "主分支"),
        ),
        re.compile(
            r"(?<!\w)nightly|(?<!\w)commit[^\n]{0,20}?(?<!\w)[0-9a-f]{7}|c[id] (?:fail|pipeline)"
            r"|failing [^\n]{0,40}?test|(?<!\w)lines? \d{1,5}(?: to \d{1,5})?\s{1,2}in\s{1,2}[0-9a-f]{7}(?!\w)"
            r"|up.to.date with the master|主分支|(?:master|main)[`'\"*]{0,2} of today|today's (?:master|main)"
        ),
    ),
    "notebook": (  # no command launches the processes
        ("notebook", "jupyter", "colab", "spark"),
        re.compile(r"notebook|jupyter|colab|(?<!dgx[ _-])spark"),  # a DGX Spark is a machine
    ),
    "container": (("docker",), None),
    "error": (
        (
            *(
                "error",
                "exception",
                "traceback",
                "crash",
                "fails",
                "failed",
                "failing",
                "abort",
                "assertion",
                "side assert",
                "broken",
            ),
            *("segfault", "segmentation fault", "core dump", "sigsegv", "sigabrt", "sigbus", "sigill"),
        ),
        # A worker that failed is restarted, and a memory error that was seen is measured.
        re.compile(
            r"(?<!\ba memory )(?<!by one )(?<!by-one )error|exception|traceback|crash|fail(?:s|ing)|abort|assertion"
            r"|side assert|broken|seg|core|sig|failed(?! (?:worker|node|process|rank|task|machine|actor|pod)s?\b)"
        ),
    ),
}
_PERMALINK = re.compile(
    r"/(?:blob|tree|commits?)/[0-9a-f]{7,40}(?![\w-])|(?<!\w)commit[: `]{1,3}[0-9a-f]{7,40}(?!\w)"
    r"|[(@`](?=\w{0,6}\d)(?=\w{0,6}[a-f])[0-9a-f]{7,10}[),`]|\[x\][^\n]{0,60}up.to.date with the master"
)
# Branches: "the `main` branch", "on main it hangs", "tip of master". "Main" is an adjective in "the main reason" and
# "on main thread", a function in "in main" and "from main import x"; "master" is else but a process.
_MAIN_BEHIND = (
    r"(?=\s(?:builds?|version|install|as|at|but|by|does|fails|for|from|hangs|has|i|if|in|is|it|now|of|on|since|still|that"
    r"|the|this|today|too|we|when|while|with|[a-z]{2,6}n't|[0-9a-f]{7,40})\b|[ \t\r]?(?:[,;:!?)\n]|\Z)|\.(?!\w)|\s[(-])"
)
_BRANCH = re.compile(
    r"(?<![\w.-])(?:(?:master|main)[\"'`*]{0,2}\s(?P<noun>branch|wheels?)\b"
    rf"|(?<!\bin )(?<!\bthe )main[\"'`*]{{0,2}}{_MAIN_BEHIND}"
    r"|master(?![\w-]| (?:node|port|rank|proc|addr|worker)))"
)
_BRANCH_BEFORE = re.compile(
    r"(?:\b(?:the|on|at|from|with|to|against|in|(?:latest|current|newest|recent)(?: [\w-]{1,20})?|(?:tip|top|head) of)"
    r"\s|最新\s|\b(?:origin|upstream)/)[\"'`*]{0,2}\Z"
)
_BRANCH_BEFORE_CHARS = 40  # at most
_NO_ERROR = (
    ("silent", "no ", "without ", "n't ", "not "),
    re.compile(
        r"silent|(?:(?<!\w)no|without)(?: any| an)?(?: warnings? or)? (?:error|exception|traceback)|not? any error"
        r"|n[o']t (?:raise|throw|fail)"
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
        "gpu",
        "cuda",
        "use_cuda",
        "available",
        "0/0 gpus",
        "registered devices",
        "no ",
        "without ",
        "cpu",
        "tensorflow-cpu",
    ),
    re.compile(
        rf"(?:gpus?|cuda)(?: is)? available[ \t]?:{_NONE}|gpus?{_HEADING}{_NONE}"
        rf"|(?<=[\n *-])(?<![thx]pu )available[ \t]?:{_NONE}"  # Lightning's listing
        r"|gpus[\"']?[ \t]?[:=][ \t]?0(?![\w.,])|(?<!\d)0/0 gpus|registered devices: \[cpu"
        r"|(?<!\w)no (?:cuda[ -](?:capable )?devices?|gpus?(?! (?:memory|util|usage|error|kernel|p2p)))"
        r"|without (?:a |any )?gpus?\b|(?<!\w)cpu[- ]?only|tensorflow-cpu|cuda used to build pytorch: none"
        r"|use_cuda=(?:0|off)"
    ),
)


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
    return any(
        branch["noun"] or _BRANCH_BEFORE.search(own, max(0, branch.start() - _BRANCH_BEFORE_CHARS), branch.start())
        for branch in matches_at(_BRANCH, own, places(("main", "master"), own))
    )


def names_cpu_only(own: str, words: str) -> bool:
    """Whether a job runs on processors alone: the reporter says so, or speaks of Gloo and of no device.

    Args:
        own: The reporter's own words, folded.
        words: Listings included.
    """
    return says_no_device(words) or ("gloo" in own and not _stands(*_SUBJECTS["device"], own))


def says_no_device(words: str) -> bool:
    """Whether a folded text denies a GPU."""
    return _stands(*_NO_DEVICE, words)


def _stands(starts: tuple[str, ...], pattern: re.Pattern[str] | None, text: str) -> bool:
    if pattern is None:
        return any_of(starts, text)
    return first_at(pattern, text, places(starts, text)) is not None


# ---------------------------------------------------------------- an installation
_PIP = ("pip install", "pip3 install", "pip-install")  # and the folder of its downloads
_OTHERWISE = (
    *("setup.py install", "setup.py develop", "setup.py bdist", "docker build", "dockerfile", "docker-images"),
    *("apt-get install", "git checkout", "conda install", "ninja: "),
)
_FRESH = re.compile(
    r"(?<!not in a )(?<!need a )(?<!need i a )(?<!\bno )(?:fresh|clean|new|empty|create) "
    r"(?:conda |virtual |python |docker |-n |--name ){0,2}"
    r"(?:v?env(?!(?:ironment)?s? var)|virtualenv|container|\w{1,40} python)|-m venv|virtualenv "
)
_FRESH_STARTS = ("fresh ", "clean ", "new ", "empty ", "create ", "-m venv", "virtualenv ")
_CODE = re.compile(
    r"torch(?:(?<![\w/.]torch)|(?<=packages/torch))(?![ _-]?lightning|\w)|pytorch(?![ _-]?lightning)|cuda"
    r"|undefined symbol|\.so(?!\w)"
)
_CODE_STARTS = ("torch", "pytorch", "cuda", "undefined symbol", ".so")
_COMPILER = (
    *("compil", "gcc", "g++", "clang", "cmake", "ninja", "nvcc", "ld: ", "building wheel", ".whl", "manylinux"),
    *("from source", "include ", "make: ", "make[", "undefined reference", "not declared", ".h:", ".hpp:", ".cc:"),
    ".cpp:",
    *("no matching distribution", "could not find a version"),
)


def is_without_pip(words: str, own: str) -> bool:
    """Whether another tool than pip installs, or the report does not mention pip."""
    return any_of(_OTHERWISE, own) or not any_of(_PIP, words)


def names_fresh_environment(own: str) -> bool:
    """Whether it is in a dedicated environment."""
    return first_at(_FRESH, own, places(_FRESH_STARTS, own)) is not None


def install_subjects(own: str) -> frozenset[str]:
    """Subjects of an installation: `pytorch` (or native code that may need it), `compiler` (or ready-made wheels)."""
    torch = first_at(_CODE, own, places(_CODE_STARTS, own)) is not None
    return frozenset({*(["pytorch"] if torch else []), *(["compiler"] if any_of(_COMPILER, own) else [])})
