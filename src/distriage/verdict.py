"""The answer to one report, as machines read it; its JSON Schema is published in `schemas/`. Pure."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter

from distriage.bundle import Bundle
from distriage.explain import Evidence
from distriage.known_bad import known_bad
from distriage.own.answer import OwnLabel
from distriage.past.answer import LikelyDuplicate
from distriage.playbooks import check_for, checks_for
from distriage.policy import SILENCES, decide
from distriage.questions import missing_facts
from distriage.reading import ReadReport
from distriage.similar import Neighbour
from distriage.taxonomy import Taxonomy
from distriage.types import Decision, Mode, Outcome, Prediction, as_mode

SCHEMA_VERSION: Final = 1
SIMILAR_ISSUES: Final = 5  # in a verdict
CAUSE: Final = "cause"  # the axis of the differential diagnosis

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
    """What the model said of an axis before a second reader was asked."""

    outcome: Outcome
    label: str
    probability: float = Field(ge=0, le=1)


class SecondReading(_Model):
    """What became of the question to a second reader; see `distriage.second_reader`."""

    reader: str
    axes: list[str] = Field(description="The axes that it answered.")
    note: str | None = Field(description="Why it did not answer; the model's verdict stands then.")

    @property
    def said(self) -> str:
        """For people, one line."""
        return f"{self.reader}: {self.note or 'read ' + (', '.join(self.axes) or 'nothing that is in doubt')}"


class AxisVerdict(_Model):
    """What is said about one axis. `label` is the likeliest one; act on it only where `outcome` is `apply`."""

    outcome: Outcome
    label: str
    probability: float = Field(ge=0, le=1)
    family: str | None = Field(description="The family, where the label is not sure enough but its family is.")
    family_probability: float | None
    reason: str
    top: list[LabelProbability] = Field(description="The three likeliest labels.")
    advice: str | None = Field(description="What to do about it, one sentence; only on axes that give advice.")
    evidence: list[EvidenceLine] | None = Field(default=None, description="Only with `explain`.")
    read_by: Literal["model", "second-reader"] = "model"
    first_reading: FirstReading | None = Field(default=None, description="Only where a second reader answered.")

    @property
    def readers_differ(self) -> bool:
        """Whether a second reader made another label the likeliest."""
        return self.first_reading is not None and self.first_reading.label != self.label


class Candidate(_Model):
    """A cause that may be the right one."""

    label: str
    probability: float = Field(ge=0, le=1)
    check: str = Field(description="The one check that tells it apart from the others; Markdown, a sentence.")


class Differential(_Model):
    """A differential diagnosis: the likeliest causes, where none is sure enough to name."""

    causes: list[Candidate] = Field(description="Three at most, the likeliest first.")
    right_among: float | None = Field(
        ge=0, le=1, description="How often the right cause was among them, on held-out reports; null: not measured."
    )


class MissingFact(_Model):
    """Something a maintainer would have to ask for."""

    fact: str
    question: str


class KnownProblem(_Model):
    """A combination of versions in the report that is known not to work, with the page that says so."""

    problem: str = Field(description="One sentence, Markdown.")
    remedy: str = Field(description="One sentence, Markdown.")
    source: str


class SimilarIssue(_Model):
    """A known issue like the report, with the labels that its whole thread led to."""

    id: str
    url: str = Field(description="Empty where unknown.")
    title: str = Field(description="Empty where it is not ours to publish; show the id instead.")
    labels: Mapping[str, str] = Field(description="Axis -> label; an axis that was not annotated is absent.")
    similarity: float = Field(ge=0, le=1, description="For ordering; not a probability.")
    note: str = Field(default="", description="The annotator's words for what decided the labels; may be empty.")


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
    environment: Mapping[str, str | int]
    missing: list[MissingFact]
    known_problems: list[KnownProblem] = Field(description="Of the versions that the report states.")
    checks: list[str] = Field(description="What to check first, in this order; Markdown, at most three sentences.")
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


class FailedRecord(_Model):
    """Stands in batch output for a record that could not be classified; the rest is classified all the same."""

    schema_version: Literal[1] = SCHEMA_VERSION
    id: _Text
    error: _Text


def verdict_schema() -> dict[str, Any]:
    """JSON Schema of what `--json` and `--jsonl` print; `python -m distriage.verdict` writes it for `schemas/`."""
    answers: TypeAdapter[Any] = TypeAdapter(Verdict | FailedRecord | list[Verdict | FailedRecord])
    schema = answers.json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Distriage verdict", **schema}


@dataclass(frozen=True, slots=True)
class Findings:
    """What is known of a report whatever the mode; `verdict` decides.

    Attributes:
        bundle: Of the model that made the prediction.
        evidence: Axis -> lines that carried its likeliest label; None: nobody asked.
        similar: The most similar known issues; None: nobody asked.
        own: The repository's own labels; None: they are not known.
    """

    bundle: Bundle
    known: ReadReport
    prediction: Prediction
    evidence: Mapping[str, Sequence[Evidence]] | None = None
    similar: Sequence[Neighbour] | None = None
    own: Sequence[OwnLabel] | None = None

    def verdict(self, mode: Mode | str = Mode.BALANCED, own_modes: Mapping[str, Mode | float] | None = None) -> Verdict:
        """Decide.

        Args:
            mode: How sure a label must be; InputError: it is no `Mode`.
            own_modes: Axis -> its own mode, or the probability that is wanted in place of one.
        """
        mode, taxonomy = as_mode(mode), self.bundle.taxonomy
        prediction, domain = self.prediction, self.prediction.domain_probability
        decisions = decide(prediction, self.bundle.manifest.axes, taxonomy, mode, own_modes, thin=self.known.is_thin)
        report, facts = self.known.report, self.known.facts
        return Verdict(
            id=report.id,
            title=" ".join(report.title.split()),
            model=prediction.model,
            taxonomy_version=taxonomy.version,
            mode=mode,
            in_domain=prediction.in_domain,
            domain_probability=None if domain is None else round(domain, 4),
            axes={axis: self._axis(decision, taxonomy) for axis, decision in decisions.items()},
            environment=facts.stated(),
            missing=self._missing(decisions),
            known_problems=[
                KnownProblem(problem=item.problem, remedy=item.remedy, source=item.source) for item in known_bad(facts)
            ],
            checks=_checks(decisions, taxonomy),
            differential=_differential(self.bundle, prediction, decisions),
            similar=None if self.similar is None else [_similar_issue(neighbour) for neighbour in self.similar],
            own=None if self.own is None else list(self.own),
        )

    def _axis(self, decision: Decision, taxonomy: Taxonomy) -> AxisVerdict:
        axis, family_probability = decision.axis, decision.family_probability
        applicable = decision.outcome is not Outcome.NOT_APPLICABLE
        return AxisVerdict(
            outcome=decision.outcome,
            label=decision.label,
            probability=round(decision.probability, 4),
            family=decision.family,
            family_probability=None if family_probability is None else round(min(1.0, family_probability), 4),
            reason=decision.reason,
            top=[
                LabelProbability(label=label, probability=round(p, 4))
                for label, p in self.prediction.scores[axis].ranked()[:3]
            ],
            advice=taxonomy.axes[axis].label(decision.label).advice or None,
            evidence=[EvidenceLine(line=item.line, weight=round(item.weight, 3)) for item in self.evidence[axis]]
            if self.evidence is not None and applicable
            else None,
        )

    def _missing(self, decisions: Mapping[str, Decision]) -> list[MissingFact]:
        if not self.prediction.in_domain or any(
            decision.outcome is Outcome.NOT_APPLICABLE for decision in decisions.values()
        ):
            return []  # not about a failure that we could help with
        sure = [decision.label for decision in decisions.values() if decision.outcome is Outcome.APPLY]
        questions = missing_facts(
            self.known.facts, has_error=bool(self.known.input.errors), thin=self.known.is_thin, sure=sure
        )
        return [MissingFact(fact=question.fact, question=question.text) for question in questions]


def _checks(decisions: Mapping[str, Decision], taxonomy: Taxonomy) -> list[str]:
    enough = {Outcome.APPLY, Outcome.SUGGEST}
    likely = {
        axis: decision.label
        for axis, decision in decisions.items()
        # The checks of a cause that is not sure are in the differential diagnosis, beside those of its rivals.
        if decision.outcome in enough and (axis != CAUSE or decision.outcome is Outcome.APPLY)
    }
    advice = [taxonomy.axes[axis].label(label).advice for axis, label in likely.items()]
    return checks_for(taxonomy, likely) or list(filter(None, advice))


def _differential(bundle: Bundle, prediction: Prediction, decisions: Mapping[str, Decision]) -> Differential | None:
    cause, symptom = decisions.get(CAUSE), decisions.get("symptom")
    if cause is None or cause.outcome not in {Outcome.SUGGEST, Outcome.ABSTAIN} or cause.reason in SILENCES:
        return None  # `right_among` was measured on reports that say enough
    sure_symptom = symptom.label if symptom is not None and symptom.outcome is Outcome.APPLY else None
    return Differential(
        causes=[
            Candidate(label=label, probability=round(p, 4), check=check_for(bundle.taxonomy, label, sure_symptom))
            for label, p in prediction.scores[CAUSE].ranked()[:3]
        ],
        right_among=bundle.manifest.axes[CAUSE].among_three,
    )


def _similar_issue(neighbour: Neighbour) -> SimilarIssue:
    return SimilarIssue(**{**asdict(neighbour), "similarity": round(neighbour.similarity, 4)})


if __name__ == "__main__":  # python -m distriage.verdict > schemas/verdict.schema.json
    sys.stdout.write(json.dumps(verdict_schema(), indent=2, ensure_ascii=False) + "\n")
