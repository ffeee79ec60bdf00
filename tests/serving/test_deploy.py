"""The samples of `deploy/`: alert rules and board against `/metrics`, and the proxies as they really run."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
import yaml

from distriage_serving.http_settings import MAX_WEBHOOK_BYTES
from distriage_serving.metrics import Metrics
from distriage_serving.settings import SECRETS

from support import local_http
from support.checkout import REPOSITORY
from support.waiting import WAIT_S, until

DEPLOY = REPOSITORY / "deploy"
ALERTS = yaml.safe_load((DEPLOY / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
BOARD = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))


def program(name: str, package: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        pytest.skip(f"needs {name}: apt-get install {package}")
    return found


# ---------------------------------------------------------------- Prometheus and Grafana


def test_alerts_and_board_ask_for_metrics_that_there_are() -> None:
    text = Metrics().text().decode()
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    known = {*kinds, *(f"{name}_{part}" for name, kind in kinds.items() if kind == "histogram" for part in ("bucket",))}
    expressions = [rule["expr"] for rule in ALERTS]
    expressions += [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]
    named = {name for expression in expressions for name in re.findall(r"\bdistriage_\w+", expression)}
    assert len(expressions) > 25 and named <= known, named - known


def test_prometheus_reads_the_rules_and_fires_them(tmp_path: Path) -> None:
    """Two hours: jobs wait, one is dead, a database is gone, and a stranger sends deliveries; the rest is well. In two
    others only a worker runs.
    """
    promtool = program("promtool", "prometheus")
    series = {
        'distriage_http_requests_total{instance="a",status="200"}': "0+4x120",
        'distriage_ready{instance="a"}': "1x120",
        'distriage_jobs{instance="a",state="dead"}': "0x30 1x90",
        'distriage_jobs_oldest_seconds{instance="a"}': "0+60x120",
        'distriage_database_up{instance="a"}': "1x120",
        'distriage_database_up{instance="b"}': "1x60 0x60",
        'distriage_signatures_refused_total{instance="a"}': "0+1x120",
        'distriage_github_limit_remaining{instance="a",resource="core"}': "4800x120",
        'distriage_github_requests_total{instance="a",status="401"}': "0x100 0+1x20",
    }
    labels = {
        "DistriageGivenUp": {"severity": "warning", "state": "dead"},
        "DistriageWorkWaits": {"severity": "critical"},
        "DistriageDatabaseIsGone": {"severity": "critical", "instance": "b"},
        "DistriageGitHubRefusesTheApp": {"severity": "critical", "instance": "a", "status": "401"},
        "DistriageSignaturesRefused": {"severity": "warning", "instance": "a"},
    }
    checks = [
        {
            "eval_time": "115m",
            "alertname": rule["alert"],
            "exp_alerts": [{"exp_labels": labels[rule["alert"]], "exp_annotations": rule["annotations"]}]
            if rule["alert"] in labels
            else [],
        }
        for rule in ALERTS
    ]
    inputs = [{"series": name, "values": values} for name, values in series.items()]
    worker = {"series": 'distriage_ready{instance="worker"}', "values": "1x120"}
    fired = {"exp_labels": {"severity": "critical"}, "exp_annotations": ALERTS[0]["annotations"]}
    gone = {"eval_time": "115m", "alertname": "DistriageIsGone", "exp_alerts": [fired]}
    test = {
        "rule_files": [str(DEPLOY / "alerts.yaml")],
        "tests": [
            {"interval": "1m", "input_series": inputs, "alert_rule_test": checks},
            {"interval": "1m", "input_series": [worker], "alert_rule_test": [gone]},
        ],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test))
    done = subprocess.run(
        [promtool, "test", "rules", str(tmp_path / "test.yaml")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_expression_of_the_board_is_one_of_prometheus(tmp_path: Path) -> None:
    promtool = program("promtool", "prometheus")
    targets = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]
    rules = [{"record": f"panel:{place}", "expr": expression} for place, expression in enumerate(targets)]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))
    subprocess.run([promtool, "check", "rules", str(tmp_path / "rules.yaml")], check=True)


def test_the_panels_of_the_board_lie_beside_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken and max(x for x, _ in cells) < 24
        taken |= cells
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])


# ---------------------------------------------------------------- Kubernetes


def test_the_kustomization_names_the_manifests() -> None:
    named = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text(encoding="utf-8"))
    documents = [
        document for name in named["resources"] for document in yaml.safe_load_all((DEPLOY / name).read_text("utf-8"))
    ]
    deployments = [document for document in documents if document["kind"] == "Deployment"]
    assert len(deployments) == 2
    total = sum(deployment["spec"]["replicas"] for deployment in deployments)
    for deployment in deployments:
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert container["image"].partition(":")[0] == named["images"][0]["name"]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        scraped = deployment["spec"]["template"]["metadata"]["annotations"]["prometheus.io/port"]
        assert scraped in map(str, ports.values())
        assert {container[probe]["httpGet"]["port"] for probe in ("startupProbe", "livenessProbe")} <= ports.keys()
        environment = {entry["name"]: entry.get("value") for entry in container["env"]}
        assert 1 < int(environment["DISTRIAGE_REPLICAS"] or 0) <= total
        assert not environment.keys() & {
            f"DISTRIAGE_{name.upper()}" for name in SECRETS
        }  # the Secret may name a file instead, and not both


def test_the_ingress_passes_what_the_other_proxies_pass() -> None:
    manifest = yaml.safe_load((DEPLOY / "ingress.yaml").read_text(encoding="utf-8"))
    ingress, annotations = manifest["spec"], manifest["metadata"]["annotations"]
    assert annotations["nginx.ingress.kubernetes.io/proxy-body-size"] == f"{MAX_WEBHOOK_BYTES >> 20}m"
    (rule,) = ingress["rules"]
    paths = {each["path"]: each["pathType"] for each in rule["http"]["paths"]}
    nginx_conf = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    (passed,) = re.findall(r"location ~ \^/\((\S+)\) {", nginx_conf)
    kinds = {"$": "Exact", "(/|$)": "Prefix"}
    named = re.findall(r"([a-z/]*)(\$|\(/\|\$\))(?:\||$)", passed)
    assert paths == {f"/{path}": kinds[end] for path, end in named} and len(paths) == 5
    services = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")))
    (service,) = [each for each in services if each["kind"] == "Service"]
    for each in rule["http"]["paths"]:
        reached = each["backend"]["service"]
        assert reached["name"] == service["metadata"]["name"]
        assert reached["port"]["name"] in {port["name"] for port in service["spec"]["ports"]}


# ---------------------------------------------------------------- proxies


class Upstream(BaseHTTPRequestHandler):
    """Says how a request came."""

    def do_POST(self) -> None:
        size = len(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        body = json.dumps({"path": self.path, "size": size, "headers": dict(self.headers)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *_: object) -> None:
        """Quiet."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def caddy(folder: Path, port: int, upstream: int) -> list[str]:
    text = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    text = text.replace("triage.example.org", f"http://:{port}").replace("127.0.0.1:8000", f"127.0.0.1:{upstream}")
    (folder / "Caddyfile").write_text("{\n\tadmin off\n\tdefault_bind 127.0.0.1\n}\n" + text)
    return [program("caddy", "caddy"), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


def nginx(folder: Path, port: int, upstream: int) -> list[str]:
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    text = text.replace("443 ssl", f"127.0.0.1:{port}").replace("127.0.0.1:8000", f"127.0.0.1:{upstream}")
    text = re.sub(r" +ssl_certificate.*\n", "", text)
    temporary = " ".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.geteuid() == 0 else ""  # else it could not write into the test's folder
    (folder / "nginx.conf").write_text(
        f"daemon off; {user} pid {folder}/pid; error_log stderr; events {{}}\n"
        f"http {{ access_log off; {temporary}\n{text}}}"
    )
    return [program("nginx", "nginx-light"), "-e", "stderr", "-c", str(folder / "nginx.conf")]


@contextmanager
def proxied(which: str, folder: Path) -> Iterator[httpx.Client]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as upstream:
        thread = threading.Thread(target=upstream.serve_forever)
        thread.start()
        port = free_port()
        command = {"caddy": caddy, "nginx": nginx}[which](folder, port, upstream.server_address[1])
        home = {"HOME": str(folder), "PATH": "/usr/sbin:/usr/bin:/bin"}
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=home)
        try:
            with local_http.Client(base_url=f"http://127.0.0.1:{port}", timeout=WAIT_S) as client:
                until(lambda: process.poll() is not None or answers(client))
                assert process.poll() is None, (folder / "log").read_text()
                yield client
        finally:
            process.terminate()
            process.wait(WAIT_S)
            upstream.shutdown()
            thread.join(WAIT_S)


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/queue").status_code == 200
    except httpx.HTTPError:
        return False


@pytest.mark.parametrize("which", ["caddy", "nginx"])
def test_the_sample_proxy_passes_what_people_and_github_need_and_nothing_else(which: str, tmp_path: Path) -> None:
    with proxied(which, tmp_path) as client:
        for path in ("/", "/queue", "/queue/o/r/7?a=b", "/queue/static/queue.css", "/login/github/callback", "/logout"):
            assert client.get(path).json()["path"] == path
        for path in ("/metrics", "/livez", "/readyz", "/v1/models", "/docs", "/queued", "/github", "/github/webhooks"):
            assert client.get(path).status_code == 404, path
        body = b"x" * MAX_WEBHOOK_BYTES
        assert client.post("/github/webhook", content=body).json()["size"] == MAX_WEBHOOK_BYTES
        with suppress(httpx.WriteError):  # it hangs up
            assert client.post("/github/webhook", content=body + b"x").status_code in {413, 502}
        seen = client.get("/queue", headers={"X-Forwarded-For": "203.0.113.9", "Host": "triage.example.org"}).json()
        assert seen["headers"]["X-Forwarded-For"] == "127.0.0.1" and seen["headers"]["Host"] == "triage.example.org"
        assert seen["headers"]["X-Forwarded-Proto"] == "http"
