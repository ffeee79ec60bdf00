"""Deliveries that GitHub could not hand over are asked for again: it does not try again by itself. Network I/O.

https://docs.github.com/en/webhooks/using-webhooks/automatically-redelivering-failed-deliveries-for-a-github-app-webhook
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

from distriage.base.errors import GitHubError, RefusedError
from distriage.base.times import epoch_s
from distriage.github.client import Client
from distriage_serving.bot.follow_up import Done
from distriage_serving.bot.reconcile import due
from distriage_serving.bot.suggestions.hourly import due_polls
from distriage_serving.github.app_auth import App
from distriage_serving.logs import log
from distriage_serving.store import Store, sweep_job

SWEEP_EVERY_S: Final = 600.0
PURGE_AFTER_S: Final = 30 * 86400.0
LOOK_BACK_S: Final = 3 * 86400  # the age of GitHub's oldest deliveries
LONGEST_PAUSE_S: Final = 6 * 3600.0
MAX_PAGES: Final = 50  # of a hundred deliveries, the latest first; a busy App's older ones are left to the comparison
_OWN_REFUSALS: Final = frozenset({409, 413, 415})  # the same again would be refused again


def look_around(store: Store, app: App) -> Done:
    """Do all that no event asks for: forget old data, ask for lost deliveries and decisions, compare repositories."""
    store.put_job(sweep_job(), store.clock() + SWEEP_EVERY_S)
    store.purge(PURGE_AFTER_S)
    store.forget_left(PURGE_AFTER_S)
    jobs = (*due(store, SWEEP_EVERY_S), *due_polls(store))
    try:
        asked = sweep(app.client(), store.clock())
    except GitHubError as error:  # the comparison finds lost events, so it must not wait for the deliveries
        log(logging.WARNING, "deliveries_not_swept", error, github_status=error.status)
        return Done(str(error), jobs=jobs)
    return Done(f"deliveries asked for again: {asked}" if asked else None, jobs=jobs)


def sweep(client: Client, now: float) -> int:
    """Ask for each event of the last days that never arrived, with growing pauses: our server may be away for long.

    Args:
        client: Authenticated as the App itself.

    Returns:
        The number of requests.

    Raises:
        GitHubError: GitHub is out of reach or refuses.
    """
    attempts: dict[str, list[Mapping[str, Any]]] = {}
    for deliveries, _ in islice(client.pages("/app/hook/deliveries", {}), MAX_PAGES):
        recent = [delivery for delivery in deliveries if epoch_s(delivery.get("delivered_at")) >= now - LOOK_BACK_S]
        for delivery in recent:
            attempts.setdefault(str(delivery.get("guid")), []).append(delivery)
        if len(recent) < len(deliveries):
            break
    asked = 0
    for tries in attempts.values():  # the latest first
        codes = [code for attempt in tries if isinstance(code := attempt.get("status_code"), int)]
        if not _is_due(tries, now) or any(200 <= code < 300 or code in _OWN_REFUSALS for code in codes):
            continue
        try:
            client.write("POST", f"/app/hook/deliveries/{tries[0].get('id')}/attempts", None, repeatable=True)
        except RefusedError as error:
            log(logging.WARNING, "redelivery_refused", status=error.status)
        else:
            asked += 1
    return asked


def _is_due(tries: Sequence[Mapping[str, Any]], now: float) -> bool:
    """Whether the last attempt is as long ago as all attempts together took, and the event is not older than the list.

    Each attempt stays in GitHub's list for days, so without its first one an event would be asked for for ever.
    """
    last, first = (epoch_s(attempt.get("delivered_at")) for attempt in (tries[0], tries[-1]))
    return not tries[-1].get("redelivery") and now - last >= min(last - first, LONGEST_PAUSE_S)
