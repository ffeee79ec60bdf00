"""`classify --second-reader`: what is asked, what an answer changes, and that the first verdict stands without one."""

# ruff: noqa: F401, F811  # fixtures
from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from distriage.base.errors import ConfigError
from distriage.second_reader.reader import KEY, KEY_FILE, key_from_environment

from support.command_line import Command, assert_one_line
from support.reader import Double, calibration_file, double, saying

REPORT = (
    b"Strange behaviour after the upgrade\n\nSince Tuesday our cluster does something odd: workers print numbers, drop "
    b"connections, restart themselves and finish late. Nobody among eight engineers could tell what it waits for."
)


def test_a_doubtful_axis_is_read_twice_and_says_so(command: Command, keyword_bundle: Path, double: Double) -> None:
    double.answer = saying("oom", "tuning")
    options = ("--model", keyword_bundle, "--json", "--second-reader", double.url, "--reader-model", "m")
    plain = json.loads(command("classify", *options[:3], stdin=REPORT).out)
    doubtful = [axis for axis, said in plain["axes"].items() if said["outcome"] in {"suggest", "abstain"}]
    finished = command("classify", *options, stdin=REPORT)
    answer = json.loads(finished.out)
    asked = list(double.bodies[0]["response_format"]["json_schema"]["schema"]["properties"])
    assert doubtful and set(asked) == {"kind", *doubtful}  # it is a bug with .95, and .98 is sure
    assert answer["second_reading"] == {"reader": "m", "axes": doubtful, "note": None}
    for axis, said in answer["axes"].items():
        assert said["read_by"] == ("second-reader" if axis in doubtful else "model")
        assert (said["first_reading"] is not None) is (axis in doubtful)
        assert axis not in doubtful or said["outcome"] != "apply"  # it is not calibrated
    assert answer["axes"]["symptom"]["label"] == "oom"


UNLEARNED = "分散学習でエラー\n\nDeepSpeed ZeRO-3 で学習するとメモリ不足になります。CUDA out of memory と表示されます。"


def test_a_report_in_a_script_that_the_model_has_not_learned_is_read_by_the_second_reader(
    command: Command, keyword_bundle: Path, double: Double, tmp_path: Path
) -> None:
    model = ("--model", keyword_bundle, "--json")
    options = (*model, "--second-reader", double.url, "--reader-model", "m")
    plain, report = json.loads(command("classify", *model, stdin=UNLEARNED.encode()).out), UNLEARNED.encode()
    assert {said["silence"] for said in plain["axes"].values()} == {"script"}
    double.answer = saying("zebra")  # none of these
    assert json.loads(command("classify", *options, stdin=report).out)["axes"] == plain["axes"]
    double.answer = saying("oom")  # and none of the kinds
    axes = json.loads(command("classify", *options, stdin=report).out)["axes"]
    assert axes["kind"] == plain["axes"]["kind"] and axes["fix"] == plain["axes"]["fix"]
    said = axes["symptom"]
    assert (said["label"], said["silence"], said["read_by"]) == ("oom", None, "second-reader")
    double.answer = saying("oom", "question")
    axes = json.loads(command("classify", *options, stdin=report).out)["axes"]
    assert axes["kind"]["label"] == "question"  # what the first reader could not read does not outweigh that
    assert axes["symptom"]["outcome"] == "not-applicable"
    double.answer = saying("oom", "bug")
    calibrated = ("--reader-calibration", calibration_file(tmp_path))
    axes = json.loads(command("classify", *options, *calibrated, stdin=report).out)["axes"]
    said = {axis: (axes[axis]["label"], axes[axis]["outcome"], axes[axis]["silence"]) for axis in ("kind", "symptom")}
    assert said == {"kind": ("bug", "suggest", None), "symptom": ("oom", "apply", None)}


def test_when_the_endpoint_fails_the_first_verdict_stands(
    command: Command, keyword_bundle: Path, double: Double
) -> None:
    double.answer = lambda _: (500, b"zebra")
    model = ("--model", keyword_bundle, "--json")
    plain = json.loads(command("classify", *model, stdin=REPORT).out)
    twice = json.loads(
        command("classify", *model, "--second-reader", double.url, "--reader-model", "m", stdin=REPORT).out
    )
    assert twice["axes"] == plain["axes"]
    assert twice["second_reading"] == {"reader": "m", "axes": [], "note": "the second reader refused (HTTP 500)"}


