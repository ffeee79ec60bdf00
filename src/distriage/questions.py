"""What a maintainer would have to ask the reporter for. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from distriage.facts.environment import EnvironmentFacts
from distriage.facts.frameworks import PYTORCH_AND_PARTS
from distriage.facts.situation import ORDINARY, Platform, Situation


@dataclass(frozen=True, slots=True)
class Question:
    """Something a maintainer would have to ask for.

    Attributes:
        fact: Name of the missing fact, a field of `EnvironmentFacts`, or `error` or `reproduction`.
        text: The question, one sentence.
    """

    fact: str
    text: str


_QUESTIONS: Mapping[str, str] = {
    "framework_version": "Which version (or commit) of the framework is in use?",
    "torch": "Which version of PyTorch?",
    "cuda": "Which CUDA (or ROCm) version?",
    "nccl": "Which NCCL version? (`python -c 'import torch; print(torch.cuda.nccl.version())'`)",
    "driver": "Which GPU driver version? (`nvidia-smi`)",
    "gpu_model": "Which GPU model?",
    "gpu_count": "How many GPUs take part?",
    "nodes": "On how many nodes?",
    "os": "Which operating system?",
    "launcher": "With which command are the processes launched?",
    "error": "What is the complete error message or traceback?",
    "reproduction": "What is the smallest script or command that shows it?",
}
# Facts without which an expert cannot go on, by the stage in which the failure shows.
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "build-import": ("framework_version", "torch", "cuda", "os"),
    "communication-setup": ("framework_version", "torch", "nccl", "gpu_count", "nodes", "launcher"),
    "data-model-preparation": ("framework_version", "torch", "gpu_count"),
    "training-evaluation": ("framework_version", "torch", "gpu_model", "gpu_count"),
    "inference": ("framework_version", "gpu_model", "gpu_count"),
}
# Symptoms of a run that goes on: there need be no error.
_WITHOUT_ERROR = frozenset(
    {
        "low-throughput",
        "poor-convergence",
        "cross-rank-inconsistency",
        "incorrect-output",
        "numerical-anomaly",
        "memory-growth",
        "unexpected-parallelism",
    }
)
# What is asked elsewhere than on NVIDIA's cards; empty: there is no such fact.
_ELSEWHERE: Mapping[Platform, Mapping[str, str]] = {
    Platform.ROCM: {
        "cuda": "Which ROCm version?",
        "nccl": "Which RCCL version? (`python -c 'import torch; print(torch.cuda.nccl.version())'`)",
    },
    Platform.NPU: {
        "cuda": "Which CANN version?",
        "nccl": "",
        "gpu_model": "Which NPU model?",
        "gpu_count": "How many NPUs take part?",
    },
    Platform.TPU: {
        "cuda": "",
        "nccl": "",
        "gpu_model": "Which generation of TPU?",
        "gpu_count": "How many TPU chips take part?",
    },
    Platform.HPU: {
        "cuda": "Which version of SynapseAI?",
        "nccl": "",
        "gpu_model": "Which generation of Gaudi?",
        "gpu_count": "How many Gaudi devices take part?",
    },
    Platform.XPU: {"cuda": "", "nccl": ""},
    Platform.MACOS: {"cuda": "", "nccl": "", "gpu_model": "Which Mac?", "gpu_count": ""},
    Platform.WINDOWS: {"nccl": ""},
}
HANGS: Final = frozenset({"runtime-hang", "setup-hang"})  # a run that waits: its error comes late, if at all
_HANGING: Final = "What are the last lines of each rank's log, and what does `py-spy dump --pid PID` show for each?"
_ALWAYS = ("framework_version", "torch", "gpu_model", "gpu_count")


def missing_facts(
    facts: EnvironmentFacts,
    *,
    has_error: bool,
    thin: bool = False,
    sure: Iterable[str] = (),
    situation: Situation = ORDINARY,
) -> list[Question]:
    """What a maintainer would have to ask the reporter for.

    Args:
        facts: What the report states.
        has_error: Whether the report holds an error line; of a hang, an error or a dump of the stacks.
        thin: Whether the report says next to nothing.
        sure: Labels that are sure; a stage among them decides, since a build failure needs other facts than a hang. No
            error is asked for where the symptom is that of a run that goes on.
        situation: On what the job ran; there may be no CUDA to ask for.

    Returns:
        Questions, the most needed first.
    """
    labels = tuple(sure)
    needed: Iterable[str] = next((_NEEDED[label] for label in labels if label in _NEEDED), _ALWAYS)
    stated = facts.stated().keys() | situation.stated
    missing = [name for name in needed if name not in stated]
    if facts.framework in PYTORCH_AND_PARTS:  # its version is torch's
        missing = [name for name in missing if name != "framework_version"]
    if facts.rocm is not None:
        missing = [name for name in missing if name != "cuda"]
    if thin:
        missing.insert(0, "reproduction")
    if thin or not (has_error or _WITHOUT_ERROR.intersection(labels)):
        missing.insert(0, "error")
    library = situation.library
    texts = {
        **_QUESTIONS,
        **({"torch": f"Which version of {library}?", "nccl": "Which NCCL version?"} if library else {}),
        **_ELSEWHERE.get(situation.platform, {}),
        **({"error": _HANGING} if HANGS.intersection(labels) else {}),
    }
    return [Question(name, texts[name]) for name in missing if texts[name]]
