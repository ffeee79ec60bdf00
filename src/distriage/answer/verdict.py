"""The answer to one report, as machines read it; its JSON Schema is published in `schemas/`. Pure."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from distriage.answer.policy import WHY_SILENT
from distriage.base.types import Mode, Outcome, Silence
from distriage.own.answer import OwnLabel

SCHEMA_VERSION: Final = 1

# JSON cannot hold lone surrogates, which a report's JSON or a file's name may bring in.
_Text = Annotated[str, AfterValidator(lambda text: text.encode("utf-8", "replace").decode("utf-8"))]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_serialization_defaults_required=True)


class LabelProbability(_Model):
    """A label and its calibrated probability."""

    label: str
    probability: float = Field(ge=0, le=1)


class EvidenceLine(_Model):
    """A line that speaks for the verdict; weight in nats of log-odds."""

    line: str
    weight: float


class FirstReading(_Model):
    """The model's answer on an axis before a second reader was asked."""

    outcome: Outcome
    label: str
    probability: float = Field(ge=0, le=1)


class SecondReading(_Model):
    """The outcome of the question to a second reader; see `distriage.second_reader`."""

    reader: str
    axes: list[str] = Field(description="The axes that its answer decided.")
    note: str | None = Field(description="Why it did not answer; the model's verdict stands then.")

    @property
    def said(self) -> str:
        """For people, one line."""
        return f"{self.reader}: {self.note or 'read ' + (', '.join(self.axes) or 'nothing that is in doubt')}"


class AxisVerdict(_Model):
    """The answer on one axis. `label` is the likeliest one; act on it only if `outcome` is `apply`."""

    outcome: Outcome
    label: str
    probability: float = Field(ge=0, le=1)
    precision: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Of labels this probable, so many at least were right on held-out reports; null: not measured.",
    )
    family: str | None = Field(description="The family, where the label is not sure enough but its family is.")
    family_probability: float | None
    reason: str
    top: list[LabelProbability] = Field(description="The three likeliest labels.")
    silence: Silence | None = Field(
        default=None,
        description="Why no label is given, whatever its probability; null: the probability decides.",
    )
    advice: str | None = Field(description="What to do about it, one sentence; only on axes that give advice.")
    evidence: list[EvidenceLine] | None = Field(default=None, description="Only with `explain`.")
    read_by: Literal["model", "second-reader"] = "model"
    first_reading: FirstReading | None = Field(default=None, description="Only where a second reader answered.")

    @model_validator(mode="before")
    @classmethod
    def _read_older(cls, data: Any) -> Any:
        """Older stored verdicts lack `silence` and express it in their reason."""
        if not isinstance(data, dict) or "silence" in data:
            return data
        return {**data, "silence": next((code for code, why in WHY_SILENT.items() if why == data.get("reason")), None)}

    @property
    def readers_differ(self) -> bool:
        """Whether a second reader made another label the likeliest."""
        return self.first_reading is not None and self.first_reading.label != self.label


class Candidate(_Model):
    """A cause that may be the right one."""

    label: str
    probability: float = Field(ge=0, le=1)
    check: str | None = Field(
        default=None,
        description="The one check that tells it apart from the others; Markdown, a sentence. Null: none fits.",
    )