def test_what_would_be_sent_is_shown_and_nothing_is_sent(
    command: Command, keyword_bundle: Path, double: Double
) -> None:
    report = REPORT + b" mara@example.org"
    shown = command(
        "classify", "--model", keyword_bundle, "--show-request", "--second-reader", double.url, stdin=report
    )
    body = json.loads(shown.out)
    assert "model" not in body
    named = command("classify", "--model", keyword_bundle, "--show-request", "--reader-model", "m", stdin=report)
    assert json.loads(named.out) == {**body, "model": "m"}
    assert "mara@example.org" not in shown.out and "[e-mail]" in body["messages"][1]["content"]
    assert double.bodies == []


def test_of_what_is_sure_or_cannot_be_read_nothing_would_be_sent(command: Command, keyword_bundle: Path) -> None:
    shown = ("classify", "--model", keyword_bundle, "--show-request")
    sure = command(*shown, stdin=b"segfault segfault segfault timeout timeout timeout\n\nOn rank 3 since the upgrade.")
    assert (sure.code, sure.out) == (0, "") and "nothing is in doubt; nothing would be sent" in sure.err
    assert_one_line(command(*shown, stdin=b'{"title": 7}'), "title")


def test_of_a_report_that_says_next_to_nothing_nothing_would_be_sent(command: Command, keyword_bundle: Path) -> None:
    shown = ("classify", "--model", keyword_bundle, "--show-request")
    thin = command(*shown, stdin=b"It breaks\n\nPlease help.")
    assert (thin.code, thin.out) == (0, "") and "nothing would be sent" in thin.err


