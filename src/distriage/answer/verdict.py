"""The answer to one report, as machines read it; its JSON Schema is published in `schemas/`. Pure."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal

from distriage.answer.policy import WHY_SILENT
from distriage.base.types import Mode, Outcome, Silence
from distriage.base.validation import Strict, field
from distriage.own.answer import OwnLabel
from distriage.signs.kinds import Sign

SCHEMA_VERSION: Final = 1


class _Model(Strict):
    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "extra": "forbid",
        "json_schema_serialization_defaults_required": True,
    }
    _texts: ClassVar[Sequence[str]] = ()  # fields with foreign text

    def __post_init__(self) -> None:
        # JSON cannot hold lone surrogates, which a report's JSON or a file's name may bring in.
        for name in self._texts:
            text = getattr(self, name).encode("utf-8", "replace").decode("utf-8")
            object.__setattr__(self, name, text)


class LabelProbability(_Model):
    """A label and its calibrated probability."""

    label: str
    probability: float = field(ge=0, le=1)


class EvidenceLine(_Model):
    """A line that speaks for the verdict; weight in nats of log-odds."""

    line: str
    weight: float


class FirstReading(_Model):
    """The model's answer on an axis before a second reader was asked."""

    outcome: Outcome
    label: str
    probability: float = field(ge=0, le=1)


class SecondReading(_Model):
    """The outcome of the question to a second reader; see `distriage.second_reader`."""

    reader: str
    axes: list[str] = field(description="The axes that its answer decided.")
    note: str | None = field(description="Why it did not answer; the model's verdict stands then.")

    @property
    def said(self) -> str:
        """For people, one line."""
        return f"{self.reader}: {self.note or ('read ' + ', '.join(self.axes) if self.axes else 'decided nothing')}"


class AxisVerdict(_Model):
    """The answer on one axis. `label` is the likeliest one; act on it only if `outcome` is `apply`."""

    outcome: Outcome
    label: str
    probability: float = field(ge=0, le=1)
    precision: float | None = field(
        default=None,
        ge=0,
        le=1,
        description="Of labels this probable, so many at least were right on held-out reports; null: not measured.",
    )
    family: str | None = field(description="The family, where the label is not sure enough but its family is.")
    family_probability: float | None
    reason: str
    top: list[LabelProbability] = field(description="The three likeliest labels.")
    silence: Silence | None = field(
        default=None,
        description="Why no label is given, whatever its probability; null: the probability decides.",
    )
    advice: str | None = field(description="What to do about it, one sentence; only on axes that give advice.")
    evidence: list[EvidenceLine] | None = field(default=None, description="Only with `explain`.")
    read_by: Literal["model", "second-reader"] = "model"
    first_reading: FirstReading | None = field(default=None, description="Only where a second reader answered.")

    @property
    def readers_differ(self) -> bool:
        """Whether a second reader made another label the likeliest."""
        return self.first_reading is not None and self.first_reading.label != self.label


class Candidate(_Model):
    """A cause that may be the right one."""

    label: str
    probability: float = field(ge=0, le=1)
    check: str | None = field(
        default=None,
        description="The one check that tells it apart from the others; Markdown, a sentence. Null: none fits.",
    )


class Differential(_Model):
    """A differential diagnosis: the likeliest causes, if no cause is sure enough to name."""

    causes: list[Candidate] = field(description="Three at most, the likeliest first; none of next to no probability.")
    right_among: float | None = field(
        ge=0,
        le=1,
        description="How often the right cause was among the three likeliest, on held-out reports; null: not measured.",
    )


class MissingFact(_Model):
    """Something a maintainer would have to ask for."""

    fact: str
    question: str


class FactSource(_Model):
    """Where a report states a fact."""

    segment: str = field(description="title, form, prose, listing, command, configuration, source, traceback or log.")
    line: int = field(ge=0, description="Of the body, from 1; 0: the title.")


class VersionPair(_Model):
    """Two releases, one said to work and one to fail."""

    fact: str = field(description="A name of `environment`, such as `torch` or `framework_version`.")
    works: str
    works_at: FactSource
    fails: str
    fails_at: FactSource


class VersionMismatch(_Model):
    """A version in the report that another one does not fit."""

    package: str = field(description="With the requirement: its name on PyPI, or `cuda`.")
    version: str
    needs: str = field(description="A package, or `python`, `cuda`, `driver` or `compute`: kernels for the GPU.")
    specifier: str = field(description="As of PEP 440; of `compute`, a list.")
    found: str = field(description="Does not fit.")
    at: FactSource = field(description="Where the report states `version`.")
    found_at: FactSource


class KnownProblem(_Model):
    """A combination of versions in the report that is known not to work, with the page that says so."""

    problem: str = field(description="One sentence, Markdown.")
    remedy: str = field(description="One sentence, Markdown.")
    source: str
    mismatch: VersionMismatch | None = field(default=None, description="Only where the versions do not fit together.")


