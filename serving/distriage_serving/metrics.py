"""Counters for Prometheus, labelled by route, status, axis and outcome: a few dozen series without report names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from types import MappingProxyType
from typing import Final

import httpx
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

import distriage
from distriage.answer.verdict import Verdict
from distriage.model.bundle import Bundle
from distriage_serving.store import Figures

MEDIA_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
_SECONDS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_LONG_SECONDS: Final = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0, 14400.0)
# As `Store.figures` names them: help, labels. The database has them, so each process shows those of all.
_STORED: Final = {
    "deliveries": ("Webhook deliveries by state.", ("state",)),
    "jobs": ("Jobs on GitHub by state.", ("state",)),
    "jobs_waiting_longer": ("Jobs that have waited longer than 1m, 1h, 1d.", ("than",)),
    "jobs_oldest_seconds": ("How long the oldest waiting job or delivery has waited.", ()),
    "issues_waiting": ("Open issues in the queue that no person has decided on.", ()),
    "issues_oldest_seconds": ("Age of the oldest of these issues.", ()),
    "reviews": (
        "Reviews that stand, by axis and whether they agree with the model: yes, no, unknown.",
        ("axis", "agrees"),
    ),
    "database_bytes": ("Size of the database.", ()),
    "database_up": (
        "0 if the database did not answer (its other figures are then missing) or refused a write; else 1.",
        (),
    ),
    "second_reader_requests": (
        "Questions to the second reader by result: answered, budget, nonsense, refused, time-out, unreachable.",
        ("result",),
    ),
}


class Metrics:
    """The counters of one server; each has a registry of its own."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each, which nothing reads
        self.registry = registry = CollectorRegistry()
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        times = partial(Histogram, registry=registry, buckets=_SECONDS)
        ProcessCollector(registry=registry)
        self._build = Info("distriage_build", "Versions.", registry=registry)
        self._build.info(_versions())
        self.ready = gauge("distriage_ready", "1 once the model is loaded.")
        self.requests = counter("distriage_http_requests_total", "Requests answered.", ["method", "route", "status"])
        self.request_seconds = times("distriage_http_request_duration_seconds", "Time to answer.", ["route"])
        self.in_flight = gauge("distriage_http_requests_in_flight", "Requests under way.")
        self.received = counter("distriage_http_request_body_bytes_total", "Bodies read.")
        self.reports = counter(
            "distriage_reports_total",
            "Reports by what became of them: classified, out-of-domain, refused, failed.",
            ["result"],
        )
        self.decisions = counter("distriage_decisions_total", "Decisions by axis and outcome.", ["axis", "outcome"])
        self.queued = gauge("distriage_model_queue_reports", "Reports that wait for the model.", ["queue"])
        self.refused = counter(
            "distriage_model_queue_full_total", "Requests refused because too many reports waited.", ["queue"]
        )
        self.wait_seconds = times("distriage_model_queue_wait_seconds", "Time in the queue.", ["queue"])
        self.report_seconds = times("distriage_report_duration_seconds", "Time of one report in the model.", ["queue"])
        self.unsigned = counter(
            "distriage_signatures_refused_total", "Webhook deliveries without a valid signature, refused."
        )
        self.label_seconds = times(
            "distriage_delivery_to_label_seconds",
            "Time from a delivery to the labels that follow from it (in a dry run, to the plan).",
            buckets=_LONG_SECONDS,
        )
        self._github = counter("distriage_github_requests_total", "Requests to GitHub by status.", ["status"])
        self._github_left = gauge(
            "distriage_github_limit_remaining",
            "Requests left of GitHub's rate limit, as its last answer said.",
            ["resource"],
        )
        self.indexes = gauge("distriage_indexes", "Repositories with a loaded index: past issues, own labels.", ["of"])
        self._stored = _Stored()
        self.registry.register(self._stored)

    def loaded(self, bundle: Bundle) -> None:
        """The model is there."""
        self._build.info({**_versions(), "model": bundle.manifest.name, "taxonomy_version": bundle.taxonomy.version})
        self.ready.set(1)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self.requests.labels(method if method in _METHODS else "other", route, str(status)).inc()
        self.request_seconds.labels(route).observe(seconds)

    def decided(self, verdict: Verdict) -> None:
        """Count one verdict."""
        self.reports.labels("classified" if verdict.in_domain else "out-of-domain").inc()
        for axis, said in verdict.axes.items():
            self.decisions.labels(axis, said.outcome).inc()

    def github_answered(self, response: httpx.Response) -> None:
        """Count one request to GitHub; a hook of httpx."""
        self._github.labels(str(response.status_code)).inc()
        left = response.headers.get("x-ratelimit-remaining", "")
        if left.isascii() and left.isdigit():
            self._github_left.labels(response.headers.get("x-ratelimit-resource", "core")).set(int(left))

    def stored(self, figures: Figures) -> None:
        """Show the store's figures, or none while the database is gone."""
        self._stored.figures = {"database_up": {(): 0.0}, **figures}

    def text(self) -> bytes:
        """All of it, in Prometheus' text format 0.0.4."""
        return generate_latest(self.registry)


class _Stored(Collector):
    figures: Figures = MappingProxyType({})

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        for name, (help_text, labels) in _STORED.items():
            kind = CounterMetricFamily if name == "second_reader_requests" else GaugeMetricFamily
            family = kind(f"distriage_{name}", help_text, labels=labels)
            for values, number in self.figures.get(name, {}).items():
                family.add_metric(values, number)
            yield family


def _versions() -> dict[str, str]:
    return {"version": distriage.__version__, "python": ".".join(map(str, sys.version_info[:3]))}
