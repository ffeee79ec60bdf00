"""Shared by all tests: reports, the command line, a stand-in for GitHub, and models built by the real pipeline. No test reaches a network."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import shutil
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import github_shapes
import keyword_model
import pytest
from databases import clock, database_url, postgresql_server, store  # noqa: F401  # fixtures
from hypothesis import HealthCheck, settings

from distriage.bundle import MANIFEST, default_model
from distriage.classifier import Classifier
from distriage.cli import main
from distriage.types import IssueReport

REPOSITORY = Path(__file__).parent.parent
CLOSED_PORT = "http://127.0.0.1:1"

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads do not outlive a fork
settings.register_profile("distriage", derandomize=True, deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("distriage")


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """No account of the person who runs the tests, and no GitHub unless a test starts its own."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "FORCE_COLOR", "PYTHONWARNINGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GITHUB_API_URL", CLOSED_PORT)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("COLUMNS", "100")


NCCL_TIMEOUT = """Training hangs after 1200 steps on 2 nodes with 8 A100 each.

```
[rank3]: RuntimeError: NCCL communicator was aborted on rank 3. Watchdog caught collective operation timeout
```
deepspeed 0.14.2, torch 2.3.0, Ubuntu 22.04
"""


def make_report(title: str = "NCCL timeout in all_reduce", body: str = NCCL_TIMEOUT, id: str = "owner/repo#1") -> IssueReport:  # noqa: A002
    """A plausible report; a test names only what it is about."""
    return IssueReport(title=title, body=body, id=id)


# ---------------------------------------------------------------- the command line


@dataclass(frozen=True)
class Finished:
    """What a call of the command line left behind."""

    code: int
    out: str
    err: str


Command = Callable[..., Finished]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Calls `distriage` through its entry point, in this process: `command("classify", path, stdin=b"...")`."""

    def run(*arguments: object, stdin: bytes = b"") -> Finished:
        monkeypatch.setattr(sys, "argv", ["distriage", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        code: object = 0
        try:
            main()
        except SystemExit as finished:
            code = finished.code
        assert code is None or isinstance(code, int), f"an exit with a message instead of a code: {code}"
        out, err = capsys.readouterr()
        return Finished(code or 0, out, err)

    return run


def assert_one_line(finished: Finished, *parts: str) -> None:
    """Exit code 2, nothing on standard output, one line on standard error that holds `parts`."""
    assert finished.code == 2, finished
    assert finished.out == ""
    assert finished.err.startswith("distriage: ") and finished.err.endswith("\n") and finished.err.count("\n") == 1, finished.err
    for part in parts:
        assert part in finished.err


# ---------------------------------------------------------------- GitHub


@dataclass(frozen=True)
class Request:
    """A request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Fault:
    """An answer in place of the right one; status 0 closes the connection without any."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def _message(text: str, status: int) -> str:
    return json.dumps({"message": text, "documentation_url": "https://docs.github.com/rest", "status": str(status)})


class FakeGitHub:
    """The part of GitHub's REST API that is called here, on a local port: real HTTP, answers in the shapes that GitHub gives.

    Attributes:
        url: For GITHUB_API_URL.
        issues: `owner/repo#12` -> GitHub's JSON of the issue; `add` makes one. Absent: 404.
        gone: Deleted issues, 410.
        private: Issues that are shown only to `token`, 404 to others.
        moved: Issue -> where it was transferred to, 301.
        requests: All that arrived, in order.
        faults: Answers for the next requests, used up first.
    """

    token = "ghp_valid0000000000000000000000000000000"

    def __init__(self) -> None:
        self.issues: dict[str, dict[str, Any]] = {}
        self.gone: set[str] = set()
        self.private: set[str] = set()
        self.moved: dict[str, str] = {}
        self.requests: list[Request] = []
        self.faults: deque[Fault] = deque()
        self._server = HTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def add(self, reference: str, title: str, body: str | None = "", **changes: Any) -> dict[str, Any]:
        """Store an issue, in the shape of GET /repos/{owner}/{repo}/issues/{number}, and return it."""
        repository, _, number = reference.partition("#")
        self.issues[reference] = {**github_shapes.issue(repository, int(number), title, body, ("bug",)), **changes}
        return self.issues[reference]

    @staticmethod
    def rate_limit(reset_epoch_s: int) -> Fault:
        """The primary limit is used up."""
        headers = {"x-ratelimit-limit": "60", "x-ratelimit-remaining": "0", "x-ratelimit-reset": str(reset_epoch_s), "x-ratelimit-resource": "core"}
        text = "API rate limit exceeded for 192.0.2.1. (But here's the good news: Authenticated requests get a higher rate limit.)"
        return Fault(403, _message(text, 403), headers)

    @staticmethod
    def secondary_limit(retry_after_s: int | None, status: int = 429) -> Fault:
        """Too many requests at once; GitHub does not always say for how long."""
        text = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        return Fault(status, _message(text, status), {} if retry_after_s is None else {"retry-after": str(retry_after_s)})

    @staticmethod
    def forbidden() -> Fault:
        """A token without the right to read."""
        headers = {"x-ratelimit-remaining": "4999", "x-ratelimit-reset": "1700000000"}
        return Fault(403, _message("Resource not accessible by personal access token", 403), headers)

    @staticmethod
    def bad_credentials() -> Fault:
        """A token that is wrong or revoked."""
        return Fault(401, _message("Bad credentials", 401))

    @staticmethod
    def server_error(status: int = 500) -> Fault:
        """GitHub itself fails, with the web page that it sends then."""
        return Fault(status, "<!DOCTYPE html><title>Unicorn! &middot; GitHub</title>")

    @staticmethod
    def malformed() -> Fault:
        """A JSON document that breaks off."""
        return Fault(200, '{"number": 1, "title": "hang')

    @staticmethod
    def dropped() -> Fault:
        """The connection closes without an answer."""
        return Fault(0)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                fake.requests.append(Request("GET", self.path, {name.lower(): value for name, value in self.headers.items()}))
                answer = fake.faults.popleft() if fake.faults else fake._answer(fake.requests[-1])
                if answer.status == 0:
                    return
                content = answer.body.encode()
                self.send_response(answer.status)
                for name, value in {"Content-Type": "application/json; charset=utf-8", "Content-Length": str(len(content)), **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def _is_known(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {self.token}"

    def _answer(self, request: Request) -> Fault:
        parts = request.path.split("/")  # "", "repos", owner, repository, "issues", number
        if len(parts) != 6 or parts[1] != "repos" or parts[4] != "issues":
            return Fault(404, _message("Not Found", 404))
        reference = f"{parts[2]}/{parts[3]}#{parts[5]}"
        given = request.headers.get("authorization")
        if given is not None and not self._is_known(request):
            return self.bad_credentials()
        if reference in self.gone:
            return Fault(410, _message("This issue was deleted", 410))
        if reference in self.moved:
            repository, _, number = self.moved[reference].partition("#")
            return Fault(301, _message("Moved Permanently", 301), {"Location": f"{self.url}/repos/{repository}/issues/{number}"})
        if reference not in self.issues or (reference in self.private and given is None):
            return Fault(404, _message("Not Found", 404))
        return Fault(200, json.dumps(self.issues[reference]), {"x-ratelimit-remaining": "59", "x-ratelimit-reset": "1700000000"})


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    """A GitHub of the test's own, which GITHUB_API_URL points to."""
    fake = FakeGitHub()
    monkeypatch.setenv("GITHUB_API_URL", fake.url)
    yield fake
    fake.close()


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """npm packages that ours is held against: `npm ci` in .ci/npm brings them."""
    folder = REPOSITORY / ".ci" / "npm" / "node_modules"
    if not (folder / "@octokit").is_dir():
        pytest.skip("needs the npm packages of GitHub's own descriptions: npm ci --prefix .ci/npm")
    return folder