def test_a_key_comes_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(KEY, " secret\n")
    assert key_from_environment() == "secret"
    (tmp_path / "key").write_text("another\n", encoding="utf-8")
    monkeypatch.setenv(KEY_FILE, str(tmp_path / "key"))
    with pytest.raises(ConfigError, match=f"{KEY} and {KEY_FILE} are both given; expected one of them"):
        key_from_environment()
    monkeypatch.setenv(KEY, "")  # as an Action has it without a secret
    assert key_from_environment() == "another"
    (tmp_path / "key").write_text("\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="key: empty; expected a key"):
        key_from_environment()
    monkeypatch.setenv(KEY_FILE, str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        key_from_environment()
    (tmp_path / "key").write_bytes(b"ab\xff")
    monkeypatch.setenv(KEY_FILE, str(tmp_path / "key"))
    with pytest.raises(ConfigError, match="not valid UTF-8 at byte 2; expected a key"):
        key_from_environment()


def test_a_batch_and_a_missing_name_are_refused(command: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    batch = tmp_path / "reports.jsonl"
    batch.write_bytes(b'{"title": "it hangs", "body": ""}\n')
    assert_one_line(
        command("classify", batch, "--second-reader", "http://127.0.0.1:1"),
        "--second-reader does not go with a batch or --output",
    )
    for option in ("--reader-model", "--reader-calibration"):
        assert_one_line(command("classify", option, "m", stdin=REPORT), "go with --second-reader URL")
    finished = command("classify", "--model", keyword_bundle, "--second-reader", "http://127.0.0.1:1", stdin=REPORT)
    assert_one_line(finished, "second reader: no model")


def test_by_default_nothing_of_it_is_imported_and_no_socket_is_opened(
    command: Command, keyword_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for name in [name for name in sys.modules if name.startswith("distriage.second_reader")]:
        monkeypatch.delitem(sys.modules, name)  # others hold its classes
    assert command("classify", "--model", keyword_bundle, stdin=REPORT).code == 0
    assert not any(name.startswith("distriage.second_reader") for name in sys.modules)


# ---------------------------------------------------------------- labels that the first reader gives
GIVEN = b"segfault timeout\n\nSeen on rank 3 of our training job since we upgraded the framework yesterday evening."


@pytest.mark.parametrize("calibrated", [False, True])
def test_a_label_that_precise_would_not_give_is_asked_about_and_falls_to_a_measured_reader_alone(
    command: Command, keyword_bundle: Path, double: Double, tmp_path: Path, calibrated: bool
) -> None:
    double.answer = saying("oom")
    alone = ("classify", "--model", keyword_bundle, "--json")
    first = json.loads(command(*alone, stdin=GIVEN).out)["axes"]["symptom"]
    options = ["--second-reader", double.url, "--reader-model", "m"]
    options += ["--reader-calibration", str(calibration_file(tmp_path))] if calibrated else []
    both = json.loads(command(*alone, *options, stdin=GIVEN).out)["axes"]["symptom"]
    assert (first["outcome"], first["label"]) == ("apply", "crash")
    assert "symptom" in double.bodies[0]["response_format"]["json_schema"]["schema"]["properties"]
    assert (both["outcome"], both["label"]) == ("apply", "oom" if calibrated else "crash")
    assert both["read_by"] == ("second-reader" if calibrated else "model")


# ---------------------------------------------------------------- asked twice


def test_a_label_that_would_be_given_is_asked_about_twice(
    command: Command, keyword_bundle: Path, double: Double, tmp_path: Path
) -> None:
    double.answer = saying("oom")
    options = ("--second-reader", double.url, "--reader-model", "m", "--reader-calibration", calibration_file(tmp_path))
    said = json.loads(command("classify", "--model", keyword_bundle, "--json", *options, stdin=REPORT).out)
    assert said["axes"]["symptom"]["outcome"] == "apply" and said["axes"]["symptom"]["label"] == "oom"
    first, second = (body["messages"][1]["content"] for body in double.bodies)
    assert "fix: " in first and "fix: " not in second  # only what may be given, in another order
    assert first.index("= oom") != second.index("= oom")


def test_two_answers_that_differ_give_no_label(
    command: Command, keyword_bundle: Path, double: Double, tmp_path: Path
) -> None:
    def changing(body: dict[str, Any]) -> tuple[int, bytes]:
        return saying("oom" if len(double.bodies) == 1 else "leak")(body)

    double.answer = changing
    options = (
        "--second-reader",
        double.url,
        "--reader-model",
        "m",
        "--reader-calibration",
        calibration_file(tmp_path, 0.6),
    )
    said = json.loads(command("classify", "--model", keyword_bundle, "--json", *options, stdin=REPORT).out)
    assert len(double.bodies) == 2 and said["axes"]["symptom"]["outcome"] in {"suggest", "abstain"}


@pytest.mark.parametrize("times", [1, 2])
def test_when_the_second_request_fails_one_answer_is_enough_if_the_calibration_saw_single_ones(
    command: Command, keyword_bundle: Path, double: Double, tmp_path: Path, times: int
) -> None:
    double.answer = lambda body: saying("oom")(body) if len(double.bodies) == 1 else (500, b"")
    calibration = calibration_file(tmp_path, times=times)
    options = ("--second-reader", double.url, "--reader-model", "m", "--reader-calibration", calibration)
    said = json.loads(command("classify", "--model", keyword_bundle, "--json", *options, stdin=REPORT).out)
    assert len(double.bodies) == 2
    assert (said["axes"]["symptom"]["outcome"] == "apply") is (times == 1)
    assert (said["second_reading"]["note"] is None) is (times == 1)


@pytest.mark.parametrize("times", [1, 2])
def test_an_axis_that_the_second_answer_leaves_out_is_not_given_if_the_calibration_saw_two(
    command: Command, keyword_bundle: Path, double: Double, tmp_path: Path, times: int
) -> None:
    calibration = calibration_file(tmp_path, times=times)
    fitted = json.loads(calibration.read_text(encoding="utf-8"))
    fitted["axes"]["kind"] = fitted["axes"]["symptom"]
    calibration.write_text(json.dumps(fitted), encoding="utf-8")

    def forgetful(body: dict[str, Any]) -> tuple[int, bytes]:
        status, content = saying("oom", "bug")(body)
        if len(double.bodies) == 1:
            return status, content
        message = json.loads(content)
        said = json.loads(message["choices"][0]["message"]["content"])
        del said["symptom"]
        message["choices"][0]["message"]["content"] = json.dumps(said)
        return status, json.dumps(message).encode()

    double.answer = forgetful
    options = ("--second-reader", double.url, "--reader-model", "m", "--reader-calibration", calibration)
    said = json.loads(command("classify", "--model", keyword_bundle, "--json", *options, stdin=REPORT).out)
    assert len(double.bodies) == 2 and "kind" in said["second_reading"]["axes"]
    assert (said["axes"]["symptom"]["outcome"] == "apply") is (times == 1)
