# ruff: noqa: F401, F811  # fixtures
"""What the server logs and counts: nothing of a report."""

from __future__ import annotations

import json
import logging

from prometheus_client.parser import text_string_to_metric_families

from distriage_serving.logs import JsonFormatter

from support.http_api import log_lines, post, server
from support.server import Running
from support.waiting import until


def test_metrics_count_and_hold_nothing_of_a_report(server: Running) -> None:
    post(server.client, {"title": "zebra hangs", "id": "owner/zebra#4711"})
    server.client.request("ZEBRA", "/zebra")
    text = server.client.get("/metrics").text
    assert "zebra" not in text.lower()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    (build,) = families["distriage_build_info"].samples
    assert (build.labels["model"], build.labels["taxonomy_version"], build.value) == ("toy", "1", 1)
    assert {sample.value for sample in families["distriage_ready"].samples} == {1}
    counted = {tuple(sample.labels.values()): sample.value for sample in families["distriage_http_requests"].samples}
    assert counted["POST", "/v1/classify", "200"] >= 1 and counted["other", "unmatched", "404"] == 1
    assert (
        sum(sample.value for sample in families["distriage_decisions"].samples if sample.labels["axis"] == "kind") >= 1
    )
    assert all(name.startswith(("distriage_", "process_")) for name in families)
    assert sum(len(family.samples) for family in families.values()) < 400


def test_log_lines_are_json_and_hold_no_text_of_an_issue(server: Running, log_lines: list[str]) -> None:
    calls = [
        {"title": "zebra hangs", "body": "zebra\n" * 3, "id": "zebra#1"},
        {"reports": [{"title": "zebra"}, {"id": "zebra"}], "explain": True},
        {"title": "zebra", "zebra": 1},
        {"title": ["zebra"]},
        {"id": "zebra"},
    ]
    ids = [post(server.client, call).headers["x-request-id"] for call in calls]
    server.client.get("/zebra?zebra=zebra", headers={"User-Agent": "zebra", "X-Request-Id": "zebra zebra"})
    server.client.request("ZEBRA", "/livez")
    until(lambda: sum('"request"' in line for line in log_lines) >= len(calls) + 2)
    lines = [json.loads(line) for line in log_lines]
    said = {line["request_id"]: line for line in lines if line.get("event") == "request"}
    assert set(ids) <= set(said)
    assert (
        said[ids[0]].items()
        >= {
            "method": "POST",
            "route": "/v1/classify",
            "status": 200,
            "reports": 1,
            "mode": "balanced",
            "level": "info",
        }.items()
    )
    assert said[ids[1]]["reports"] == 2 and said[ids[2]]["status"] == 422
    # The client's own log, which is in this process too, is not ours.
    ours = "".join(
        line
        for line, parsed in zip(log_lines, lines, strict=True)
        if not parsed["logger"].startswith(("httpx", "httpcore"))
    )
    assert "zebra" not in ours.lower().replace('"method": "zebra"', "")


def test_other_libraries_cannot_put_text_into_the_log() -> None:
    try:
        raise ValueError("zebra")
    except ValueError as error:
        record = logging.LogRecord(
            "asyncio",
            logging.ERROR,
            __file__,
            1,
            "never retrieved: zebra",
            (),
            (ValueError, error, error.__traceback__),
        )
    line = json.loads(JsonFormatter().format(record))
    assert (line["logger"], line["exception"]) == ("asyncio", "ValueError") and "zebra" not in json.dumps(line)
