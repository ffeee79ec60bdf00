"""docs/whole-path.md, carried out: its commands in order, on a tracker that the double of GitHub plays.

python -m support.whole_path   carry it out, and write into the page what the commands print; with playwright and
                               chromium also docs/images/path-*.png
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from distriage.commands.main import main as distriage
from distriage.model.shipped import default_model

from support import chromium, local_http
from support.app_key import APP_ID, app_key_pem
from support.checkout import REPOSITORY as CHECKOUT
from support.github import FOREVER, PERSON, TOKEN, GitHub
from support.queue_demo import log_in
from support.queue_server import csrf
from support.server import served
from support.waiting import until
from support.webhook import SECRET, sign

PAGE = CHECKOUT / "docs" / "whole-path.md"
IMAGES = CHECKOUT / "docs" / "images"
TRACKER = "acme/trainer"
ADMIN = "the token of the administrator"
PAST, LATER, OPEN = 240, 60, 6  # issues: when the path begins, filed while it goes on, and open among the former
NEW = PAST + 1  # the issue that Action and App are asked about
FIRST_S, DAY_S = 1_735_689_600, 86_400  # the tracker begins with 2025; an issue a day
SHOWN = 25  # lines of an output on the page
STEP = re.compile(r"^```sh\n(?P<commands>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?", re.M | re.S)
ORIGINAL = "deepspeedai/DeepSpeed#7900"  # the new issue below says the same in other words
TITLE = "adapter_model.safetensors is empty after saving QLoRA with ZeRO-3 offload"
BODY = """\
LLaMA-Factory, ZeRO stage 3 with CPU offload, QLoRA on qwen3-235B, 4 A100.

