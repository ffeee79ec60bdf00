"""What else a report says that decides which checks make sense: names of tables in `playbooks/elsewhere.toml`. Pure."""

from __future__ import annotations

import re
from collections.abc import Set

from distriage.facts.environment import EnvironmentFacts
from distriage.facts.projects import PYTORCH, What, projects
from distriage.facts.scanning import any_of, first_at, matches_at, places, stands_before
from distriage.facts.spoken import is_without_pip, names_fresh_environment

# Of Python, IPython, Cython, PyTorch's C++, gdb and Java; and pytest's, of which the beginning alone says too little.
_TRACEBACK = ("traceback (", '", line ', ".py in ", ".pyx in ", "frame #", "\n#0 ", "\n#1 ", "\n\tat ")
_PYTEST = re.compile(r"\.py:\d{1,6}: (?:in |\w{1,60}(?:error|exception))")
_PICKLING = (
    *(f"{verb} {what}" for verb in ("cannot", "can't", "can’t", "could not") for what in ("pickle", "serialize")),
    *("picklingerror", "be pickled", "be serialized", "not picklable", "not pickleable"),
)
_ILLEGAL_INSTRUCTION = re.compile(r"(?<!an )illegal instruction")  # CUDA's error has the article
_COLLECTIVES = ("nccl", "gloo", "process_group", "torch.distributed", "ray.train", "torchtrainer")
_CUDA_ERRORS = ("cuda error", "cuda out of memory", "nccl error", "nccl warn")  # a card is there, whatever is denied
_NEWEST = ("main", "master", "nightly")
_ON_MAIN = (  # to search the changes, and no more, is right for who compares with that branch, too
    ("main", "master", "ci fail", "[ci"),
    re.compile(
        r"(?:(?<=\bon )|(?<=\btried )|(?<=\blatest )|(?<=\bcurrent ))(?:main|master)"
        r"(?![\w/-]| (?:node|port|rank|process|thread))|(?<!\w)(?:main|master)[\"'`]? branch"
        r"|(?<!\w)ci fail|\[ci\b(?![^\]\n]{0,60}\]\()"
    ),
)
_MAIN_IN_FORM = (
    ("version",),
    re.compile(
        r"version(?! mismatch)[^\n:]{0,40}:[ *`]{1,4}(?:latest )?(?:main|master)(?![\w/-]| (?:node|rank|thread))"
    ),
)
_UNTRIED = re.compile(r"n[o'’]t (?:yet )?(?:try|tried|test|check)|\[ \]|please")
_NATIVE = (  # a program of C++; its frames, files and libraries stand in the logs of Python's, too
    ("c++", "libtorch", "plasma manager"),
    re.compile(
        r"c\+\+(?<![\w+]c\+\+)(?![\w+]| ?(?:exception|stack|compiler|extension|version))"
        r"|libtorch(?![\w.-]{0,20}\.so|_)|plasma manager"
    ),
)
_PYTHON = (".py", "import ", "pytest")
_SIZES = (  # that must divide one another; a script's `batch` and `DataParallel` are none
    ("batch", "micro", "world", "divi", "parallel", "tp", "pp", "dp"),
    re.compile(
        r"batch[ _-]?size|batch config|micro[ _-]?batch|world[ _-]?size|divisib|divide"
        r"|parallel[ _-](?:size|degree)|(?<!\w)[tpd]p[ =]\d"
    ),
)
# In a title: a server's answer is wrong, and perhaps not its tokens.
_ANSWER = re.compile(
    r"(?:tool|function)[ _-]?call|finish_?reason|reasoning[ _-](?:content|parser)|response_format|\bjson\b"
    r"|logprob|\bn ?[=>] ?\d|\bchunks\b|(?<!\w)(?<!cuda )(?<!side )stream(?:ing|ed|_options)?\b"
)
_TITLE_CHARS = 256  # GitHub allows no more
# A reporter who says how to mend the code is asked for the version alone.
_EXPLAINED = (
    (
        *("should", "fix ", "culprit", "root cause", "introduced "),
        *("causing it to", "probably needs to", "like it needs to"),
    ),
    re.compile(
        r"should (?:probably |gracefully |explicitly |also )?"
        r"(?:fix|handle|skip|throw|raise|allow|state|check|be (?:removed|replaced|changed|renamed))(?![\w?])"
        r"|(?:fix (?:is|would be|should be)|culprit is|root cause is)\b"
        r"(?! (?:still |yet |much |very |highly |really )?"
        r"(?:not\b|un(?:known|clear|certain)|open\b|hard\b|great|nice|good|appreciated|welcome|helpful|needed)"
        r"|\s?[.,;?!]|\s?\Z)"
        r"|causing it to |introduced (?:in|by) (?:#\d|pr |commit)|(?:probably|like it) needs to "
    ),
)
# It is denied, hoped or asked.
_DOUBT = re.compile(r"n[o'’]t\b|\b(?:no|nothing|idea|great|hope|some(?:one|body)|which|what|whether|if)\b")
# A pod that waits for a place; what stands in the events of one that got it, or in its log.
_UNSCHEDULED = ("failedscheduling", "in gang unschedulable", "insufficient nvidia.com/", "insufficient amd.com/")
_SCHEDULED = (
    *("successfully assigned", "started container", "then it ran", "nccl info", "on rank "),
    *_TRACEBACK,
)
_SEVERAL_NODES = (
    *("cluster", "nodes", "machines", "kubernetes", "k8s", "redis_address", "--head"),
    *("head node", "head_node", "worker node"),
)


