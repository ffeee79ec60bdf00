"""One issue: read it, note people's decisions, judge it, plan, carry the plan out. Network and database I/O.

All work follows from the current state of GitHub and the store, never from the event that led here. So doing it twice
is the same as once, and the next worker makes up for one that died midway.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from distriage.answer.verdict import Verdict
from distriage.base.errors import NotFoundError, TransferredError
from distriage.base.references import IssueReference
from distriage.base.types import IssueReport
from distriage.github.client import Client
from distriage.github.forms import form_lines
from distriage.github.releases import kept_releases
from distriage_serving.bot.asking.questions import hear_answers
from distriage_serving.bot.follow_up import Done
from distriage_serving.bot.people import is_decided, observe, with_backfilled, with_decisions
from distriage_serving.bot.remembered import (
    keep_plan,
    label_names,
    under_names_of_today,
    with_labels_of_app,
)
from distriage_serving.bot.repositories import CurrentConfig, current_config, followed, is_deleted, last_config
from distriage_serving.bot.suggestions import decided, kept
from distriage_serving.configuration.model import RepositoryConfig
from distriage_serving.configuration.names import Names, resolve
from distriage_serving.github.executor import execute
from distriage_serving.github.fields import read_fields
from distriage_serving.github.issue import ReadIssue, read_issue, under_new_names
from distriage_serving.github.suggestions import OFF
from distriage_serving.judging.judge import Judge, with_answer
from distriage_serving.judging.keeping import keep_issue
from distriage_serving.judging.two_readers import TwoReaders, is_awaited
from distriage_serving.planning.plan import make_plan
from distriage_serving.planning.signs import needs_releases, with_signs
from distriage_serving.planning.types import IssueState, LeftOut
from distriage_serving.planning.undo import take_off_plan
from distriage_serving.store import (
    Issue,
    Job,
    SecondReadArgument,
    Store,
    answer_of,
    report_digest,
    review_of,
    second_read_job,
    triage_job,
)


@dataclass(frozen=True, slots=True)
class Backfilling:
    """What a person asks for.

    Attributes:
        config: Instead of the repository's own.
        take_off: Only take off the labels that Distriage set and that no person decided on.
    """

    config: RepositoryConfig
    take_off: bool = False


def triage(
    client: Client,
    store: Store,
    judge: Judge,
    reference: IssueReference,
    installation_id: int | None,
    asked: Backfilling | None = None,
) -> Done:
    """Bring an issue into the state that model, configuration and people ask for.

    While the repository's configuration is broken, only the writing on GitHub is held back.

    Args:
        asked: By `distriage backfill`.

    Raises:
        InputError: the report cannot be classified.
        TransferredError: the repository has moved; its stored data has moved too.
        RateLimitError: a limit is reached; finished changes stay.
        GitHubError: GitHub is out of reach or refuses.
    """
    taxonomy = judge.bundle.taxonomy
    try:
        issue = read_issue(client, reference)
    except TransferredError as error:
        if followed(client, store, reference.repository) is not None:
            raise
        store.set_state(reference, "transferred", store.clock())
        return Done(str(error), nothing_to_do=True)
    except NotFoundError as error:
        if is_deleted(client, reference, error):
            store.set_state(reference, "deleted", store.clock())
        return Done(str(error), nothing_to_do=True)
    if issue.state.is_pull_request:
        return Done("it is a pull request", nothing_to_do=True)
    account = client.login if installation_id is None else None  # in whose name `distriage backfill` writes
    issue = with_backfilled(issue, store.backfilled(reference), account)
    current = (
        CurrentConfig(asked.config)
        if asked is not None
        else current_config(client, store, taxonomy, reference.repository, installation_id)
    )
    with store.transaction():
        if kept.is_off(store, reference.repository):
            current = replace(current, config=current.config.model_copy(update={"suggestions": "off"}))
        names = resolve(current.config, taxonomy, issue.labels_there)
        issue = under_new_names(under_names_of_today(store, issue, names), names.renamed)
    take_off = asked is not None and asked.take_off
    if take_off:
        issue = with_labels_of_app(issue)
    rows = decided.poll(client, store, reference, issue.label_ids, is_app=installation_id is not None).rows
    issue = decided.with_approvals(issue, rows)
    issue = replace(issue, state=replace(issue.state, suggested=tuple(map(kept.as_known, rows))))
    if any(axis.field is not None for axis in names.labelled()):
        fields = read_fields(client, reference.repository)
        issue = replace(issue, state=replace(issue.state, known_fields=fields))
    answer = hear_answers(store, issue)
    report = with_answer(replace(issue.report, forms=form_lines(client, reference.repository)), answer)
    seen = judge.look(report, current.config, issue.created_at)
    verdict, model = seen.verdict, judge.bundle.manifest.name
    keep_issue(store, _row(issue), seen.past, model, issue.github_id)
    releases = kept_releases(client, reference.repository) if needs_releases(names) else ()
    wants_duplicates = current.config.name_duplicates or current.config.suggestions != "off"
    if wants_duplicates and judge.past is not None:
        same = judge.past.duplicates(replace(seen.past, releases=releases), model)
        verdict = verdict.model_copy(update={"duplicates": same})
        ids = judge.past.github_ids(reference.repository, same or (), model)
        issue = replace(issue, state=replace(issue.state, github_ids=ids))
    verdict = with_signs(verdict, report, names, releases, issue.created_at)
    issue, names, found = _ask(client, store, issue, verdict, names)
    with store.transaction():
        store.save_issue(_row(issue))
        state = _state(store, issue, verdict, names)
        plan = take_off_plan(state, names) if take_off else make_plan(verdict, state, names)
        if is_awaited(verdict):  # the second reader may settle the first one's doubts
            plan = plan.without_suggestions()
        if current.error is not None:
            why = LeftOut("issue", "the configuration is broken; the labels wait until it is repaired")
            plan = replace(plan, dry_run=True, left_out=(why, *plan.left_out))
        kept.begin(store, plan, issue.label_ids)
        verdict_id = keep_plan(store, issue, verdict, plan, names, account)
        row = store.get_repository(reference.repository, lock=True) if current.error is not None else None
        repaired = row is not None and row.config_error is None  # meanwhile, and held issues were released
        store.hold(reference, held=current.error is not None and not repaired)
    done = execute(plan, client)
    found = kept.note(store, plan, done, issue.label_ids) or found
    held = {one.value for one in done.suggested}  # by GitHub, which requires a person's approval
    refused = {one for one in {*plan.changes} - {*done.changes} if one.name not in held} if not plan.dry_run else set()
    if not plan.dry_run:
        # The second reader may still change a rewritten report's labels; type and comment say nothing of those.
        complete = not is_awaited(verdict) and not any(change.kind in {"label", "off"} for change in refused)
        labels = {*issue.state.labels, *done.labels_added} - {*done.labels_taken_off}
        has_type = done.issue_type or issue.state.issue_type
        store.note_outcome(verdict_id, labels, has_type, done.warnings, complete=complete)
    notes = [*([current.error] if current.error is not None else []), *done.warnings, *filter(None, [found])]
    jobs = [second_read_job(reference, installation_id)] if is_awaited(verdict) else []
    jobs += [triage_job(reference, installation_id)] if repaired else []
    return Done(
        "; ".join(notes) or None,
        remark=found,
        changes=plan.changes if plan.dry_run else done.changes,
        refused=bool(refused),
        jobs=tuple(jobs),
    )


def _ask(
    client: Client, store: Store, issue: ReadIssue, verdict: Verdict, names: Names
) -> tuple[ReadIssue, Names, str | None]:
    """Ask whether the repository takes suggestions, and for existing ones, if something is to be suggested.

    Returns:
        The issue with these; the names, without suggestions if it takes none; why.
    """
    if names.config.suggestions == "off" or is_awaited(verdict):
        return issue, names, None
    with store.transaction():
        store.save_issue(_row(issue))
        plan = make_plan(verdict, _state(store, issue, verdict, names), names)
    if not plan.suggestions or not plan.writes:
        return issue, names, None
    there = decided.ask(client, store, issue, names)
    if there is None:
        off = names.config.model_copy(update={"suggestions": "off"})
        return issue, resolve(off, names.taxonomy, names.there), OFF
    known = (*there, *issue.state.suggested)
    return replace(issue, state=replace(issue.state, suggested=known)), names, None


def read_again(client: Client, store: Store, judge: Judge, job: Job) -> Done:
    """Ask the second reader about a stored issue, keep the answer, and let the triage continue with it.

    Writes nothing on GitHub, so it can be done twice, or take long.

    Raises:
        InputError: the report cannot be classified.
        GitHubError: GitHub is out of reach or refuses.
    """
    issue = store.get_issue(job.repository, job.issue or 0)
    if not isinstance(judge, TwoReaders) or issue is None:
        return Done("the second reader is off" if issue is not None else "nothing is known of it", nothing_to_do=True)
    failures = SecondReadArgument.model_validate(job.argument or {}).failures
    if failures and issue.state != "open":
        return Done("the issue was closed meanwhile", nothing_to_do=True)
    report = IssueReport(issue.title, issue.body, str(issue.reference), form_lines(client, job.repository))
    report = with_answer(report, answer_of(store.acts(issue.reference)))
    note, wait_s = judge.read(report, last_config(store, job.repository), failures)
    jobs = [triage_job(issue.reference, job.installation_id)]
    now = store.get_issue(job.repository, job.issue or 0)
    is_same = now is not None and (now.title, now.body) == (issue.title, issue.body)
    if wait_s is not None and is_same:  # the triage asks about a text that was edited meanwhile
        again = second_read_job(issue.reference, job.installation_id)
        argument = SecondReadArgument(failures=failures + 1).model_dump()
        jobs.append(replace(again, argument=argument, due_at=store.clock() + wait_s))
    return Done(note, jobs=tuple(jobs))


def _row(issue: ReadIssue) -> Issue:
    state = issue.state
    return Issue(
        repository=state.issue.repository,
        number=state.issue.number,
        title=issue.report.title,
        body=issue.report.body,
        author=state.author,
        url=issue.url,
        created_at=issue.created_at,
        updated_at=issue.updated_at,
        state="open" if state.is_open else "closed",
        labels=sorted(state.labels),
        issue_type=state.issue_type,
        assignee=issue.assignee.lower(),
        comments=len(issue.comments),
        waits_since=issue.waits_since,
    )


def _state(store: Store, issue: ReadIssue, verdict: Verdict, names: Names) -> IssueState:
    """Keep the label history's reviews; return the state with all decisions of people."""
    reference = issue.state.issue
    before = store.latest_verdict(reference.repository, reference.number)
    said = before.verdict if before is not None else verdict
    standing = store.reviews(issue=reference)
    for seen in observe(issue, names):
        told = seen.review(said.axes.get(seen.axis))
        if told is None:
            continue
        label, predicted = told
        if is_decided(seen, predicted, standing, names):
            continue
        by = (seen.who, seen.how, seen.at)
        (review_id,) = store.add_reviews(review_of(reference, seen.axis, label, by, before or verdict, predicted))
        if seen.undone:
            store.undo_reviews(review_id)
    labelled = store.labelled_digest(reference.repository, reference.number)
    return replace(
        with_decisions(
            issue,
            store.reviews(issue=reference, undone=True),
            names,
            label_names(store, reference.repository),
        ),
        rewritten=labelled is not None and labelled != report_digest(issue.report.title, issue.report.body),
    )
