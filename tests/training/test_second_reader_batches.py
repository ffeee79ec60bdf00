"""`distriage second-reader`: requests to a file, verdicts and a calibration from the answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from distriage_training.second_reader.fitting import Example, binomial_cdf, fit_axis, threshold_for

from support.command_line import Command, assert_one_line
from support.reader import WORDS, answer, answered, calibration_file, options


def reports(folder: Path, count: int, labels: Callable[[int], Any] | None = None) -> Path:
    """Reports that the toy model is in doubt about: `oom` and `leak` are equally likely."""
    file = folder / "reports.jsonl"
    lines = []
    for number in range(count):
        report = {"title": f"Strange behaviour {number}", "body": f"{WORDS} why at step {number}.", "id": f"r{number}"}
        lines.append(json.dumps(report | ({"labels": labels(number)} if labels is not None else {})))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_an_export_answered_elsewhere_becomes_verdicts(command: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    file = reports(tmp_path, 3)
    content = file.read_text(encoding="utf-8")
    file.write_text(content + content.splitlines()[0] + "\n[]\n", encoding="utf-8")  # one comes twice, one is none
    exported = command("second-reader", "export", file, *options(keyword_bundle))
    assert exported.code == 0 and exported.err.endswith("3 requests; 1 record cannot be read\n")
    lines = [json.loads(line) for line in exported.out.splitlines()]
    assert len({line["custom_id"] for line in lines}) == 3
    assert {(line["method"], line["url"], line["body"]["model"]) for line in lines} == {
        ("POST", "/v1/chat/completions", "m")
    }

    two = "\n".join(exported.out.splitlines()[:2])
    answers = answered(tmp_path, two, lambda _: "leak")
    imported = command("second-reader", "import", file, answers, *options(keyword_bundle))
    verdicts = [json.loads(line) for line in imported.out.splitlines()]
    assert imported.err == (
        "4 reports in doubt, 3 of them answered by m; 1: the file of answers holds none to this question; "
        "1 record cannot be read\n"
    )
    assert [verdict["id"] for verdict in verdicts[:4]] == ["r0", "r1", "r2", "r0"] and "error" in verdicts[4]
    for verdict in (verdicts[0], verdicts[1], verdicts[3]):
        said = verdict["axes"]["symptom"]
        assert (said["label"], said["read_by"], said["outcome"]) == ("leak", "second-reader", "suggest")
    assert verdicts[2]["axes"]["symptom"]["read_by"] == "model"
    assert verdicts[2]["second_reading"]["note"] == "the file of answers holds none to this question"


def test_the_answers_of_one_reader_are_not_taken_for_those_of_another(
    command: Command, keyword_bundle: Path, tmp_path: Path
) -> None:
    file = reports(tmp_path, 2, lambda _: {"symptom": "leak"})
    exported = command("second-reader", "export", file, *options(keyword_bundle))
    answers = answered(tmp_path, exported.out, lambda _: "leak")
    other = ("--model", keyword_bundle, "--reader-model", "n")
    imported = command("second-reader", "import", file, answers, *other)
    assert imported.err.startswith(
        "2 reports in doubt, 0 of them answered by n; expected answers to the --reader-model"
    )
    assert {json.loads(line)["axes"]["symptom"]["read_by"] for line in imported.out.splitlines()} == {"model"}
    calibrated = command("second-reader", "calibrate", file, answers, "--output", tmp_path / "x", *other)
    assert_one_line(calibrated, "symptom 0, ", "the --reader-model, --mode, --model, --axes and --times of the export")


THOUGHTS = {"choices": [{"message": {"content": "<think>zebra"}, "finish_reason": "length"}]}


@pytest.mark.parametrize(
    ("response", "why"),
    [
        (None, "the batch service did not answer this question"),
        ({"status_code": 400, "body": {"error": "zebra"}}, "the second reader refused (HTTP 400)"),
        ({"status_code": True}, "the batch service did not answer this question"),
        ({"status_code": 200, "body": None}, "the batch service did not answer this question"),
        ({"status_code": 200, "body": {"error": "zebra"}}, "the second reader answered with an error"),
        ({"status_code": 200, "body": THOUGHTS}, "answer was cut off after 60 tokens; switch the model's thinking off"),
    ],
)
def test_an_answer_that_failed_is_told_from_none(
    command: Command, keyword_bundle: Path, tmp_path: Path, response: object, why: str
) -> None:
    file, answers = reports(tmp_path, 2), tmp_path / "answers.jsonl"
    lines = command("second-reader", "export", file, *options(keyword_bundle)).out.splitlines()
    failed = [json.dumps({"custom_id": json.loads(line)["custom_id"], "response": response}) for line in lines]
    answers.write_text("\n".join(failed), encoding="utf-8")
    imported = command("second-reader", "import", file, answers, *options(keyword_bundle))
    assert imported.err.startswith("2 reports in doubt, 0 of them answered by m; 2: ") and "zebra" not in imported.err
    notes = {json.loads(line)["second_reading"]["note"] for line in imported.out.splitlines()}
    assert len(notes) == 1 and why in imported.err and why in notes.pop()


def test_an_answer_stays_although_the_request_failed_at_another_time(
    command: Command, keyword_bundle: Path, tmp_path: Path
) -> None:
    file, answers = reports(tmp_path, 1), tmp_path / "answers.jsonl"
    (line,) = command("second-reader", "export", file, *options(keyword_bundle)).out.splitlines()
    failed = json.dumps({"custom_id": json.loads(line)["custom_id"], "response": {"status_code": 500}})
    answers.write_text("\n".join([failed, answer(line, "leak"), failed]), encoding="utf-8")
    imported = command("second-reader", "import", file, answers, *options(keyword_bundle))
    assert imported.err == "1 report in doubt, 1 of them answered by m\n"


def test_fields_that_the_model_refuses_are_left_out_of_the_same_questions(
    command: Command, keyword_bundle: Path, tmp_path: Path
) -> None:
    file = reports(tmp_path, 1)
    export = ("second-reader", "export", file, *options(keyword_bundle))
    whole, less = (json.loads(command(*export, *more).out) for more in ((), ("--without", "logprobs,max_tokens")))
    assert whole["custom_id"] == less["custom_id"]
    assert whole["body"].keys() - less["body"].keys() == {"logprobs", "top_logprobs", "max_tokens"}
    assert less["body"]["max_completion_tokens"] == whole["body"]["max_tokens"]
    assert_one_line(command(*export, "--without", "messages"), "--without messages: expected some of response_format")


def test_an_answer_that_decides_nothing_is_an_answer(command: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    """The reader was right about what the model gives anyway."""
    file = reports(tmp_path, 3)
    exported = command("second-reader", "export", file, *options(keyword_bundle))
    kept = [json.loads(answer(line, "bug")) for line in exported.out.splitlines()]
    for line in kept:
        message = line["response"]["body"]["choices"][0]["message"]
        message["content"] = json.dumps({"kind": json.loads(message["content"])["kind"]})  # and silent on the rest
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
    imported = command("second-reader", "import", file, answers, *options(keyword_bundle))
    assert imported.err == "3 reports in doubt, 3 of them answered by m\n"
    assert [json.loads(line)["second_reading"]["axes"] for line in imported.out.splitlines()] == [[]] * 3


def test_a_calibration_lets_labels_be_given(command: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    file = reports(tmp_path, 60, lambda number: {"symptom": "leak" if number % 15 else "oom"})
    exported = command("second-reader", "export", file, *options(keyword_bundle))
    answers = answered(tmp_path, exported.out, lambda _: "leak")
    calibration = tmp_path / "calibration.json"
    done = command(
        "second-reader", "calibrate", file, answers, "--output", calibration, "--axes", "symptom",
        *options(keyword_bundle),
    )  # fmt: skip
    assert_one_line(done, "too few annotated reports", "symptom 0;", "--axes")  # the questions are other ones
    calibrate = ("second-reader", "calibrate", file, answers, "--output", calibration, *options(keyword_bundle))
    assert_one_line(command(*calibrate, "--by", "colour"), "reports.jsonl:1: colour: None; expected a name")
    done = command(*calibrate)
    assert done.code == 0, done.err
    assert re.search(r"symptom +60 +0 +0\.\d\d +0\.93 +100% +100%", done.out)
    assert re.search(r"fix +0 +0 +under 50", done.out)
    kept = json.loads(calibration.read_text(encoding="utf-8"))
    assert (kept["reader"], kept["model"], list(kept["axes"])) == ("m", "toy", ["symptom"])
    assert kept["axes"]["symptom"]["reports"] == 60
    imported = command(
        "second-reader", "import", file, answers, "--reader-calibration", calibration, *options(keyword_bundle)
    )
    said = [json.loads(line)["axes"]["symptom"] for line in imported.out.splitlines()]
    assert {(axis["outcome"], axis["label"]) for axis in said} == {("apply", "leak")}


def test_none_of_these_is_no_answer_to_calibrate_by(command: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    file = reports(tmp_path, 60, lambda _: {"symptom": "leak"})
    exported = command("second-reader", "export", file, *options(keyword_bundle))
    answers = answered(tmp_path, exported.out, lambda _: "")
    calibrate = ("second-reader", "calibrate", file, answers, "--output", tmp_path / "x", *options(keyword_bundle))
    assert_one_line(command(*calibrate), "too few annotated reports", "symptom 0 (and 60 'none of these'),")
    compared = command("second-reader", "evaluate", file, answers, *options(keyword_bundle))
    assert re.search(r"symptom +60 +0\.\d{3} +none +0", compared.out)
    imported = command("second-reader", "import", file, answers, *options(keyword_bundle))
    first = command("classify", file, "--model", keyword_bundle)
    assert imported.err == "60 reports in doubt, 60 of them answered by m\n"
    both, alone = ([json.loads(line) for line in one.out.splitlines()] for one in (imported, first))
    assert [one["axes"] for one in both] == [one["axes"] for one in alone]


def test_what_is_given_is_a_share_of_all_reports_that_were_answered(
    command: Command, keyword_bundle: Path, tmp_path: Path
) -> None:
    file = reports(tmp_path, 120, lambda _: {"symptom": "leak"})
    exported = command("second-reader", "export", file, *options(keyword_bundle))
    half = set(exported.out.splitlines()[::2])
    answers = answered(tmp_path, exported.out, lambda line: "leak" if line in half else "")
    calibration = tmp_path / "calibration.json"
    done = command("second-reader", "calibrate", file, answers, "--output", calibration, *options(keyword_bundle))
    assert re.search(r"symptom +60 +60 +0\.\d\d +1\.00 +50% +50%", done.out)
    both = ("--reader-calibration", calibration, *options(keyword_bundle))
    assert "50%, 100% right" in command("second-reader", "evaluate", file, answers, *both).out


def test_null_is_no_label(command: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    """As a table has it: a struct has a field for every axis."""
    file = reports(tmp_path, 1, lambda _: {"symptom": "leak", "cause": None})
    exported = command("second-reader", "export", file, *options(keyword_bundle))
    answers = answered(tmp_path, exported.out, lambda _: "leak")
    compared = command("second-reader", "evaluate", file, answers, *options(keyword_bundle), "--by", "title")
    assert compared.code == 0 and "symptom" in compared.out and "cause" not in compared.out
    assert compared.out.splitlines()[0].rstrip().endswith("both give")  # no column is cut off in a file


def test_two_answers_that_differ_count_half_each(command: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    file = reports(tmp_path, 60, lambda _: {"symptom": "leak"})
    twice = (*options(keyword_bundle), "--times", 2)
    exported = command("second-reader", "export", file, *twice)
    lines = exported.out.splitlines()
    first = set(command("second-reader", "export", file, *options(keyword_bundle)).out.splitlines())
    assert len(lines) == 120 and len(first) == 60 and first < set(lines)
    answers = answered(tmp_path, exported.out, lambda line: "leak" if line in first else "hang")
    calibration = tmp_path / "calibration.json"
    done = command("second-reader", "calibrate", file, answers, "--output", calibration, *twice)
    assert done.code == 0, done.err
    assert json.loads(calibration.read_text(encoding="utf-8"))["times"] == 2
    calibrated = ("--reader-calibration", calibration, *twice)
    said = json.loads(command("second-reader", "import", file, answers, *calibrated).out.splitlines()[0])
    alone = answered(tmp_path, "\n".join(first), lambda _: "leak")  # one answer of two
    kept = json.loads(command("second-reader", "import", file, alone, *calibrated).out.splitlines()[0])
    assert kept["axes"]["symptom"]["read_by"] == "model"
    assert kept["second_reading"]["note"] == "the file of answers holds one of two to this question"
    once = calibration_file(tmp_path)  # symptoms of single answers
    refused = command("second-reader", "import", file, answers, "--reader-calibration", once, *twice)
    assert_one_line(refused, "calibration.json: made for --times 1, not for 2")
    top = {item["label"]: item["probability"] for item in said["axes"]["symptom"]["top"]}
    assert top["leak"] > top["hang"] > 0.05  # the first reader thinks little of a hang


def test_one_label_and_one_none_of_these_count_half_each(
    command: Command, keyword_bundle: Path, tmp_path: Path
) -> None:
    file = reports(tmp_path, 1)
    twice = (*options(keyword_bundle), "--times", 2)
    lines = command("second-reader", "export", file, *twice).out.splitlines()
    answers = answered(tmp_path, "\n".join(lines), lambda line: "leak" if line == lines[0] else "")
    said = json.loads(command("second-reader", "import", file, answers, *twice).out)["axes"]["symptom"]
    assert (said["label"], said["read_by"]) == ("leak", "second-reader")


def test_an_answer_of_a_batch_on_a_report_in_an_unlearned_script_outweighs_what_was_not_read(
    command: Command, keyword_bundle: Path, tmp_path: Path
) -> None:
    file = tmp_path / "reports.jsonl"
    file.write_text(json.dumps({"title": "Обучение зависает", "body": f"{'На двух узлах всё стоит. ' * 20} {WORDS}"}))
    lines = command("second-reader", "export", file, *options(keyword_bundle)).out
    answers = answered(tmp_path, lines, lambda _: "question")
    axes = json.loads(command("second-reader", "import", file, answers, *options(keyword_bundle)).out)["axes"]
    assert (axes["kind"]["label"], axes["kind"]["read_by"]) == ("question", "second-reader")


def test_both_readers_are_compared_by_groups(command: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    file = reports(tmp_path, 60, lambda number: {"symptom": "leak" if number % 15 else "oom"})
    exported = command("second-reader", "export", file, *options(keyword_bundle))
    answers = answered(tmp_path, exported.out, lambda _: "leak")
    calibration = tmp_path / "calibration.json"
    command("second-reader", "calibrate", file, answers, "--output", calibration, *options(keyword_bundle))
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for number, record in enumerate(records):
        record["origin"] = "raw" if number < 15 else "restated"
    file.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    evaluate = ("second-reader", "evaluate", file, answers, *options(keyword_bundle))
    done = command(*evaluate, "--reader-calibration", calibration, "--by", "origin")
    rows = [re.split(r"  +", line.strip()) for line in done.out.splitlines()[1:]]
    assert [row[:3] for row in rows] == [["raw", "symptom", "15"], ["restated", "symptom", "45"]]
    # Of 15 reports one is `oom`, the first reader's favourite; the second always says `leak`.
    assert [row[3:7] for row in rows] == [["0.067", "0.933 (100%)", "0.933", "1.000"]] * 2
    assert [row[8] for row in rows] == ["100%, 93% right"] * 2
    alone = command(*evaluate)
    assert re.search(r"all +symptom +60 .* none +none", alone.out)
    assert_one_line(command(*evaluate, "--by", "colour"), "reports.jsonl:1: colour: None; expected a name")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "reports.jsonl:1: `labels` is missing"),
        ({"symptom": "zebra"}, "reports.jsonl:1: labels: symptom: 'zebra' is no label of it"),
        ({"symptom": ["oom"]}, "is no label of it"),
        ({"colour": "oom"}, "colour: 'oom' is no label of it"),
    ],
)
def test_labels_that_are_none_are_named(
    command: Command, keyword_bundle: Path, tmp_path: Path, labels: Any, message: str
) -> None:
    file = reports(tmp_path, 1, None if labels is None else lambda _: labels)
    answers = tmp_path / "answers.jsonl"
    answers.write_text("", encoding="utf-8")
    done = command("second-reader", "calibrate", file, answers, "--output", tmp_path / "x", *options(keyword_bundle))
    assert_one_line(done, message)


def test_what_does_not_fit_is_named(command: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    file, report = reports(tmp_path, 1), tmp_path / "report.md"
    report.write_text("It hangs", encoding="utf-8")
    model = options(keyword_bundle)
    assert_one_line(command("second-reader", "export", file, "--model", keyword_bundle), "--reader-model is missing")
    assert_one_line(command("second-reader", "export", report, *model), "expected a file of many reports")
    for axes in ("distributed", ""):
        finished = command("second-reader", "export", file, "--axes", axes, *model)
        assert_one_line(finished, "axes of the second reader")
    assert_one_line(command("second-reader", "import", file, tmp_path / "none", *model), "none: cannot be read")
    assert_one_line(command("second-reader", "import", file, file, *model), "reports.jsonl:1: expected an answer")


# ---------------------------------------------------------------- fitting


def test_a_threshold_keeps_its_promise_and_ties_stay_together() -> None:
    assert threshold_for([(0.9, True)] * 60 + [(0.6, False)] * 60, 0.8) == 0.9
    assert threshold_for([(0.9, True)] * 60 + [(0.9, False)] * 60, 0.8) is None
    assert threshold_for([], 0.8) is None
    assert binomial_cdf(2, 5, 0.3) == pytest.approx(0.83692)


def test_the_better_reader_gets_the_larger_exponent() -> None:
    first = {"a": 0.5, "b": 0.3, "c": 0.2}
    truths = ["abc"[number % 3] for number in range(60)]
    knows = fit_axis([Example(first, {truth: 1.0}, truth) for truth in truths])
    guesses = fit_axis([Example(first, {"abc"[number % 2]: 1.0}, "a") for number in range(60)])
    assert knows is not None and knows.both_right == 1.0 and knows.fusion.second > knows.fusion.first
    assert guesses is not None and guesses.fusion.second < guesses.fusion.first
    assert fit_axis([Example(first, {"a": 1.0}, "a")] * 49) is None


def test_what_is_promised_is_measured_on_reports_that_the_exponents_were_not_fitted_on() -> None:
    first = {"a": 0.45, "b": 0.55}  # the second reader is right in one half, the first in the other
    fitted = fit_axis([Example(first, {"a": 1.0}, "ab"[number % 2]) for number in range(100)])
    assert fitted is not None and fitted.both_right == 0.0 and not fitted.fusion.thresholds


def test_a_label_below_the_floor_of_its_mode_does_not_count_as_given() -> None:
    first = {"a": 0.45, "b": 0.3, "c": 0.25}
    fitted = fit_axis([Example(first, {None: 0.4, "a": 0.3, "b": 0.3}, "a") for _ in range(60)])
    assert fitted is not None and fitted.fusion.thresholds["0.90"] < 0.7
    assert fitted.given["0.90"] == 0.0


def test_a_promise_is_kept_in_each_group_or_not_made() -> None:
    def read(probability: float, right: int, of: int, group: str) -> list[Example]:
        first = {"a": probability, "b": 1 - probability}
        return [Example(first, {None: 1.0}, "a" if number < right else "b", group) for number in range(of)]

    everyone = [*read(0.7, 60, 60, "x"), *read(0.7, 36, 60, "y"), *read(0.95, 60, 60, "y")]
    together = fit_axis([replace(example, group="") for example in everyone])
    apart = fit_axis(everyone)
    assert together is not None and together.given["0.80"] == 1.0
    assert together.first_right == pytest.approx(156 / 180)
    assert apart is not None and apart.given["0.80"] == pytest.approx(1 / 3)
    hopeless = fit_axis([*read(0.95, 200, 200, "x"), *read(0.95, 20, 60, "y")])
    few = fit_axis([*read(0.95, 200, 200, "x"), *read(0.95, 20, 40, "y")])
    assert hopeless is not None and not hopeless.fusion.thresholds
    assert few is not None and few.fusion.thresholds
