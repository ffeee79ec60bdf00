"""Questions of maintainers to authors: written on GitHub, and their answers heard. Network and database I/O."""

from __future__ import annotations

from typing import Final

from distriage.base.references import IssueReference
from distriage.github.client import Client
from distriage_serving.bot.asking.thread import News
from distriage_serving.bot.follow_up import Done
from distriage_serving.github.issue import ReadIssue
from distriage_serving.github.thread.asking import marker_of, post, take_back
from distriage_serving.planning.marker import Marker
from distriage_serving.store import ASK, NOBODY_WAITS, Job, Store, report_digest, triage_job

MAX_ANSWER_CHARS: Final = 20_000


def ask(client: Client, store: Store, job: Job) -> Done:
    """Write the questions that maintainers put in the queue, or take them back.

    Raises:
        GitHubError: GitHub is out of reach or refuses; the worker notes a final refusal with the acts.
    """
    issue = IssueReference(job.repository, job.issue or 0)
    done = []
    for act in reversed(store.acts(issue)):
        marker, is_undone = marker_of(act.id, act.text or ""), act.undone_at is not None
        if act.what != ASK or act.refused is not None or (is_undone and not act.carried_out and job.attempts == 1):
            continue
        if is_undone:  # a worker that died may have written it although nothing is noted
            take_back(client, issue, marker)
            store.note_act(act, carried_out=False)
            done.append("taken back")
        elif not act.carried_out:
            post(client, issue, act.text or "", marker)
            store.note_act(act, carried_out=True)
            done.append("asked")
    return Done(", ".join(done) or "it was taken back before", nothing_to_do=not done)


def hear(store: Store, news: News, installation_id: int, debounce_s: float) -> bool:
    """Note a delivery's news of a thread; if the author answers a question, have the issue looked at.

    Returns:
        Whether that is to be.
    """
    since = NOBODY_WAITS if news.by_maintainer else news.at if news.by_author else None
    since = since if news.is_new else None
    store.note_thread(news.issue, news.comments, news.updated_at, since, news.state, news.assignee)
    if not news.by_author or not store.is_asked(news.issue):
        return False
    store.put_job(triage_job(news.issue, installation_id), store.clock() + debounce_s)
    return True


def hear_answers(store: Store, issue: ReadIssue) -> str:
    """Note the answers in an issue's thread, also those that no delivery told of.

    Returns:
        All that the author said since the first standing question, Markdown and hostile.
    """
    reference, answers = issue.state.issue, ""
    asked = [act for act in reversed(store.acts(reference)) if act.what == ASK and act.carried_out]
    for act in asked:
        if act.undone_at is not None:
            continue
        marker, place = marker_of(act.id, act.text or ""), None
        for at, comment in enumerate(issue.comments):
            if comment.by == "us" and Marker.read(comment.body) == marker:
                place = at
        since = issue.comments[place + 1 :] if place is not None else ()
        said = [one for one in since if one.by == "person" and one.who == issue.state.author]
        answer = "\n\n".join(one.body for one in said)[:MAX_ANSWER_CHARS]
        if answer and answer != act.answer:
            store.note_answer(act, answer, said[-1].at)
        elif act.answered_at is None and _is_rewritten(store, issue):
            store.note_answer(act, "", issue.updated_at)
        answers = answers or answer
    return answers


def _is_rewritten(store: Store, issue: ReadIssue) -> bool:
    known = store.get_issue(issue.state.issue.repository, issue.state.issue.number)
    return known is not None and known.digest != report_digest(issue.report.title, issue.report.body)
