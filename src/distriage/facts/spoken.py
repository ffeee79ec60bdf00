"""What a reporter speaks of, and what a report states not to be there. Pure.

A question is worth asking only where the report is about its subject.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# Searched for in the reporter's own words: every form and listing speaks of GPUs.
_SUBJECTS: Mapping[str, re.Pattern[str]] = {
    "device": re.compile(
        r"(?<!tensorflow[-_])gpu|cuda|nvidia|rocm|gaudi|ascend|(?<![a-z])(?:[thnx]pus?|mps|nccl)(?![a-z])|显[卡存]"
    ),
    "cuda": re.compile(r"cuda|cudnn|nvcc|rocm|(?<![a-z])hip(?![a-z])"),
    "nccl": re.compile(r"nccl|rccl"),
    "nodes": re.compile(r"nodes|hosts|machines|servers|hostfile|multi-?node"),
    "version": re.compile(r"version[^\n\d]{0,20}\d+\.\d|(?<![\w.])v\d{1,3}\.\d"),  # of whatever
    # Which source it is: a branch's newest, a commit, or a line that GitHub quotes.
    "source": re.compile(
        r"(?<!\w)(?:on|in|at|from|with|against|the|latest|current) (?:latest |current )?(?:master|main)"
        r"(?![\w-]| (?:node|port|rank|proc|addr|worker))"
        r"|(?<!\w)nightly|(?<!\w)commit[^\n]{0,20}?(?<!\w)[0-9a-f]{7}|ci fail"
        r"|(?<!\w)lines? \d{1,5}(?: to \d{1,5})?\s{1,2}in\s{1,2}[0-9a-f]{7}(?!\w)"
    ),
    "pickling": re.compile(r"pickl"),
    "notebook": re.compile(r"notebook|jupyter|colab|spark"),  # no command launches the processes
    "container": re.compile(r"docker"),
    "error": re.compile(r"error|exception|traceback|crash|fail|abort|segfault|broken"),
}
_PERMALINK = re.compile(r"/(?:blob|tree)/[0-9a-f]{40}/")
_NO_ERROR = re.compile(
    r"silent|(?:\bno|without)(?: any| an)? (?:error|exception|traceback)|n[o']t (?:raise|throw|fail)"
)
_NONE = r"[ \t]{0,20}(?:n/?a\b|none\b|null\b|no\b|not? |false\b|-[ \t]*(?:\n|\Z))"
_HEADING = (
    r"(?: (?:models?|types?|count|number|available|used|memory|and|configuration|versions?|runtime"
    r"|\([^()\n]{0,40}\))){0,5}[\"']?[ \t]?[:=]"
)
# Stated not to be there: in a form's field, in a call's argument, in prose.
_ABSENT: Mapping[str, re.Pattern[str]] = {
    "device": re.compile(
        rf"(?<![a-z])(?:gpus?|cuda)(?: is)? available[ \t]?:{_NONE}|(?<![a-z])gpus?{_HEADING}{_NONE}"
        rf"|(?<=\n)[ \t*-]{{0,8}}available[ \t]?:{_NONE}"  # Lightning's listing
        r"|gpus[\"']?[ \t]?[:=][ \t]?0(?![\w.,])|(?<!\d)0/0 gpus|registered devices: \[cpu"
        r"|\bno (?:cuda[ -](?:capable )?devices?|gpus?(?! (?:memory|util|usage|error|kernel|p2p)))"
        r"|\bwithout (?:a |any )?gpus?\b|\bcpu[- ]?only|tensorflow-cpu|cuda used to build pytorch: none"
    ),
    "cuda": re.compile(rf"(?<![a-z])cuda(?:/cudnn)?{_HEADING}{_NONE}"),
    "nccl": re.compile(rf"(?<![a-z])nccl{_HEADING}{_NONE}"),
}


def subjects_of(own: str, words: str) -> frozenset[str]:
    """What a report speaks of. An error only where it speaks of no silent one.

    Args:
        own: The reporter's own words, folded: without the form's and without listings.
        words: Title and body, folded.
    """
    found = {subject for subject, pattern in _SUBJECTS.items() if pattern.search(own)}
    if _PERMALINK.search(words):
        found.add("source")
    return frozenset(found - {"error"} if _NO_ERROR.search(own) else found)


def absent_from(words: str) -> frozenset[str]:
    """Of `device`, `cuda` and `nccl` those that a folded text states not to be there."""
    return frozenset(subject for subject, pattern in _ABSENT.items() if pattern.search(words))
