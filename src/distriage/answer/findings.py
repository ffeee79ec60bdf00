"""Findings about a report -> its verdict. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from distriage.answer.certain import by_tracker, corrected
from distriage.answer.differential import checks_of, differential, with_labels
from distriage.answer.policy import decide, likely_labels, measured_precision
from distriage.answer.questions import QUOTED_ERROR, missing_facts
from distriage.answer.verdict import (
    AxisVerdict,
    EvidenceLine,
    FactSource,
    KnownProblem,
    LabelProbability,
    MissingFact,
    SimilarIssue,
    Verdict,
    VersionMismatch,
    VersionPair,
)
from distriage.answer.worth import CHECK, QUESTION, deserves, measures
from distriage.base.texts import folded, one_line, regex
from distriage.base.types import Decision, Mode, Outcome, Prediction, Unlearned, as_mode
from distriage.facts.compatibility.known_bad import known_bad
from distriage.facts.compatibility.misfits import Misfit, listed, misfits
from distriage.facts.scanning import Source, any_of, stands_before
from distriage.facts.situation import ATTACHMENT, Situation
from distriage.facts.versions import Comparison
from distriage.github.releases import Release
from distriage.model.bundle import Bundle
from distriage.model.label import meanings
from distriage.model.taxonomy import CAUSE, Taxonomy
from distriage.own.answer import OwnLabel
from distriage.reading.report import ReadReport
from distriage.segments import Kind, Role
from distriage.segments.roles import quotes_exception
from distriage.signs.find import signs_of

# An attached log: GitHub's page shows only the link. And the words that announce one.
_ATTACHMENT = regex(ATTACHMENT, re.I)
_ATTACHED = regex(
    r"attach(?:ed|ing)(?: (?!(?:and|but|to|with|debugger|gdb|profiler)\b)\w{1,20}){0,4} (?:log|trace|stack|output)"
    r"|(?<!\w)(?:log|trace|output|error)s?(?: [a-z]{2,12}){0,6} attached|attached: ?[\w.-]{1,40}\.(?:log|txt)\b"
)
_LEVEL = regex(r"(?m)^(?:[>\[ ]{0,3}(?:ERROR|FATAL)\]?[: ] ?\w|E {2,6}\w{1,60}(?:Error|Exception)\b)")
_ANNOUNCED = regex(
    r"(?:(?:error|exception|message|fail(?:s|ed)?|crash(?:es)?)\b|报错|错误)[^\n:：]{0,40}[:：]\s*\Z"
    r"|\b(?:gets?|got|gives|following) (?:an? |the |this )?(?:error|exception)(?P<bare>)\s*\Z",
    re.I,
)
# A title that quotes a message, if only its end.
_SIGNAL = regex(
    r"\bSIG[A-Z]{2,5}\b|\bsignal \d|\bexit ?codes? -?\d|has no attribute '|no module named|cannot import name"
    r"|were not found in|unexpected keyword",
    re.I,
)
_STACKS = ("py-spy", "pstack", "thread apply all", "\n#0 ", "torchfrtrace", "ncclras")
_FRAME = regex(r"(?m:^#\d{1,3} {1,3}0x[0-9a-f]{6}|^\[bt\] \(\d)")  # gdb's, whose excerpts begin anywhere; MXNet's
_LEAST_JUDGED = 150  # characters; readers of questions were shown no shorter report
_ERROR_TIMED_OUT = regex(r"error\b[^\n]{0,80}\btimed out")
_TIMED_OUT = ("timed out", "timeout ", "timeout:", "timeouterror")
_NOT_ATTACHED = regex(r"n[o'’]t\b|\b(?:no|without)\b")


@dataclass(frozen=True)
class Findings:
    """Findings about a report, for every mode; `verdict` decides.

    Attributes:
        bundle: The one that made the prediction.
        evidence: Axis -> lines that carried its likeliest label; None if not asked for.
        similar: The most similar known issues; None if not asked for.
        own: The repository's own labels, if known.
        releases: Those of its repository, if known.
    """

    bundle: Bundle
    read: ReadReport
    prediction: Prediction
    evidence: Mapping[str, Sequence[EvidenceLine]] | None = None
    similar: Sequence[SimilarIssue] | None = None
    own: Sequence[OwnLabel] | None = None
    releases: Sequence[Release] = ()

    @property
    def situation(self) -> Situation:
        """Where the job ran, and whether a check is likely to be useful there."""
        return replace(self.read.situation, checkable=deserves(CHECK, self._measured, self.bundle.taxonomy))

    @cached_property
    def _measured(self) -> Mapping[str, float]:
        return measures(self.read, self.prediction, self.bundle.taxonomy)

    def verdict(self, mode: Mode | str = Mode.BALANCED, own_modes: Mapping[str, Mode | float] | None = None) -> Verdict:
        """Decide.

        Args:
            mode: How sure a label must be; InputError for anything but a `Mode`.
            own_modes: Axis -> its own mode or wanted probability.
        """
        mode, taxonomy = as_mode(mode), self.bundle.taxonomy
        read, project = self.read, self.read.project
        prediction, domain = by_tracker(self.prediction, project), self.prediction.domain_probability
        decisions = decide(
            prediction,
            self.bundle.manifest.axes,
            taxonomy,
            mode,
            own_modes,
            detail=read.detail,
            no_failure=read.tells_no_failure,
            unlearned=read.unlearned,
        )
        decisions = corrected(decisions, prediction, taxonomy, project, read.situation)
        report, facts = read.report, read.facts
        situation = with_labels(self.situation, decisions, taxonomy)
        ranked = prediction.scores[CAUSE].ranked() if CAUSE in decisions else ()
        right_among = self.bundle.manifest.axes[CAUSE].among_three if CAUSE in decisions else None
        asked = self._asked(decisions, situation, in_domain=prediction.in_domain)
        asks_error = any(question.fact == "error" for question in asked) and not _hangs(decisions, taxonomy)
        if asks_error or read.is_solved:
            situation = replace(situation, seen=frozenset())  # only visible things can be checked
        rivals = differential(decisions, ranked, taxonomy, situation, right_among)
        return Verdict(
            id=report.id,
            title=one_line(report.title),
            model=prediction.model,
            taxonomy_version=taxonomy.version,
            mode=mode,
            in_domain=prediction.in_domain,
            domain_probability=None if domain is None else round(domain, 4),
            axes={
                axis: self._axis(decision, prediction.scores[axis].ranked(), taxonomy)
                for axis, decision in decisions.items()
            },
            environment=facts.stated(),
            sources={fact: _source(at) for fact, at in facts.sources.items() if fact not in facts.ambiguous},
            version_pairs=[_version_pair(pair) for pair in facts.comparisons],
            missing=self._deserving(asked),
            known_problems=[
                *map(_unfit, misfits(facts, read.segments)),
                *(
                    KnownProblem(problem=item.problem, remedy=item.remedy, source=item.source)
                    for item in known_bad(facts, report, _packages(read))
                ),
            ],
            checks=checks_of(decisions, taxonomy, situation, rivals),
            differential=rivals,
            # They are bugs, with their fixes.
            similar=None if self.similar is None else list(self.similar) if _applies(decisions) else [],
            own=None if self.own is None else list(self.own),
            signs=signs_of(self.read, self.releases, is_failure=_applies(decisions)),
        )

    def _axis(self, decision: Decision, ranked: Sequence[tuple[str, float]], taxonomy: Taxonomy) -> AxisVerdict:
        axis, family_probability = decision.axis, decision.family_probability
        applicable = decision.outcome is not Outcome.NOT_APPLICABLE
        thresholds = self.bundle.manifest.axes[axis].thresholds
        least = {target: labels.get(decision.label) for target, labels in thresholds.items()}
        return AxisVerdict(
            outcome=decision.outcome,
            label=decision.label,
            probability=round(decision.probability, 4),
            precision=measured_precision(decision.probability, least),
            family=decision.family,
            family_probability=None if family_probability is None else round(min(1.0, family_probability), 4),
            reason=decision.reason,
            silence=decision.silence,
            top=[LabelProbability(label=label, probability=round(p, 4)) for label, p in ranked[:3]],
            advice=taxonomy.axes[axis].label(decision.label).advice or None,
            evidence=list(self.evidence[axis]) if self.evidence is not None and applicable else None,
        )

    def _asked(self, decisions: Mapping[str, Decision], situation: Situation, *, in_domain: bool) -> list[MissingFact]:
        thin = self.read.is_thin
        if not _applies(decisions) or not (in_domain or thin) or self.read.tells_no_failure or self.read.is_solved:
            return []  # not about a failure that we could help with
        if self.read.unlearned is Unlearned.ALL and self.prediction.scores["kind"].ranked()[0][0] != "bug":
            return []  # perhaps no failure, and nobody has read it
        return missing_facts(
            self.read.facts,
            has_error=self._has_error(hangs=_hangs(decisions, self.bundle.taxonomy)),
            thin=thin,
            likely=self.bundle.taxonomy.labels_of(likely_labels(decisions)),
            situation=situation,
            segments=self.read.segments,
        )

    def _deserving(self, asked: list[MissingFact]) -> list[MissingFact]:
        if self.read.is_thin or len(self.read.report.body) < _LEAST_JUDGED:
            return asked  # nobody judged such reports, and any answer helps
        return [one for one in asked if deserves(QUESTION, self._measured, self.bundle.taxonomy, one.fact)]

    def _has_error(self, *, hangs: bool) -> bool:
        """Whether the report, or a log attached to it, has an error; for a hang, the stacks."""
        read = self.read
        stacks = any_of(_STACKS, folded(read.report.body)) or _FRAME.search(read.report.body) is not None
        if (hangs and stacks) or _attaches(read):
            return True
        if quotes_exception(read.input.title) or _SIGNAL.search(read.report.title):
            return True
        roles = {line.role for segment in read.segments.all for line in segment.lines}
        if hangs:  # the line "it hangs" does not count
            logs = folded("\n".join(one.text for one in read.segments.of(Kind.LOG, Kind.TRACEBACK)))
            return (
                any_of(_TIMED_OUT, logs)
                or _ERROR_TIMED_OUT.search(folded(read.report.body)) is not None
                or not roles.isdisjoint((Role.INITIATING, Role.CASCADE))
            )
        if Role.INITIATING not in roles and not roles.isdisjoint((Role.CASCADE, Role.TEARDOWN)):
            return "hangs" in read.situation.seen  # another process failed, unless none did
        return (
            bool(read.input.errors)
            or any(_ends_in_words(one.lines[-1].text) for one in read.segments.of(Kind.TRACEBACK))
            or _LEVEL.search(read.report.body) is not None
            or _announces_output(read)
            or "shows-error" in read.situation.seen
            or bool(QUOTED_ERROR.search(read.input.text))
        )


def _hangs(decisions: Mapping[str, Decision], taxonomy: Taxonomy) -> bool:
    """Whether a waiting run is likely: its error comes late, if at all."""
    return "hang" in meanings(taxonomy.labels_of(likely_labels(decisions)).values())


def _ends_in_words(line: str) -> bool:
    """Whether the last line of a traceback is its message, even without the exception's name."""
    return line[:1].isalpha() and not line.startswith("Traceback")