The checkpoint of the SFT run has adapter_config.json, global_step and zero_to_fp32.py. Nothing is in
adapter_model.safetensors. How do I store the adapter without the base model, and what is in global_step?
"""
_AREAS = {
    "build-import": "area: install",
    "data-model-preparation": "area: data and model",
    "communication-setup": "area: network",
    "training-evaluation": "area: training",
    "inference": "area: inference",
}
_KINDS = {"bug": "bug", "question": "question", "feature": "enhancement"}
_SYMPTOMS = {"device-out-of-memory": "out of memory", "runtime-hang": "hang", "setup-hang": "hang"}


def _records() -> list[tuple[dict[str, Any], list[str]]]:
    """Restated reports of the validation split, in an order of their own, each with the labels of its readers."""
    folder = CHECKOUT / "training" / "corpus"

    def rows(name: str) -> Iterator[dict[str, Any]]:
        with (folder / name).open(encoding="utf-8") as stream:
            yield from map(json.loads, stream)

    read = {row["id"]: row for row in rows("annotations.jsonl") if row["split"] == "validation"}
    texts = sorted((row for row in rows("restated.jsonl") if row["id"] in read), key=lambda row: str(row["id"]))
    random.Random(7).shuffle(texts)
    texts.sort(key=lambda row: row["id"] != ORIGINAL)
    found = []
    for row in texts[: PAST + LATER]:
        said = read[row["id"]]
        names = (_KINDS.get(said["kind"]), _AREAS.get(said["stage"]), _SYMPTOMS.get(said["symptom"]))
        found.append((row, [name for name in names if name is not None]))
    return found


@dataclass
class Step:
    """Commands of the page, and what stands below them as their output; empty: nothing."""

    commands: list[str]
    output: str


def steps() -> list[Step]:
    """Of the page, in order."""
    found = STEP.finditer(PAGE.read_text(encoding="utf-8"))
    return [Step(step["commands"].splitlines(), step["output"] or "") for step in found]


@dataclass
class Walk:
    """A maintainer on the way: the folder, GitHub, and the server's address once it listens.

    Attributes:
        every: Of the tracker's closed issues only each n-th is there: most of the time goes into reading them.
        length: Of their bodies only so many characters, likewise.
    """

    folder: Path
    github: GitHub
    rest: ExitStack
    server: httpx.Client | None = None
    pictures: Path | None = None
    every: int = 1
    length: int | None = None

    def __post_init__(self) -> None:
        """Past issues; the newest of them are open and have no labels."""
        self._records = _records()
        self._secrets = {
            "GITHUB_TOKEN": TOKEN,
            "DISTRIAGE_GITHUB_WEBHOOK_SECRET": SECRET,
            "DISTRIAGE_GITHUB_APP_ID": APP_ID,
            "DISTRIAGE_ADMIN_TOKEN": ADMIN,
        }
        self.github.tokens[TOKEN] = FOREVER
        self.github.define(TRACKER, "duplicate")
        newest = range(PAST - OPEN + 1, PAST + 1)
        for number in sorted({*range(1, PAST + 1, self.every), *newest}):
            self._file(number, is_open=number in newest)
        (self.folder / "github-app.pem").write_text(app_key_pem(), encoding="ascii")

    def _file(self, number: int, *, is_open: bool) -> None:
        row, labels = self._records[number - 1 - (number > NEW)]
        self._open(number, row["title"], row["body"][: self.length], "open" if is_open else "closed")
        for label in () if is_open else labels:
            self.github.label(f"{TRACKER}#{number}", label, PERSON)

    def _open(self, number: int, title: str, body: str, state: str = "open") -> None:
        at = datetime.fromtimestamp(FIRST_S + number * DAY_S, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.github.open(f"{TRACKER}#{number}", title, body, created_at=at, updated_at=at, state=state)

    # ------------------------------------------------------------ commands

    def run(self, line: str) -> str:
        """Carry out a line of the page; what it prints. The exit code is 0."""
        words = shlex.split(line, comments=True)
        if words[0] == "export":
            for name, _, value in (word.partition("=") for word in words[1:]):
                os.environ[name] = self._secrets[name] if value == "..." else value
            return ""
        if words[0] == "rm":
            for name in words[1:]:
                (self.folder / name).unlink()
            return ""
        if words[0] == "mkdir":
            (self.folder / words[-1]).mkdir()
            return ""
        assert words[0] == "distriage", line
        if words[1:] == ["serve"]:
            self._serve()
            return ""
        if words[1] == "action":
            self._open(NEW, TITLE, BODY)
        file = words[words.index(">") + 1] if ">" in words else None
        out = _call(words[1 : words.index(">")] if file else words[1:])
        if file:
            Path(file).write_text(out, encoding="utf-8")
        if words[1:3] == ["config", "check"]:  # the maintainer commits it next
            self.github.files[f"{TRACKER}/.github/distriage.yml"] = Path(words[3]).read_text(encoding="utf-8")
        return "" if file else out

    def _serve(self) -> None:
        settings = {name: value for name, value in os.environ.items() if name.startswith("DISTRIAGE_")}
        model = CHECKOUT / "models" / default_model()
        _, port = self.rest.enter_context(served(model, self.folder / "server.log", **settings))
        address = f"http://127.0.0.1:{port}"
        self.server = self.rest.enter_context(local_http.Client(base_url=address, timeout=120))
        self._new_issue()
        if self.pictures is not None:
            _take(address, self.folder, self.pictures)
        self._decide()
        for number in range(NEW + 1, NEW + 1 + LATER, self.every):
            self._file(number, is_open=False)

    # ------------------------------------------------------------ in the queue

    def _new_issue(self) -> None:
        assert self.server is not None
        body = json.dumps(self.github.payload("opened", f"{TRACKER}#{NEW}")).encode()
        headers = {"X-GitHub-Event": "issues", "X-GitHub-Delivery": "the-first", "X-Hub-Signature-256": sign(body)}
        sent = self.server.post(
            "/github/webhook", content=body, headers={**headers, "Content-Type": "application/json"}
        )
        assert sent.status_code == 202, sent.text
        form = {"csrf": csrf(self.server.get("/login")), "token": ADMIN}
        assert self.server.post("/login", data=form).status_code == 303
        until(lambda: 'name="own"' in self.page())

    def page(self, part: str = "") -> str:
        """The new issue in the queue."""
        assert self.server is not None
        return self.server.get(f"/queue/{TRACKER}/{NEW}{part}", headers={"Accept": "text/html"}).text

    def _decide(self) -> None:
        """Leave the axes as they are, and say which of the repository's labels are right."""
        assert self.server is not None
        text = self.page()
        chosen = re.findall(r'name="(axis\.\w+)" value="([^"]+)"[^>]* checked', text)
        before = re.findall(r'name="own-before" value="([^"]+)"', text)
        hidden = dict(re.findall(r'name="(csrf|verdict)" value="([^"]+)"', text))
        own = {"own": self._records[0][1], "own-before": before}
        answer = self.server.post(f"/queue/{TRACKER}/{NEW}", data={**dict(chosen), **hidden, **own, "action": "accept"})
        assert answer.status_code == 303, answer.text

    def own(self) -> Any:
        """The repository's own labels in the server's answer to the new issue."""
        assert self.server is not None
        report = {"id": f"{TRACKER}#{NEW}", "title": TITLE, "body": BODY}
        return self.server.post("/v1/classify", json=report).json()["own"]