class SimilarIssue(_Model):
    """A known issue like the report, labelled by its whole thread."""

    id: str
    url: str = field(description="Empty where unknown.")
    title: str = field(description="Empty where it is not ours to publish; show the id instead.")
    labels: Mapping[str, str] = field(description="Axis -> label; an axis that was not annotated is absent.")
    similarity: float = field(ge=0, le=1, description="For ordering; not a probability.")
    note: str = field(default="", description="The annotator's words for what decided the labels; may be empty.")


class LikelyDuplicate(_Model):
    """A past issue that is likely the same as the report."""

    id: str = field(description="`owner/repo#12`, or `#12` where the repository is not known.")
    title: str
    url: str = field(description="Empty where unknown.")
    state: str = field(description="When it was indexed: `open` or `closed`; empty where unknown.")
    closed_by: str = field(description="What closed it, or GitHub's reason; empty where nothing did or it is unknown.")
    probability: float = field(ge=0, le=1, description="Of being the same issue.")
    closed_duplicate: str | None = field(
        default=None, description="The id of the issue that is alike, if it was closed as a duplicate of this one."
    )
    fixed_in: str | None = field(
        default=None,
        description="The release that probably has the fix: the milestone's, else the first one since it was closed.",
    )
    possible_regression: bool = field(
        default=False, description="It was closed as done, and the report states a newer version."
    )

    @property
    def notes(self) -> list[str]:
        """Fix and regression for people, each as a part of a sentence."""
        return [
            *([f"probably fixed in {self.fixed_in}"] if self.fixed_in else []),
            *(["possible regression, as the report states a newer version"] if self.possible_regression else []),
        ]


class Verdict(_Model):
    """The answer to one report."""

    _texts: ClassVar[Sequence[str]] = ("id", "title")

    schema_version: Literal[1] = SCHEMA_VERSION
    id: str
    title: str
    model: str
    taxonomy_version: str
    mode: Mode
    in_domain: bool = field(
        default=True,
        description="False: this does not read like a report about distributed deep learning; only `kind` is answered.",
    )
    domain_probability: float | None = field(
        default=None, ge=0, le=1, description="Of such a report; null where the model has no domain gate."
    )
    axes: Mapping[str, AxisVerdict]
    environment: Mapping[str, str | int] = field(description="By name; `gpu_count` in all, `gpus_per_node` on one.")
    sources: Mapping[str, FactSource] | None = field(
        default=None, description="Where facts of `environment` are stated; the tracker alone tells the others."
    )
    version_pairs: list[VersionPair] | None = field(
        default=None, description="What works in one release and fails in another."
    )
    missing: list[MissingFact]
    known_problems: list[KnownProblem] = field(description="Of the versions that the report states.")
    checks: list[str] = field(
        description="The check to begin with, if any; the labels' advice if the taxonomy lacks playbooks. Markdown."
    )
    differential: Differential | None = field(
        default=None, description="The likeliest causes of a bug, where none is sure; else null."
    )
    similar: list[SimilarIssue] | None = field(
        default=None, description="Known issues like this one, the most similar first. Only with `similar`."
    )
    second_reading: SecondReading | None = field(default=None, description="Only where a second reader was asked.")
    own: list[OwnLabel] | None = field(
        default=None, description="The repository's own labels, the likeliest first. Only with own labels."
    )
    signs: list[Sign] | None = field(default=None, description="Signs that maintainers sort by, beside the axes.")
    duplicates: list[LikelyDuplicate] | None = field(
        default=None, description="Past issues that are likely the same, mostly none. Only where they are looked up."
    )

    @property
    def is_thin(self) -> bool:
        """Whether the report says too little to tell."""
        return any(said.silence is Silence.THIN for said in self.axes.values())

    @property
    def silence(self) -> Silence | None:
        """Why a report, perhaps of another field, gets at most its kind; else None."""
        if self.in_domain:
            return None
        found = {said.silence for said in self.axes.values()}
        return next((one for one in (Silence.THIN, Silence.SCRIPT) if one in found), Silence.FOREIGN)

    @property
    def why_silent(self) -> str:
        """`silence` as one sentence; empty if there is none."""
        return "" if self.silence is None else f"{WHY_SILENT[self.silence].capitalize()}."


class FailedRecord(_Model):
    """Batch output for a record that could not be classified; the others are classified all the same."""

    _texts: ClassVar[Sequence[str]] = ("id", "error")

    schema_version: Literal[1] = SCHEMA_VERSION
    id: str
    error: str


def verdict_schema() -> dict[str, Any]:
    """JSON Schema of the output of `--json` and `--jsonl`; `python -m distriage.answer.verdict` writes `schemas/`."""
    from pydantic import TypeAdapter

    answers: TypeAdapter[Any] = TypeAdapter(Verdict | FailedRecord | list[Verdict | FailedRecord])
    schema = answers.json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Distriage verdict", **schema}


if __name__ == "__main__":  # python -m distriage.answer.verdict > schemas/verdict.schema.json
    sys.stdout.write(json.dumps(verdict_schema(), indent=2, ensure_ascii=False) + "\n")
