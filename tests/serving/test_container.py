"""Dockerfile, compose.yaml, deploy/kubernetes.yaml and docs/operators.md."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import yaml

from distriage_serving.bot.deliveries import effect_of
from distriage_serving.metrics import Metrics
from distriage_serving.settings import Settings
from distriage_serving.store import Store
from distriage_serving.web.guard import WEBHOOK

from support import container, local_http
from support.checkout import REPOSITORY
from support.waiting import WAIT_S, until

DOCKERFILE = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent
TOKEN = "an admin token of the tests"


def checked(*command: object) -> None:
    done = subprocess.run([str(part) for part in command], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# ---------------------------------------------------------------- against linter and schemas


def test_hadolint_has_nothing_to_say_of_the_dockerfile() -> None:
    checked(BIN / "hadolint", "Dockerfile")


def test_compose_yaml_is_as_compose_reads_it() -> None:
    checked(BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml")
    services = yaml.safe_load((REPOSITORY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    for name in ("server", "worker"):
        assert services[name]["read_only"] and services[name]["cap_drop"] == ["ALL"]


@pytest.mark.parametrize("name", ["kubernetes", "relearn", "worker"])
def test_kubernetes_yaml_is_as_kubernetes_reads_it(name: str) -> None:
    checked(BIN / "kubernetes-validate", "--strict", f"deploy/{name}.yaml")


def test_the_replicas_of_kubernetes_share_a_database_or_do_not_start() -> None:
    text = (REPOSITORY / "deploy" / "kubernetes.yaml").read_text(encoding="utf-8")
    deployment = next(part for part in yaml.safe_load_all(text) if part["kind"] == "Deployment")
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    environment = {entry["name"]: entry for entry in container["env"]}
    assert environment["DISTRIAGE_REPLICAS"]["value"] == str(deployment["spec"]["replicas"])
    # The Secret gives the database; test_rolling_restart.py sees that replicas on SQLite do not start.
    assert "DISTRIAGE_DATABASE" not in environment and not container["envFrom"][0]["secretRef"].get("optional", False)


def test_action_yml_is_as_github_reads_it() -> None:
    checked(BIN / "check-jsonschema", "--builtin-schema", "vendor.github-actions", "action.yml")


def test_the_lock_holds_the_extra_serve_and_nothing_of_training() -> None:
    lock = (REPOSITORY / "requirements-serve.txt").read_text(encoding="utf-8")
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    extra = re.search(r"^serve = \[\n(.*?)^\]", project, re.M | re.S)
    assert extra is not None
    wanted = {name.lower() for name in re.findall(r'^    "([\w-]+)', extra[1], re.M)}
    locked = set(re.findall(r"^([a-z0-9-]+)==", lock, re.M))
    assert len(wanted) > 3 and wanted <= locked
    assert locked.isdisjoint({"torch", "transformers", "datasets", "scikit-learn", "onnx", "matplotlib"})
    blocks = [block for block in re.split(r"\n(?=[a-z])", lock) if "==" in block and not block.startswith("#")]
    assert len(blocks) > 30 and all("--hash=sha256:" in block for block in blocks)


# ---------------------------------------------------------------- carried out


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[container.Stage]:
    """The image, on a file system in memory."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("mmdebstrap", "unshare", "chroot"))):
        pytest.skip("needs root and mmdebstrap: apt-get install mmdebstrap")
    pytest.importorskip("uv", reason="needs uv: pip install 'distriage[dev]'")
    folder = tmp_path_factory.mktemp("container")
    checked("mount", "-t", "tmpfs", "-o", "size=3g", "tmpfs", folder)
    try:
        context = container.context(REPOSITORY, folder / "context")
        yield container.build(DOCKERFILE, context, container.base(folder / "fresh"), folder)
    finally:
        checked("umount", "--lazy", folder)