def _call(arguments: Sequence[str]) -> str:
    out, code = io.StringIO(), 0
    before, sys.argv = sys.argv, ["distriage", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as err:
            distriage()
    except SystemExit as finished:
        code = finished.code if isinstance(finished.code, int) else 0
    finally:
        sys.argv = before
    assert code == 0, f"{arguments}: {code} {out.getvalue()} {err.getvalue()}"
    return out.getvalue()


@contextmanager
def walk(folder: Path, pictures: Path | None = None, *, every: int = 1, length: int | None = None) -> Iterator[Walk]:
    """A maintainer who begins, in a folder that is the working directory until the end."""
    before, place = dict(os.environ), Path.cwd()
    with ExitStack() as rest:
        github = GitHub(app=True)
        rest.callback(github.close)
        rest.callback(os.chdir, place)
        rest.callback(lambda: (os.environ.clear(), os.environ.update(before)))
        os.chdir(folder)
        for name in [name for name in os.environ if name.startswith(("DISTRIAGE_", "GITHUB_"))]:
            del os.environ[name]  # of a person, or of the runner that the tests run on
        os.environ.update({"GITHUB_API_URL": github.url, "NO_PROXY": "127.0.0.1", "COLUMNS": "100"})
        yield Walk(folder, github, rest, pictures=pictures, every=every, length=length)


def plain(line: str) -> str:
    """A line of an output without its figures, and without the plural that follows from one."""
    return re.sub(r"\b0 (\w+)s\b", r"0 \1", re.sub(r"[\d.,]+", "0", line)).strip()


def _take(address: str, folder: Path, images: Path) -> None:
    with chromium.browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 1180})
        page.set_default_timeout(120_000)
        log_in(page, address, ADMIN)
        page.goto(f"{address}/queue/{TRACKER}/{NEW}")
        page.wait_for_selector("[data-explained]")
        page.wait_for_load_state("networkidle")
        page.screenshot(path=images / "path-queue.png")
        page.set_viewport_size({"width": 1000, "height": 700})
        page.goto((folder / "own" / TRACKER / "report.html").as_uri())
        page.screenshot(path=images / "path-report.png")


def write_page(pictures: Path | None) -> None:
    """Put what the commands print under them."""
    outputs: list[str] = []
    with tempfile.TemporaryDirectory() as folder, walk(Path(folder), pictures) as walker:
        for step in steps():
            lines = [line for command in step.commands for line in walker.run(command).rstrip().splitlines()]
            lines = [*lines[:SHOWN], "..."] if len(lines) > SHOWN else lines
            outputs.append("".join(f"{line.rstrip()}\n" for line in lines))
    left = iter(outputs)

    def replaced(step: re.Match[str]) -> str:
        output = next(left)
        return f"```sh\n{step['commands']}```\n" + (f"\n```text\n{output}```\n" if output else "")

    PAGE.write_text(STEP.sub(replaced, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write_page(IMAGES if chromium.IS_HERE else None)
