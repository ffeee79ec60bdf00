"""What else a report says that decides which checks make sense: names of tables in `playbooks/elsewhere.toml`. Pure."""

from __future__ import annotations

import re
from typing import Final

from distriage.facts.frameworks import PYTORCH
from distriage.facts.scanning import any_of, first_at, places

SERVERS: Final = frozenset({"vLLM", "vLLM Ascend", "SGLang"})
_SERVER_NAMES = ("vllm", "sglang")
# Of Python, IPython, Cython, PyTorch's C++, gdb and Java; and pytest's, of which the beginning alone says too little.
_TRACEBACK = ("traceback (", '", line ', ".py in ", ".pyx in ", "frame #", "\n#0 ", "\n#1 ", "\n\tat ")
_PYTEST = re.compile(r"\.py:\d{1,6}: (?:in |\w{1,60}(?:error|exception))")
_PICKLING = (
    *(f"{verb} {what}" for verb in ("cannot", "can't", "can’t", "could not") for what in ("pickle", "serialize")),
    *("picklingerror", "be pickled", "be serialized", "not picklable", "not pickleable"),
)
_ILLEGAL_INSTRUCTION = re.compile(r"(?<!an )illegal instruction")  # CUDA's error has the article
_COLLECTIVES = ("nccl", "gloo", "process_group", "torch.distributed", "ray.train", "torchtrainer")


def traits_of(framework: str | None, library: str | None, words: str) -> frozenset[str]:
    """What a report says.

    Args:
        framework: As `EnvironmentFacts.framework`.
        library: As `Situation.library`.
        words: Title and body, folded.
    """
    ray_alone = framework == "Ray" and not any_of(_COLLECTIVES, words)
    traits = {
        "illegal-instruction": "illegal instruction" in words and _ILLEGAL_INSTRUCTION.search(words),
        "pickling": any_of(_PICKLING, words),
        "without-traceback": not (any_of(_TRACEBACK, words) or first_at(_PYTEST, words, places((".py:",), words))),
        "ray": ray_alone,
        "without-process-group": ray_alone or framework == "Horovod",
        "without-torch": library != PYTORCH if library else ray_alone and "torch" not in words,
    }
    return frozenset(trait for trait, holds in traits.items() if holds)


def names_server(framework: str | None, words: str) -> bool:
    """Whether a report is about a server of language models, or names one where its framework is not known."""
    return framework in SERVERS or (framework is None and any_of(_SERVER_NAMES, words))