def _announces_output(known: ReadReport) -> bool:
    """Whether a sentence on an error comes before output: with a colon, or before more than lines of level INFO."""
    written = known.report.body.split("\n")
    return any(
        after.kind is Kind.LOG
        and before.lines
        and (said := _ANNOUNCED.search(before.lines[-1].text))
        and (
            said["bare"] is None
            or not all("INFO" in "".join(written[line.number - 1 : line.number]) for line in after.lines)
        )
        for before, after in pairwise(known.segments.all)
    )


def _source(at: Source) -> FactSource:
    return FactSource(segment=str(at.segment), line=at.line)


def _version_pair(pair: Comparison) -> VersionPair:
    works_at, fails_at = _source(pair.works_at), _source(pair.fails_at)
    return VersionPair(fact=pair.fact, works=pair.works, works_at=works_at, fails=pair.fails, fails_at=fails_at)


def _packages(read: ReadReport) -> Mapping[str, str]:
    return {name: version for name, (version, _) in listed(read.facts, read.segments).items()}


def _unfit(one: Misfit) -> KnownProblem:
    what, at, found_at = one.what, _source(one.at), _source(one.found_at)
    stated = {name: value for name, value in what._asdict().items() if name != "source"}
    mismatch = VersionMismatch(**stated, at=at, found_at=found_at)
    return KnownProblem(problem=str(what), remedy=what.remedy, source=what.source, mismatch=mismatch)


def _attaches(known: ReadReport) -> bool:
    """Whether a log is attached."""
    if _ATTACHMENT.search(known.report.body):
        return True
    own = folded(known.input.text)
    return any(not stands_before(_NOT_ATTACHED, own, said.start(), (".", ",", "(")) for said in _ATTACHED.finditer(own))


def _applies(decisions: Mapping[str, Decision]) -> bool:
    """Whether it is about a failure."""
    return all(decision.outcome is not Outcome.NOT_APPLICABLE for decision in decisions.values())
