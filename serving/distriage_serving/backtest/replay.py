"""A history through the model, by date of filing. Runs the model; no other I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from distriage.answer.policy import decide
from distriage.base.errors import InputError
from distriage.base.types import Decision, IssueReport, Mode, Outcome
from distriage.classifier import Classifier
from distriage.github.history import History
from distriage.github.releases import Release
from distriage.model.bundle import thread_digests
from distriage.reading.report import ReadReport, read
from distriage.signs.find import signs_of
from distriage_serving.backtest.mapping import Meaning, truth_of
from distriage_serving.backtest.measure import Claim, Replayed


@dataclass(frozen=True, slots=True)
class Replay:
    """Issues that went through the model, and numbers of the others.

    Attributes:
        items: Ordered by date of filing.
        trained_on: Issues left out because the model was trained on them; None if it does not list them.
        by_bots: Issues that bots wrote, left out as the bot ignores them.
        unreadable: Issues that cannot be classified, such as empty ones.
        model_made_at: Day on which the model was made, Unix time in seconds, if known.
    """

    items: tuple[Replayed, ...]
    trained_on: int | None
    by_bots: int
    unreadable: int
    model_made_at: float | None


def replay(
    classifier: Classifier,
    repository: str,
    history: History,
    meaning: Meaning,
    never: frozenset[tuple[str, str]],
    progress: Callable[[int], None],
    releases: Sequence[Release] = (),
) -> Replay:
    """Classify.

    Args:
        never: The (axis, label) pairs that the repository's configuration never sets.
        progress: Called with the number of issues that are through.
        releases: Those of the repository, if a sign depends on them.
    """
    bundle, issues = classifier.bundle, history.issues
    known = bundle.trained_on or frozenset()
    seen = {issue.number for issue in issues if not known.isdisjoint(thread_digests(f"{repository}#{issue.number}"))}
    by_bots = {issue.number for issue in issues if issue.by_bot} - seen
    items: list[Replayed] = []
    unreadable = 0
    for issue in issues:
        if issue.number in seen or issue.number in by_bots:
            continue
        try:
            report = read(IssueReport(issue.title, issue.body, f"{repository}#{issue.number}", history.forms))
        except InputError:
            unreadable += 1
            continue
        truth = truth_of(issue.labels, meaning, issue.issue_type)
        decisions = _decided(classifier, report)
        is_failure = all(one.outcome is not Outcome.NOT_APPLICABLE for one in decisions[Mode.BALANCED].values())
        signs = frozenset(one.name for one in signs_of(report, releases, issue.created_at, is_failure=is_failure))
        items.append(Replayed(issue, _said(decisions, never), truth, signs))
        progress(len(items))
    return Replay(
        tuple(items),
        None if bundle.trained_on is None else len(seen),
        len(by_bots),
        unreadable,
        _day(bundle.manifest.provenance.created),
    )


def _decided(classifier: Classifier, report: ReadReport) -> Mapping[Mode, Mapping[str, Decision]]:
    bundle, prediction = classifier.bundle, classifier.predict(report)
    return {
        mode: decide(
            prediction,
            bundle.manifest.axes,
            bundle.taxonomy,
            mode,
            detail=report.detail,
            no_failure=report.tells_no_failure,
            unlearned=report.unlearned,
        )
        for mode in Mode
    }


def _said(decisions: Mapping[Mode, Mapping[str, Decision]], never: frozenset[tuple[str, str]]) -> Mapping[str, Claim]:
    said = {}
    for axis, decision in decisions[Mode.BEST].items():
        given = frozenset(mode for mode in Mode if decisions[mode][axis].outcome is Outcome.APPLY)
        may_be_set = (axis, decision.label) not in never
        said[axis] = Claim(
            label=decision.label,
            probability=decision.probability,
            applies=may_be_set and decision.outcome is not Outcome.NOT_APPLICABLE and decision.silence is None,
            modes=given if may_be_set else frozenset(),
        )
    return said


def _day(text: str) -> float | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