@contextmanager
def started(image: container.Stage, log: Path) -> Iterator[tuple[httpx.Client, int]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = image.start(log, DISTRIAGE_PORT=str(port), DISTRIAGE_ADMIN_TOKEN=TOKEN)
    try:
        with local_http.Client(base_url=f"http://127.0.0.1:{port}", timeout=WAIT_S) as client:
            until(lambda: process.poll() is not None or is_ready(client))
            assert process.poll() is None, log.read_text()
            yield client, port
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(WAIT_S)


def is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.HTTPError:
        return False


def test_the_container_serves_without_rights_and_on_a_read_only_root(built: container.Stage, tmp_path: Path) -> None:
    assert built.user == "10001:10001"
    with started(built, tmp_path / "log") as (client, port):
        answer = client.post(
            "/v1/classify",
            json={"title": "NCCL timeout in all_reduce", "body": "Training hangs after 1200 steps on 2 nodes."},
        )
        assert answer.status_code == 200 and answer.json()["axes"]["symptom"]["label"]
        assert client.get("/queue").status_code in {200, 302, 303}
        healthy, not_there = (
            built.run("env", f"DISTRIAGE_PORT={number}", *built.healthcheck).returncode for number in (port, 1)
        )
        assert (healthy, not_there) == (0, 1)


def test_the_container_holds_the_runtime_alone(built: container.Stage) -> None:
    names = "from importlib.metadata import distributions; [print(each.name.lower()) for each in distributions()]"
    python = built.environment["PIP_PYTHON"]  # where `pip install` of an image made from this one installs
    installed = set(built.run(python, "-c", names).stdout.splitlines())
    assert {"fastapi", "onnxruntime", "sqlalchemy"} <= installed
    assert installed.isdisjoint({"torch", "transformers", "datasets", "scikit-learn", "onnx", "matplotlib", "pytest"})
    assert not (built.root / "source").exists()


# ---------------------------------------------------------------- docs/operators.md


OPERATORS = (REPOSITORY / "docs" / "operators.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_start_takes_the_settings_as_they_are_written(tmp_path: Path, shell: str) -> None:
    written = {
        "DISTRIAGE_DATABASE": "postgresql://u:p@h/d?sslmode=prefer&application_name=a",
        "DISTRIAGE_ADMINS": "ada:1:2  bob:3:4 ",
        "DISTRIAGE_ADMIN_TOKEN": "'a\"b$HOME`id`;c#d\\n\\",
        "http_proxy": "=*",
        "LAST": "without a line's end",
    }
    lines = ["# settings", "", *(f"{name}={value}" for name, value in written.items())]
    (tmp_path / "distriage.env").write_text("\n".join(lines))
    (start,) = re.findall(r"^while IFS= .*\n +distriage serve$", OPERATORS, re.MULTILINE)
    script = start.replace("distriage serve", "env --null")
    done = subprocess.run([shell, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    given = dict(entry.split("=", 1) for entry in done.stdout.split("\0") if entry)
    assert {name: given.get(name) for name in written} == written
    (tmp_path / "distriage.env").unlink()
    assert subprocess.run([shell, "-c", script], cwd=tmp_path, capture_output=True, check=False).stdout == b""


@pytest.mark.parametrize("runs", [True, False])
def test_the_backup_copies_the_database_that_is_there_and_makes_none(tmp_path: Path, runs: bool) -> None:
    on_host, in_container = re.findall(r"python -c \"[^\"]*backup[^\"]*\"", OPERATORS)
    assert on_host == in_container
    command = on_host.replace("python", sys.executable, 1)
    failed = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert failed.returncode == 1 and "unable to open database file" in failed.stderr
    assert list(tmp_path.iterdir()) == []
    with Store.open(f"sqlite:///{tmp_path / 'distriage.db'}") as store:
        store.save_repository("owner/repo", installation_id=7)
        if runs:  # what it wrote last is not in the file yet
            subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    if not runs:
        subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    with Store.open(f"sqlite:///{tmp_path / 'copy.db'}") as copy:
        assert [row.name for row in copy.list_repositories()] == ["owner/repo"]


def test_the_health_check_asks_no_proxy() -> None:
    check = re.search(r"^HEALTHCHECK .*\n +CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    assert check is not None
    command = [sys.executable, *json.loads(check[1])[1:]]
    proxies = dict.fromkeys(("HTTP_PROXY", "http_proxy"), "http://127.0.0.1:9")

    class Ready(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/readyz" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Ready) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            port = str(server.server_address[1])
            subprocess.run(command, env={**os.environ, **proxies, "DISTRIAGE_PORT": port, "NO_PROXY": ""}, check=True)
        finally:
            server.shutdown()
            thread.join(WAIT_S)


def test_compose_takes_the_settings_as_they_are_written() -> None:
    services = yaml.safe_load((REPOSITORY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    for name in ("server", "worker"):
        assert [file["format"] for file in services[name]["env_file"]] == ["raw"]


def test_the_docs_name_what_there_is() -> None:
    named = set(re.findall(r"\bDISTRIAGE_([A-Z_]+)", OPERATORS))
    assert len(named) > 8 and {name.removesuffix("_FILE") for name in named} <= {
        name.upper() for name in Settings.model_fields
    }
    assert {"GITHUB_APP_ID", "GITHUB_PRIVATE_KEY_FILE", "GITHUB_WEBHOOK_SECRET", "DATABASE", "ADMIN_TOKEN"} <= named


def test_the_metrics_that_the_docs_name_exist() -> None:
    pages = [page.read_text(encoding="utf-8") for page in (REPOSITORY / "docs").glob("*.md")]
    named = {name for page in pages for name in re.findall(r"`(distriage_\w+_total)", page)}
    assert named and named <= set(re.findall(r"^# HELP (\S+)", Metrics().text().decode(), re.MULTILINE))


def test_the_app_that_the_docs_register_has_the_permissions_that_the_bot_uses() -> None:
    address = re.search(r"https://github\.com/settings/apps/new\?\S+", OPERATORS)
    assert address is not None
    query = parse_qs(urlsplit(address[0]).query)
    assert {name: query[name] for name in query if query[name][0] in {"read", "write"}} == {
        "issues": ["write"],
        "metadata": ["read"],
        "contents": ["read"],
        "pull_requests": ["read"],
        "checks": ["write"],
    }
    assert query["webhook_url"][0].endswith(WEBHOOK)
    known = {"issues", "issue_comment", "pull_request", "push", "repository"}
    assert set(query["events[]"]) == known
    for event in known:
        assert "nothing to do for the event" not in str(effect_of(event, {"installation": {"id": 1}}))
