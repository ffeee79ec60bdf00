"""The answer to one report, as machines read it: a pydantic model whose JSON Schema is published in `schemas/`. Pure."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter

from distriage.classifier import Classifier
from distriage.environment import find_facts, missing_facts
from distriage.explain import Evidence, explain
from distriage.policy import Mode, decide
from distriage.similar import Neighbour, Similar
from distriage.text import prepare
from distriage.types import Decision, IssueReport, Outcome, Prediction

SCHEMA_VERSION: Final = 1
SIMILAR_ISSUES: Final = 5  # in a verdict

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


class AxisVerdict(_Model):
    """What is said about one axis. `label` is the likeliest one whatever the outcome; act on it only where `outcome` is `apply`."""

    outcome: Literal["apply", "suggest", "abstain", "not-applicable"]
    label: str
    probability: float = Field(ge=0, le=1)
    family: str | None = Field(description="The family, where the label is not sure enough but its family is.")
    family_probability: float | None
    reason: str
    top: list[LabelProbability] = Field(description="The three likeliest labels.")
    advice: str | None = Field(description="What to do about it, one sentence; only on axes that give advice.")
    evidence: list[EvidenceLine] | None = Field(default=None, description="Only with `explain`.")


class MissingFact(_Model):
    """Something a maintainer would have to ask for."""

    fact: str
    question: str


class SimilarIssue(_Model):
    """A known issue like the report, with the labels that its whole thread led to."""

    id: str
    url: str = Field(description="Empty where unknown.")
    title: str = Field(description="Empty where it is not ours to publish; show the id instead.")
    labels: Mapping[str, str] = Field(description="Axis -> label; an axis that was not annotated is absent.")
    similarity: float = Field(ge=0, le=1, description="For ordering; not a probability.")


class Verdict(_Model):
    """The answer to one report."""

    schema_version: Literal[1] = SCHEMA_VERSION
    id: _Text
    title: _Text
    model: str
    taxonomy_version: str
    mode: Literal["best", "balanced", "precise"]
    axes: Mapping[str, AxisVerdict]
    environment: Mapping[str, str | int]
    missing: list[MissingFact]
    similar: list[SimilarIssue] | None = Field(default=None, description="Known issues like this one, the most similar first. Only with `similar`.")


class FailedRecord(_Model):
    """Stands in batch output for a record that could not be classified; the rest is classified all the same."""

    schema_version: Literal[1] = SCHEMA_VERSION
    id: _Text
    error: _Text


def verdict_schema() -> dict[str, Any]:
    """JSON Schema of what `--json` prints and of each line of `--jsonl`; `python -m distriage.verdict` writes it for `schemas/`."""
    answers: TypeAdapter[Any] = TypeAdapter(Verdict | FailedRecord | list[Verdict | FailedRecord])
    schema = answers.json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Distriage verdict", **schema}


def make_verdict(
    classifier: Classifier, report: IssueReport, prediction: Prediction, mode: Mode, *, with_evidence: bool = False, similar: Similar | None = None
) -> Verdict:
    """Combine scores, policy, environment facts and, where wanted, evidence lines and similar issues.

    Args:
        classifier: The classifier that made the prediction.
        with_evidence: Also mark the lines that carried each verdict; costs up to 40 model passes.
        similar: Where given, also name the known issues that are most similar.
    """
    taxonomy = classifier.bundle.taxonomy
    decisions = decide(prediction, classifier.bundle.manifest.axes, taxonomy, mode)
    facts = find_facts(report.title, report.body)
    stage = decisions.get("stage")
    is_bug = "kind" not in decisions or decisions["kind"].label == "bug"
    questions = (
        missing_facts(
            facts,
            has_error=bool(prepare(report.title, report.body).errors),
            stage=stage.label if stage is not None and stage.outcome is Outcome.APPLY else None,
        )
        if is_bug
        else []
    )
    explained = [axis for axis, decision in decisions.items() if decision.outcome is not Outcome.NOT_APPLICABLE]
    evidence = explain(classifier, report, explained) if with_evidence else {}
    axes = {
        axis: _axis_verdict(decision, prediction, taxonomy.axes[axis].label(decision.label).advice, evidence.get(axis)) for axis, decision in decisions.items()
    }
    return Verdict(
        id=report.id,
        title=" ".join(report.title.split()),
        model=prediction.model,
        taxonomy_version=taxonomy.version,
        mode=mode.value,
        axes=axes,
        environment=facts.stated(),
        missing=[MissingFact(fact=question.fact, question=question.text) for question in questions],
        similar=None if similar is None else [_similar_issue(neighbour) for neighbour in similar.nearest(report, SIMILAR_ISSUES, prediction)],
    )


def _axis_verdict(decision: Decision, prediction: Prediction, advice: str, evidence: Sequence[Evidence] | None) -> AxisVerdict:
    family_probability = decision.family_probability
    return AxisVerdict(
        outcome=decision.outcome.value,
        label=decision.label,
        probability=round(decision.probability, 4),
        family=decision.family,
        family_probability=None if family_probability is None else round(min(1.0, family_probability), 4),
        reason=decision.reason,
        top=[LabelProbability(label=label, probability=round(p, 4)) for label, p in prediction.scores[decision.axis].ranked()[:3]],
        advice=advice or None,
        evidence=None if evidence is None else [EvidenceLine(line=item.line, weight=round(item.weight, 3)) for item in evidence],
    )


def _similar_issue(neighbour: Neighbour) -> SimilarIssue:
    return SimilarIssue(id=neighbour.id, url=neighbour.url, title=neighbour.title, labels=neighbour.labels, similarity=round(neighbour.similarity, 4))


if __name__ == "__main__":  # python -m distriage.verdict > schemas/verdict.schema.json
    sys.stdout.write(json.dumps(verdict_schema(), indent=2, ensure_ascii=False) + "\n")
