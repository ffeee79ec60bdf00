"""Counters for Prometheus. Labels are routes, statuses, axes and outcomes: a few dozen series, never a report's
name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

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
from prometheus_client.metrics_core import CounterMetricFamily
from prometheus_client.registry import Collector

import distriage
from distriage.answer.verdict import Verdict
from distriage.model.bundle import Bundle

MEDIA_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
_SECONDS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


class Metrics:
    """The counters of one server; each has a registry of its own."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each, which nothing reads
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._build = Info("distriage_build", "Versions.", registry=self.registry)
        self._build.info(_versions())
        self.ready = Gauge("distriage_ready", "1 once the model is loaded.", registry=self.registry)
        self.requests = Counter(
            "distriage_http_requests_total", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self.request_seconds = Histogram(
            "distriage_http_request_duration_seconds",
            "Time to answer.",
            ["route"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.in_flight = Gauge("distriage_http_requests_in_flight", "Requests under way.", registry=self.registry)
        self.received = Counter("distriage_http_request_body_bytes_total", "Bodies read.", registry=self.registry)
        self.reports = Counter(
            "distriage_reports_total",
            "Reports by what became of them: classified, out-of-domain, refused, failed.",
            ["result"],
            registry=self.registry,
        )
        self.decisions = Counter(
            "distriage_decisions_total", "Decisions by axis and outcome.", ["axis", "outcome"], registry=self.registry
        )
        self.queued = Gauge(
            "distriage_queue_reports", "Reports that wait for the model.", ["queue"], registry=self.registry
        )
        self.refused = Counter(
            "distriage_queue_full_total",
            "Requests refused because the queue was full.",
            ["queue"],
            registry=self.registry,
        )
        self.wait_seconds = Histogram(
            "distriage_queue_wait_seconds", "Time in the queue.", ["queue"], buckets=_SECONDS, registry=self.registry
        )
        self.report_seconds = Histogram(
            "distriage_report_duration_seconds",
            "Time of one report in the model.",
            ["queue"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._second_reader = _SecondReader()
        self.registry.register(self._second_reader)
        self._work = {
            "deliveries": Gauge(
                "distriage_deliveries", "Webhook deliveries by state.", ["state"], registry=self.registry
            ),
            "jobs": Gauge(
                "distriage_jobs", "What is to be done on GitHub, by state.", ["state"], registry=self.registry
            ),
        }

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

    def stored(self, counts: Mapping[str, Mapping[str, int]]) -> None:
        """Show `Store.counts`; without any, because the database is gone, show no old ones."""
        for table, gauge in self._work.items():
            gauge.clear()
            for state, count in counts.get(table, {}).items():
                gauge.labels(state).set(count)

    def second_reader(self, counts: Mapping[str, int]) -> None:
        """Show `Store.reader_results`: sums over all processes, since workers may run beside the server."""
        self._second_reader.counts = counts

    def text(self) -> bytes:
        """All of it, in Prometheus' text format 0.0.4."""
        return generate_latest(self.registry)


class _SecondReader(Collector):
    """Counts that the store keeps."""

    counts: Mapping[str, int] = MappingProxyType({})

    def collect(self) -> Iterator[CounterMetricFamily]:
        family = CounterMetricFamily(
            "distriage_second_reader_requests",
            "Questions to the second reader by what became of them: answered, budget, nonsense, refused, time-out, "
            "unreachable.",
            labels=["result"],
        )
        for result, count in self.counts.items():
            family.add_metric([result], count)
        yield family


def _versions() -> dict[str, str]:
    return {"version": distriage.__version__, "python": ".".join(map(str, sys.version_info[:3]))}
