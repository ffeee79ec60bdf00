"""Facts that a maintainer would have to ask the reporter for. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final

from distriage.answer.verdict import MissingFact
from distriage.base.texts import regex
from distriage.facts.environment import EnvironmentFacts
from distriage.facts.projects import NCCL, PYTORCH, What, projects
from distriage.facts.situation import ORDINARY, Platform, Situation
from distriage.model.label import Label
from distriage.model.taxonomy import CAUSE, SYMPTOM
from distriage.segments import Kind, Role, Segments

_NOTHING: Final = Segments("", ())

_QUESTIONS: Mapping[str, str] = {
    "torch": "Which version of PyTorch?",
    "nccl": "Which NCCL version?",
    "error": "What is the complete error message or traceback?",
}
_HANGING: Final = "What are the last lines of each process's log, and what does {} show for each of them?"
_HANGING_ALONE: Final = "What are the last lines of its log, and what does {} show?"
_HANGING_LOGGED: Final = "What does {} show for each process while it waits?"
_FAILED_BUILD: Final = frozenset(("build-failed", "compiler-silent"))
_OWN: Final = frozenset(("model-data",))  # families of causes
_COMPILING: Final = "Which are the compiler's first lines with `error:`? The message only says that the build failed."
_BACKTRACE: Final = "Which frames does `gdb -batch -ex run -ex bt --args COMMAND` show where it crashes?"
_STACKS: Final = "`py-spy dump --pid PID`"
_NATIVE_STACKS: Final = "`gdb -p PID -batch -ex 'thread apply all bt'`"
# A message between quotes, behind the word that announces it.
QUOTED_ERROR: Final = regex(
    r"(?i:error|exception|raises?|(?:fails|stops|ends|dies|aborts|crash\w{0,3}) with|produces|says?"
    r"|error[^\n:]{1,40}:)"
    r"\W{1,4}[\"“`'][^\"”`'\n]{20}"
)
_HAPPENS: Final = (
    "What happens? Please give the complete error message or traceback, or what you see and what you expected instead."
)


def missing_facts(
    facts: EnvironmentFacts,
    *,
    has_error: bool,
    thin: bool = False,
    likely: Mapping[str, Label] = {},
    situation: Situation = ORDINARY,
    segments: Segments = _NOTHING,
) -> list[MissingFact]:
    """The facts to ask the reporter for: only those that decide the next step.

    Args:
        has_error: Whether the report holds an error line; for a hang, an error or a dump of the stacks. It is asked for
            if the reporter mentions one, and for a hang.
        thin: Whether the report says next to nothing; then a description is asked for, too.
        likely: Axis -> its label, if at least likely. No error is asked for if the symptom is that of a run that goes
            on.
        situation: Where the job ran, and the reporter's subjects.
        segments: The report, whose content is not asked for.

    Returns:
        The most needed first: the error, and a version; `fact` is the name of a field of `facts`, or `error`.
    """
    symptom = likely.get(SYMPTOM)
    means = symptom.means if symptom is not None else frozenset()
    seen = situation.seen
    hangs = "hang" in means and not ("no-hang" in seen and seen & {"alone", "ends-itself"})
    stated = facts.stated().keys() | facts.ambiguous.keys() | situation.stated
    told = not thin and (situation.explained or seen & {"unscheduled", "awaits-place"})  # the decisive facts are there
    families = _OWN if not segments.of(Kind.SOURCE) else {*_OWN, "configuration"}
    own = CAUSE in likely and likely[CAUSE].family in families and not thin  # the reporter's script or data
    version = _version(facts, situation, stated, means)
    moot = own or (not thin and (situation.explained or seen & {"hypothetical", "link-fails"}))
    missing = [version] if version and not moot else []
    waits_or_fails = hangs or "error" in situation.subjects
    alien = hangs and "alien-process" in seen  # nothing to take the stacks of
    unshown = waits_or_fails and not (has_error or told or alien) and "goes-on" not in means
    if unshown or (thin and "goes-on" not in means) or (seen >= _FAILED_BUILD and not told):
        missing.insert(0, "error")
    framework, library = facts.framework, situation.library
    texts = {
        **_QUESTIONS,
        "framework_version": f"Which version (or commit) of {framework} is in use?",
        **({"torch": f"Which version of {library}?"} if library else {}),
        "error": _about_error(symptom, situation, segments, thin=thin),
    }
    return [MissingFact(fact=name, question=texts[name]) for name in missing]


def _about_error(symptom: Label | None, situation: Situation, segments: Segments, *, thin: bool) -> str:
    """The question for the error: that of the process that failed first, if the report tells."""
    if segments.culprit is not None:
        return f"What does the log of rank {segments.culprit} say? The launcher names it as the first to fail."
    if any(line.role is Role.CASCADE for segment in segments.all for line in segment.lines):
        return "What does the log of the process that ended first say? Here the others only notice that it is gone."
    if symptom is not None and "hang" in symptom.means:
        stacks = _NATIVE_STACKS if "native" in situation.seen else _STACKS
        logged = segments.of(Kind.LOG, Kind.TRACEBACK)
        asked = _HANGING_ALONE if situation.one_process else _HANGING_LOGGED if logged else _HANGING
        return asked.format(stacks)
    if situation.seen >= _FAILED_BUILD:
        return _COMPILING
    if "segfault" in situation.seen:
        return _BACKTRACE
    if thin and symptom is None and "error" not in situation.subjects:
        return _HAPPENS
    return _QUESTIONS["error"]


def _version(facts: EnvironmentFacts, situation: Situation, stated: Set[str], means: Set[str]) -> str | None:
    """The fact that tells which version failed; None if the report states it.

    It is the library's in the library's own tracker, and if only the library is known. Nobody knows whether an unknown
    project has releases, or whether one of them decides anything.
    """
    framework, library = facts.framework, situation.library
    project = projects().all.get(framework or "")
    if "source" in situation.subjects or (framework is None and library is None):
        return None
    if library == PYTORCH == framework and "nccl-tests" in situation.seen:
        return None  # it fails outside of PyTorch
    if project is None:
        return "torch" if framework is None and "torch" not in stated else None
    if project.what is What.TRAINER and (facts.others or "build" in means):
        return None  # the product that it wraps decides
    if framework == NCCL or (NCCL in project.on and "install" not in means):
        version = "" if "index-range" in situation.seen else "nccl"  # it reports another kernel's assertion
    elif framework in {PYTORCH, library, *projects().parts}:
        version = "torch"
    else:
        version = "framework_version" if project.releases else ""
    of_rocm = ["rocm"] if project.platform == Platform.ROCM else []  # RCCL comes with it
    answers = {version, "framework_version", *of_rocm}
    return version if version and stated.isdisjoint(answers) else None