# ---------------------------------------------------------------- models


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run of configs/tiny.toml."""
    for name in ("torch", "transformers", "datasets", "accelerate", "sklearn", "onnx", "onnxscript", "tensorboard"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs {name}: pip install 'distriage[train]'")
    output = tmp_path_factory.mktemp("tiny") / "run"
    with warnings.catch_warnings():  # of torch, transformers and scikit-learn, about their own insides and five iterations
        warnings.simplefilter("ignore")
        from distriage_training.config import load_config
        from distriage_training.train import train

        train(load_config(REPOSITORY / "configs" / "tiny.toml"), output)
    return output


@pytest.fixture(scope="session")
def tiny_bundle(tiny_run: Path) -> Path:
    """The pulse model: the real pipeline on toys. Its verdicts mean nothing; its files, sizes and checks are those of a released model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from distriage_training.config import load_config
        from distriage_training.export import export

        return export(tiny_run, load_config(REPOSITORY / "configs" / "tiny.toml"), tiny_run.parent / "tiny")


@pytest.fixture(scope="session")
def tiny_classifier(tiny_bundle: Path) -> Classifier:
    """The pulse model, loaded."""
    return Classifier(tiny_bundle, threads=1)


@pytest.fixture(scope="session")
def shipped_bundle() -> Path:
    """The default model of the checkout."""
    folder = REPOSITORY / "models" / default_model()
    if not (folder / MANIFEST).is_file():
        pytest.skip(f"models/{folder.name} is not in this checkout")
    return folder


@pytest.fixture(scope="session")
def keyword_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy model that hears single words; see `keyword_model.py`."""
    if importlib.util.find_spec("onnx") is None:
        pytest.skip("needs onnx: pip install 'distriage[train]'")
    return keyword_model.build(tmp_path_factory.mktemp("toy") / "toy")


@pytest.fixture(scope="session")
def keyword_classifier(keyword_bundle: Path) -> Classifier:
    """The toy model, loaded."""
    return Classifier(keyword_bundle, threads=1)


@pytest.fixture(scope="session")
def indexed_bundle(keyword_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy model with an index of known issues; see `known_issues.py`."""
    for name in ("sklearn", "datasets"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs {name}: pip install 'distriage[train]'")
    import known_issues

    return known_issues.build(keyword_bundle, tmp_path_factory.mktemp("indexed") / "toy")


@pytest.fixture
def toy_copy(keyword_bundle: Path, tmp_path: Path) -> Path:
    """A copy of the toy bundle to damage: its files are links, so replace them whole (`rewrite`)."""
    return Path(shutil.copytree(keyword_bundle, tmp_path / "toy", copy_function=os.link))


@pytest.fixture
def tiny_copy(tiny_bundle: Path, tmp_path: Path) -> Path:
    """The same of the pulse model."""
    return Path(shutil.copytree(tiny_bundle, tmp_path / "tiny", copy_function=os.link))


def rewrite(file: Path, content: bytes) -> None:
    """Replace a file that may be a link to the original."""
    file.unlink()
    file.write_bytes(content)