class Differential(_Model):
    """A differential diagnosis: the likeliest causes, if no cause is sure enough to name."""

    causes: list[Candidate] = Field(description="Three at most, the likeliest first; none of next to no probability.")
    right_among: float | None = Field(
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

    segment: str = Field(description="title, form, prose, listing, command, configuration, source, traceback or log.")
    line: int = Field(ge=0, description="Of the body, from 1; 0: the title.")


class VersionPair(_Model):
    """Two releases, one said to work and one to fail."""

    fact: str = Field(description="A name of `environment`, such as `torch` or `framework_version`.")
    works: str
    works_at: FactSource
    fails: str
    fails_at: FactSource


class KnownProblem(_Model):
    """A combination of versions in the report that is known not to work, with the page that says so."""

    problem: str = Field(description="One sentence, Markdown.")
    remedy: str = Field(description="One sentence, Markdown.")
    source: str


class SimilarIssue(_Model):
    """A known issue like the report, labelled by its whole thread."""

    id: str
    url: str = Field(description="Empty where unknown.")
    title: str = Field(description="Empty where it is not ours to publish; show the id instead.")
    labels: Mapping[str, str] = Field(description="Axis -> label; an axis that was not annotated is absent.")
    similarity: float = Field(ge=0, le=1, description="For ordering; not a probability.")
    note: str = Field(default="", description="The annotator's words for what decided the labels; may be empty.")


class LikelyDuplicate(_Model):
    """A past issue that is likely the same as the report."""

    id: str = Field(description="`owner/repo#12`, or `#12` where the repository is not known.")
    title: str
    url: str = Field(description="Empty where unknown.")
    state: str = Field(description="When it was indexed: `open` or `closed`; empty where unknown.")
    closed_by: str = Field(description="What closed it, or GitHub's reason; empty where nothing did or it is unknown.")
    probability: float = Field(ge=0, le=1, description="Of being the same issue.")


class Verdict(_Model):
    """The answer to one report."""

    schema_version: Literal[1] = SCHEMA_VERSION
    id: _Text
    title: _Text
    model: str
    taxonomy_version: str
    mode: Mode
    in_domain: bool = Field(
        default=True,
        description="False: this does not read like a report about distributed deep learning; only `kind` is answered.",
    )
    domain_probability: float | None = Field(
        default=None, ge=0, le=1, description="Of such a report; null where the model has no domain gate."
    )
    axes: Mapping[str, AxisVerdict]
    environment: Mapping[str, str | int] = Field(description="By name; `gpu_count` in all, `gpus_per_node` on one.")
    sources: Mapping[str, FactSource] | None = Field(
        default=None, description="Where facts of `environment` are stated; the tracker alone tells the others."
    )
    version_pairs: list[VersionPair] | None = Field(
        default=None, description="What works in one release and fails in another."
    )
    missing: list[MissingFact]
    known_problems: list[KnownProblem] = Field(description="Of the versions that the report states.")
    checks: list[str] = Field(description="What to check first, in this order; Markdown, at most two sentences.")
    differential: Differential | None = Field(
        default=None, description="The likeliest causes of a bug, where none is sure; else null."
    )
    similar: list[SimilarIssue] | None = Field(
        default=None, description="Known issues like this one, the most similar first. Only with `similar`."
    )
    second_reading: SecondReading | None = Field(default=None, description="Only where a second reader was asked.")
    own: list[OwnLabel] | None = Field(
        default=None, description="The repository's own labels, the likeliest first. Only with own labels."
    )
    duplicates: list[LikelyDuplicate] | None = Field(
        default=None, description="Past issues that are likely the same, mostly none. Only where they are looked up."
    )

    @property
    def is_thin(self) -> bool:
        """Whether the report says too little to tell."""
        return any(said.silence is Silence.THIN for said in self.axes.values())

    @property
    def why_silent(self) -> str:
        """Why a report, perhaps of another field, gets only its kind, in one sentence; else empty."""
        if self.in_domain:
            return ""
        return f"{WHY_SILENT[Silence.THIN if self.is_thin else Silence.FOREIGN].capitalize()}."


class FailedRecord(_Model):
    """Batch output for a record that could not be classified; the others are classified all the same."""

    schema_version: Literal[1] = SCHEMA_VERSION
    id: _Text
    error: _Text


def verdict_schema() -> dict[str, Any]:
    """JSON Schema of the output of `--json` and `--jsonl`; `python -m distriage.answer.verdict` writes `schemas/`."""
    answers: TypeAdapter[Any] = TypeAdapter(Verdict | FailedRecord | list[Verdict | FailedRecord])
    schema = answers.json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Distriage verdict", **schema}


if __name__ == "__main__":  # python -m distriage.answer.verdict > schemas/verdict.schema.json
    sys.stdout.write(json.dumps(verdict_schema(), indent=2, ensure_ascii=False) + "\n")
