"""`distriage serve` and `distriage worker` as two processes on one database, with the shipped model."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage_serving.configuration.model import RepositoryConfig
from distriage_serving.judging.judge import look
from distriage_serving.store import Store

from support import local_http
from support.app_key import APP_ID, app_key_pem
from support.checkout import REPOSITORY
from support.databases import new_sqlite
from support.github import GitHub
from support.server import listening, served
from support.waiting import WAIT_S, until

SECRET = "a secret that only GitHub knows"
ISSUE = "owner/repo#1"


@pytest.fixture
def github(app_github: GitHub) -> GitHub:
    return app_github


@pytest.mark.slow
def test_a_report_is_labelled_with_the_shipped_model(
    github: GitHub, shipped_bundle: Path, shipped_classifier: Classifier, tmp_path: Path
) -> None:
    title, _, body = (REPOSITORY / "examples" / "report.md").read_text(encoding="utf-8").partition("\n")
    github.open(ISSUE, title, body)
    said = look(shipped_classifier, IssueReport(title, body), RepositoryConfig()).verdict
    wanted = [f"{axis}: {said.axes[axis].label}" for axis in ("stage", "symptom") if said.axes[axis].outcome == "apply"]
    assert wanted
    (tmp_path / "key.pem").write_text(app_key_pem())
    settings = {
        "GITHUB_API_URL": github.url,
        "DISTRIAGE_DATABASE": new_sqlite(tmp_path / "store.db"),
        "DISTRIAGE_GITHUB_APP_ID": APP_ID,
        "DISTRIAGE_GITHUB_PRIVATE_KEY_FILE": str(tmp_path / "key.pem"),
        "DISTRIAGE_GITHUB_WEBHOOK_SECRET": SECRET,
    }
    payload = json.dumps(github.payload("opened", ISSUE)).encode()
    headers = {
        "X-GitHub-Event": "issues",
        "X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        "X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.encode(), payload, hashlib.sha256).hexdigest(),
        "Content-Type": "application/json",
    }
    with (
        served(shipped_bundle, tmp_path / "log", **settings, DISTRIAGE_WORKERS="0") as (_, port),
        (tmp_path / "worker.log").open("wb") as log,
    ):
        assert (
            local_http.post(f"http://127.0.0.1:{port}/github/webhook", content=payload, headers=headers).status_code
            == 202
        )
        assert github.labels(ISSUE) == []
        clean = {name: value for name, value in os.environ.items() if not name.startswith("DISTRIAGE_")}
        command = [sys.executable, "-m", "distriage", "worker", "--metrics-port", "0", "--model", str(shipped_bundle)]
        worker = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env={**clean, **settings})
        try:
            with Store.open(settings["DISTRIAGE_DATABASE"]) as store:
                until(lambda: worker.poll() is not None or store.counts()["jobs"]["done"] >= 2)  # the sweep, too
            probe = f"http://127.0.0.1:{listening(tmp_path / 'worker.log')}"
            assert local_http.get(f"{probe}/livez").status_code == 200
            assert local_http.get(f"{probe}/queue").status_code == 404
            metrics = local_http.get(f"{probe}/metrics").text
            assert 'distriage_jobs{state="done"} 2.0' in metrics and "distriage_ready 1.0" in metrics
            assert "distriage_delivery_to_label_seconds_count 1.0" in metrics
            assert re.search(r'^distriage_github_requests_total{status="200"} [1-9]', metrics, re.M)
            assert re.search(r'^distriage_reports_total{result="classified"} 1.0', metrics, re.M)
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(WAIT_S) == 0, (tmp_path / "worker.log").read_text()
        finally:
            worker.kill()
            worker.wait(WAIT_S)
    assert github.labels(ISSUE) == wanted
    logs = (tmp_path / "log").read_text() + (tmp_path / "worker.log").read_text()
    assert all("event" in json.loads(line) for line in logs.splitlines())
    assert "job_done" in logs and title not in logs and SECRET not in logs and "ghs_" not in logs