def traits_of(
    facts: EnvironmentFacts,
    library: str | None,
    title: str,
    words: str,
    own: str,
    subjects: Set[str],
    *,
    no_device: bool,
) -> frozenset[str]:
    """What a report says.

    Args:
        library: As `Situation.library`.
        title: Folded.
        words: Title and body, folded.
        own: The reporter's own words, folded.
        subjects: As `Situation.subjects`.
        no_device: The report says that there is no device.
    """
    framework = facts.framework
    ray_alone = framework == "Ray" and not any_of(_COLLECTIVES, words)
    without_group = ray_alone or framework == "Horovod"
    # Workers of these have a device only where the report speaks of one.
    unspoken = without_group and subjects.isdisjoint(("device", "nccl")) and facts.cuda is None and facts.nccl is None
    without_cuda = (no_device or unspoken) and not any_of(_CUDA_ERRORS, words)
    traits = {
        "answer-format": _ANSWER.search(title[:_TITLE_CHARS]),
        "explained": _says(_EXPLAINED, own, unless=_DOUBT),
        "fresh-environment": names_fresh_environment(own),
        "illegal-instruction": "illegal instruction" in words and _ILLEGAL_INSTRUCTION.search(words),
        "native": (projects().is_native(framework) or _stands(_NATIVE, own)) and not any_of(_PYTHON, words),
        "on-main": facts.framework_version in _NEWEST
        or _says(_ON_MAIN, own, unless=_UNTRIED)
        or _stands(_MAIN_IN_FORM, words),
        "one-node": facts.nodes == 1 or (ray_alone and facts.nodes is None and not any_of(_SEVERAL_NODES, words)),
        "pickling": any_of(_PICKLING, words),
        "pytorch": framework == PYTORCH,
        "ray": ray_alone,
        "unscheduled": any_of(_UNSCHEDULED, words) and not any_of(_SCHEDULED, words),
        "without-cuda": without_cuda,
        "without-horovod": framework != "Horovod" and "horovod" not in words,
        "without-nccl": without_cuda or "nccl" in facts.absent or ("gloo" in own and "nccl" not in subjects),
        "without-pip": is_without_pip(words, own),
        "without-process-group": without_group,
        "without-sizes": not _stands(_SIZES, own),
        "without-torch": library != PYTORCH if library else ray_alone and "torch" not in words,
        "without-traceback": not (any_of(_TRACEBACK, words) or first_at(_PYTEST, words, places((".py:",), words))),
    }
    return frozenset(trait for trait, holds in traits.items() if holds)


def is_server(framework: str | None) -> bool:
    """Whether a framework serves models, and trains none."""
    return projects().is_a(framework, What.SERVER)


def names_server(framework: str | None, words: str) -> bool:
    """Whether a report is about a server of models, or names one where its framework is not known."""
    servers = (spelling for spelling, name in projects().names.items() if is_server(name))
    return is_server(framework) or (framework not in projects().all and any_of(servers, words))


def _stands(said: tuple[tuple[str, ...], re.Pattern[str]], text: str) -> bool:
    starts, pattern = said
    return first_at(pattern, text, places(starts, text)) is not None


def _says(said: tuple[tuple[str, ...], re.Pattern[str]], own: str, *, unless: re.Pattern[str]) -> bool:
    starts, pattern = said
    found = matches_at(pattern, own, places(starts, own))
    return any(not stands_before(unless, own, match.start()) for match in found)
