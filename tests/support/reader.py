"""An OpenAI-compatible endpoint for tests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

# A report that the toy model is in doubt about: `oom` and `leak` are equally likely.
WORDS = "One worker prints memory and other numbers, then drops its connection and nobody among eight engineers knows"


class Double:
    """An OpenAI-compatible endpoint that does what a test says; keeps the bodies that arrived.

    Attributes:
        answer: Body of the request -> status and content; None: no answer before the test ends.
        headers: Of each answer.
    """

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.headers: dict[str, str] = {}
        self.answer: Callable[[dict[str, Any]], tuple[int, bytes] | None] = lambda _: (200, b"{}")
        self.over = threading.Event()
        double = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                double.bodies.append(body)
                double.keys.append(self.headers["Authorization"])
                answer = double.answer(body)
                if answer is None:
                    double.over.wait(20)
                    return
                self.send_response(answer[0])
                self.send_header("Content-Length", str(len(answer[1])))
                for name, value in double.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer[1])

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()


def _code_of(labels: tuple[str, ...], codes: list[str], question: str) -> str:
    """The code of one of the labels, or of "none of these", in a question that begins with its axis."""
    names = (*(f"{label}:" for label in labels), "none of these")
    return next(code for name in names for code in codes if f"\n{code} = {name}" in question)


def saying(*labels: str) -> Callable[[dict[str, Any]], tuple[int, bytes]]:
    """Answers each axis with the code of one of the labels, or with "none of these" where the axis lacks them."""

    def answer(body: dict[str, Any]) -> tuple[int, bytes]:
        question = body["messages"][1]["content"]
        axes = body["response_format"]["json_schema"]["schema"]["properties"]
        codes = {}
        for axis, schema in axes.items():
            part = question[question.index(f"{axis}: ") :].partition("\n\n")[0]
            codes[axis] = _code_of(labels, schema["enum"], part)
        message = {"choices": [{"message": {"content": json.dumps(codes)}}], "usage": {"total_tokens": 100}}
        return 200, json.dumps(message).encode()

    return answer


def calibration_file(folder: Path, least: float = 0.5, times: int = 1) -> Path:
    """A calibration of the reader `m` beside the toy model, by which symptoms of this probability may be given."""
    file = folder / "calibration.json"
    axis = {"first": 0.2, "second": 1.0, "thresholds": {"0.80": least}, "reports": 100}
    file.write_text(
        json.dumps({"reader": "m", "model": "toy", "times": times, "axes": {"symptom": axis}}), encoding="utf-8"
    )
    return file


def options(bundle: Path) -> tuple[object, ...]:
    """Which model reads first, and the name of the reader `m`."""
    return ("--model", bundle, "--reader-model", "m")


def answer(line: str, label: str) -> str:
    """The line with which a batch service answers a request: each axis with this label, or with "none of these"."""
    request = json.loads(line)
    question = request["body"]["messages"][1]["content"]
    schema = request["body"]["response_format"]["json_schema"]["schema"]
    codes = {}
    for axis, options in schema["properties"].items():
        part = question[question.index(f"{axis}: ") :].partition("\n\n")[0]
        codes[axis] = _code_of((label,), options["enum"], part)
    body = {"choices": [{"message": {"content": json.dumps(codes)}}]}
    return json.dumps(
        {"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}, "error": None}
    )


def answered(folder: Path, requests: str, label: Callable[[str], str]) -> Path:
    """The file of answers to the lines of an export, each with the label that it is given."""
    file = folder / "answers.jsonl"
    lines = [answer(line, label(line)) for line in requests.splitlines()]
    file.write_text("\n".join(reversed(lines)) + "\n", encoding="utf-8")  # a service keeps no order
    return file


@contextmanager
def endpoint() -> Iterator[Double]:
    """An endpoint for a while."""
    opened = Double()
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture
def double() -> Iterator[Double]:
    with endpoint() as opened:
        yield opened
