"""One issue: read it, note what people said, judge it, plan, carry the plan out. Network and database I/O.

What is to be done follows from GitHub and the store as they are now, never from the event that led here. So doing it twice is the same as once, and
a worker that died in the middle is made up for by the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from distriage.classifier import Classifier
from distriage.errors import ConfigError, NotFoundError
from distriage.taxonomy import Taxonomy
from distriage.verdict import Verdict
from distriage_serving.bot.decisions import observe, with_decisions
from distriage_serving.executor import execute
from distriage_serving.github_rest import Client
from distriage_serving.github_state import ReadIssue, read_config, read_issue
from distriage_serving.judging import judge
from distriage_serving.plan import make_plan
from distriage_serving.plan_types import IssueState, Plan
from distriage_serving.repo_config import CONFIG_PATH, RepositoryConfig
from distriage_serving.store import Issue, PersonVerdict, Prediction, Repository, Store, report_digest


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a piece of work.

    Attributes:
        note: One line, for whoever looks at it; None: nothing to say.
        nothing_to_do: It was left alone, and `note` says why.
        then: What else to change in the store, in one transaction with the end of the job.
        labels: That were planned.
    """

    note: str | None = None
    nothing_to_do: bool = False
    then: Callable[[], None] | None = None
    labels: tuple[str, ...] = ()


def triage(
    client: Client,
    store: Store,
    classifier: Classifier,
    repository: str,
    number: int,
    installation_id: int | None,
    config: RepositoryConfig | None = None,
) -> Done:
    """Bring an issue into the state that model, configuration and people ask for.

    Args:
        config: In place of the repository's own.

    Raises:
        ConfigError: the repository's configuration is not valid.
        InputError: the report cannot be classified.
        RateLimitError: a limit is reached; what is done is done.
        GitHubError: GitHub cannot be reached or refuses.
    """
    taxonomy = classifier.bundle.taxonomy
    if config is None:
        config = _configuration(client, store, taxonomy, repository, installation_id)
    try:
        issue = read_issue(client, repository, number)
    except NotFoundError as error:
        mark(store, repository, number, "transferred" if "transferred" in str(error) else "deleted")
        return Done(str(error), nothing_to_do=True)
    if issue.state.is_pull_request:
        return Done("it is a pull request", nothing_to_do=True)
    verdict = judge(classifier, issue.report, config)
    with store.transaction():
        store.save_issue(_row(issue, repository))
        state = _hear_people(store, issue, verdict, config, taxonomy, repository)
        plan = make_plan(verdict, state, config, taxonomy)
        prediction_id = _keep(store, issue, verdict, plan, repository)
    done = execute(plan, client)
    if not plan.dry_run:
        store.mark_carried_out(prediction_id)
    return Done("; ".join(done.warnings) or None, labels=plan.labels)


def mark(store: Store, repository: str, number: int, state: str) -> None:
    """Note that an issue is closed, deleted or transferred; of one that was never seen nothing is noted."""
    issue = store.get_issue(repository, number)
    if issue is not None:
        issue.state = state  # type: ignore[assignment]
        store.save_issue(issue)


def _configuration(client: Client, store: Store, taxonomy: Taxonomy, repository: str, installation_id: int | None) -> RepositoryConfig:
    row = store.get_repository(repository) or Repository(name=repository, display_name=repository, seen_at=0.0)
    row.seen_at, row.installation_id, row.enabled = store.clock(), installation_id, True
    try:
        config = read_config(client, repository, CONFIG_PATH, taxonomy)
    except ConfigError as error:
        row.config_error = str(error)
        store.save_repository(row)
        raise
    row.config, row.config_error = config.model_dump(mode="json", by_alias=True, exclude_unset=True), None
    store.save_repository(row)
    return config


def _row(issue: ReadIssue, repository: str) -> Issue:
    state = issue.state
    return Issue(
        repository=repository,
        number=state.number,
        title=issue.report.title,
        body=issue.report.body,
        author=state.author,
        url=issue.url,
        created_at=issue.created_at,
        updated_at=issue.updated_at,
        state="open" if state.is_open else "closed",
        is_bot=state.author_is_bot,
        labels=sorted(state.labels),
    )


def _hear_people(store: Store, issue: ReadIssue, verdict: Verdict, config: RepositoryConfig, taxonomy: Taxonomy, repository: str) -> IssueState:
    """Keep what the label history says; return the state with all that people decided."""
    before = store.latest_prediction(repository, issue.state.number)
    said = before.verdict if before is not None else verdict
    for seen in observe(issue, config, taxonomy):
        axis = said.axes.get(seen.axis)
        predicted = seen.taken_off or (axis.label if axis is not None else None)
        (verdict_id,) = store.add_verdict(
            PersonVerdict(
                repository=repository,
                number=issue.state.number,
                axis=seen.axis,
                label=seen.label,
                who=seen.who,
                how=seen.how,
                at=seen.at,
                predicted_label=predicted,
                probability=axis.probability if axis is not None and axis.label == predicted else None,
                model=said.model,
                prediction_id=before.id if before is not None else None,
            )
        )
        if seen.undone:
            store.undo_verdict(verdict_id)
    return with_decisions(issue.state, store.verdicts(issue=(repository, issue.state.number), undone=True))


def _keep(store: Store, issue: ReadIssue, verdict: Verdict, plan: Plan, repository: str) -> int:
    """Save the prediction, unless it is the latest one over again."""
    digest = report_digest(issue.report.title, issue.report.body)
    before = store.latest_prediction(repository, issue.state.number)
    if before is not None and before.digest == digest and before.verdict.axes == verdict.axes and before.model == verdict.model:
        return before.id
    left_out = [{"what": item.what, "why": item.why} for item in plan.left_out]
    return store.save_prediction(
        Prediction(
            repository=repository,
            number=issue.state.number,
            model=verdict.model,
            taxonomy_version=verdict.taxonomy_version,
            digest=digest,
            verdict=verdict,
            made_at=store.clock(),
            plan={"labels": list(plan.labels), "left_out": left_out, "dry_run": plan.dry_run},
        )
    )
