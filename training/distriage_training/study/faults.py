"""Labelled reports, from the corpus, people or a model. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from distriage.model.taxonomy import Axis, Taxonomy, default_taxonomy
from distriage.past.clusters import Cluster
from distriage_training.corpus.records import BUG_AXES

TRUE = "true"  # of the axis distributed


def judged_axes(taxonomy: Taxonomy) -> list[Axis]:
    """The axes that a failure is judged on: they require a label of another axis, or have the packaged names."""
    return [axis for axis in taxonomy.axes.values() if axis.requires is not None or axis.id in BUG_AXES]


class Origin(StrEnum):
    """Who chose the labels of a study."""

    ANNOTATED = "annotated"
    REVIEWED = "reviewed"
    PREDICTED = "predicted"


@dataclass(frozen=True, slots=True)
class Fault:
    """A report in a study.

    Attributes:
        framework: Its framework, else its repository.
        created: Date of filing as `YYYY-MM-DD...`, or empty.
        labels: Axis -> label id, if judged.
        release: Series of the stated release of the framework, such as `0.14`; empty if not stated, None if its text is
            missing here.
        origin, confidence: Those of the corpus' record, else empty.
    """

    id: str
    framework: str
    created: str
    labels: Mapping[str, str]
    release: str | None = None
    origin: str = ""
    confidence: str = ""

    @property
    def source(self) -> str:
        """Its framework, or its repository where the corpus counts it among the others."""
        return self.id.partition("#")[0] if self.framework == "other" else self.framework


@dataclass(frozen=True, slots=True)
class Source:
    """The material of a study.

    Attributes:
        faults: All reports, of every kind.
        description: How they were chosen, one sentence.
        model: The bundle that predicted the labels; empty if none did.
        files: They were read from.
        clusters: Open failures of one cause; none unless a model read the texts now.
        fetched: Instead of files, day and SHA-256 of what GitHub answered.
        taxonomy: That of the labels.
    """

    name: str
    origin: Origin
    faults: Sequence[Fault]
    description: str
    model: str = ""
    files: Sequence[Path] = ()
    clusters: Sequence[Cluster] = ()
    fetched: Mapping[str, str] = field(default_factory=dict)
    taxonomy: Taxonomy = field(default_factory=default_taxonomy)

    @property
    def bugs(self) -> list[Fault]:
        """Reports that have a label on an axis of `judged_axes`."""
        axes = {axis.id for axis in judged_axes(self.taxonomy)}
        return [fault for fault in self.faults if not fault.labels.keys().isdisjoint(axes)]


FRAMEWORKS = {  # second part of a repository's name, lower case -> framework
    "deepspeed": "deepspeed",
    "deepspeedexamples": "deepspeed",
    "deepspeed-mii": "deepspeed",
    "megatron-lm": "megatron-lm",
    "megatron-deepspeed": "megatron-lm",
    "colossalai": "colossalai",
    "horovod": "horovod",
    "pytorch": "pytorch",
    "torchtitan": "pytorch",
    "ray": "ray",
    "vllm": "vllm",
    "sglang": "sglang",
    "tensorflow": "tensorflow",
    "accelerate": "hf",
    "transformers": "hf",
    "pytorch-lightning": "lightning",
    "nccl": "nccl",
    "keras": "keras",
}


def framework_of(identifier: str) -> str:
    """The framework of `owner/name#12`, else `owner/name`."""
    repository = identifier.partition("#")[0]
    return FRAMEWORKS.get(repository.lower().rpartition("/")[2], repository)


_SERIES = re.compile(r"\d{1,3}\.\d{1,3}(?![\d])")


def release_of(framework: str, facts: Mapping[str, object]) -> str:
    """The release series (`major.minor`) of a framework that a report states, or empty.

    Args:
        framework: Of the report's repository. A report about another framework says nothing of this one's.
        facts: Facts of the report's environment, by name.
    """
    if framework == "pytorch":
        version = facts.get("torch")
    elif _bare(str(facts.get("framework", ""))) == _bare(framework):
        version = facts.get("framework_version")
    else:
        return ""
    series = _SERIES.match(str(version or ""))
    return series[0] if series else ""


def _bare(name: str) -> str:
    return name.lower().replace("-", "")
