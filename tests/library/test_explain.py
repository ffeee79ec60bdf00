from __future__ import annotations

import pytest

from distriage.answer.explain import MAX_LINES, explain, lines_of, marked, with_lines
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.reading.report import read
from distriage.recipe.text import ModelInput

from support.linear_time import in_time
from support.reports import make_report


def test_the_line_that_carries_the_verdict_is_found_with_its_weight(keyword_classifier: Classifier) -> None:
    """`hangs` adds 3 to one logit of four: without its line the log-odds fall by exactly 3 nats."""
    report = read(IssueReport("Trouble", "I start the job.\nThen it hangs.\nThanks a lot."))
    evidence = explain(keyword_classifier.predict_inputs, report)["symptom"]
    assert [(item.line, round(item.weight, 3)) for item in evidence] == [("Then it hangs.", 3.0)]


def test_lines_come_heaviest_first_and_at_most_so_many(keyword_classifier: Classifier) -> None:
    report = read(IssueReport("Trouble", "a timeout\nit hangs\nhangs again with a timeout\nnothing here"))
    weights = {item.line: item.weight for item in explain(keyword_classifier.predict_inputs, report, top=10)["symptom"]}
    assert list(weights) == ["hangs again with a timeout", "it hangs", "a timeout"]
    assert weights["it hangs"] == pytest.approx(3, abs=1e-3)
    assert weights["a timeout"] == pytest.approx(1, abs=1e-3)
    assert [item.line for item in explain(keyword_classifier.predict_inputs, report, top=1)["symptom"]] == [
        "hangs again with a timeout"
    ]


def test_a_line_that_weighs_next_to_nothing_is_noise(
    keyword_classifier: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("distriage.answer.explain.MIN_WEIGHT", 2.0)
    report = read(IssueReport("Trouble", "a timeout\nit hangs\nnothing here"))
    assert [item.line for item in explain(keyword_classifier.predict_inputs, report)["symptom"]] == ["it hangs"]


def test_the_title_can_carry_the_verdict(keyword_classifier: Classifier) -> None:
    evidence = explain(keyword_classifier.predict_inputs, read(IssueReport("segfault at start", "It is bad.")))[
        "symptom"
    ]
    assert [item.line for item in evidence] == ["segfault at start"]


def test_a_line_that_speaks_against_the_verdict_is_not_shown(keyword_classifier: Classifier) -> None:
    report = read(IssueReport("", "it hangs\nit hangs on\na segfault"))
    assert [item.line for item in explain(keyword_classifier.predict_inputs, report)["symptom"]] == [
        "it hangs",
        "it hangs on",
    ]


def test_each_axis_has_its_own_evidence(keyword_classifier: Classifier) -> None:
    report = read(IssueReport("", "how do I mend this\nit hangs"))
    assert [item.line for item in explain(keyword_classifier.predict_inputs, report)["kind"]] == ["how do I mend this"]
    assert [item.line for item in explain(keyword_classifier.predict_inputs, report)["symptom"]] == ["it hangs"]


def test_all_axes_share_the_passes(keyword_classifier: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    passes, run = [], Classifier._run
    monkeypatch.setattr(Classifier, "_run", lambda *given: passes.append(given) or run(*given))
    explained = explain(keyword_classifier.predict_inputs, read(IssueReport("", "how do I mend this\nit hangs")))
    assert set(explained) == set(keyword_classifier.bundle.taxonomy.axes)
    assert len(passes) == 3  # the whole, and without each line


NUMBERS = " ".join(map(str, range(100, 200)))


def test_what_was_cut_out_of_a_long_line_ismarked(keyword_classifier: Classifier) -> None:
    long = f"2024-05-01 10:00:00 RuntimeError: segfault {NUMBERS} it hangs, and so it ends"
    report = read(IssueReport("Trouble", f"```\n{long}\n```\nA short line: it hangs."))
    shown = [item.line for item in explain(keyword_classifier.predict_inputs, report, top=9)["symptom"]]
    ends = next(line for line in shown if line.endswith("so it ends"))
    assert ends.startswith("… ") and ends.count("…") == 2, "it begins in the middle, and a part of it is left out"
    assert all(part in long for part in ends.split(" … ")[1:])
    assert "A short line: it hangs." in shown
    sure = explain(keyword_classifier.predict_inputs, read(IssueReport("It hangs", long)), top=9)
    assert all(item.line.endswith(" …") for item in sure["kind"] if item.line.startswith("RuntimeError"))
    assert in_time(lambda text: marked("a" * 240, [text]), "a" * 200_000)
    assert marked("no line of the report", [long]) == "no line of the report"
    assert marked(f"RuntimeError: segfault {NUMBERS[:179]}", [long]).endswith(f"{NUMBERS[:179]} …")


def test_a_report_is_put_together_from_its_lines() -> None:
    whole = ModelInput(title="title", errors=("error 1", "error 2"), prose="first\n\nthird")
    assert lines_of(whole) == ["title", "error 1", "error 2", "first", "", "third"]
    assert with_lines(whole, range(6)) == whole
    assert with_lines(whole, {0, 2, 5}) == ModelInput("title", ("error 2",), "third")
    assert with_lines(whole, ()).text == ""
    untitled = ModelInput(title="", errors=("error",), prose="prose")
    assert with_lines(untitled, {0}) == ModelInput("", ("error",), "")
    assert lines_of(ModelInput("", (), "")) == []


def test_a_report_of_one_line_has_nothing_to_compare_with(keyword_classifier: Classifier) -> None:
    assert explain(keyword_classifier.predict_inputs, read(IssueReport("it hangs", "")))["symptom"] == []
    assert explain(keyword_classifier.predict_inputs, read(IssueReport("", "it hangs")))["symptom"] == []


def test_only_the_first_lines_are_tried(keyword_classifier: Classifier) -> None:
    lines = [f"line {chr(97 + i // 26)}{chr(97 + i % 26)} is dull" for i in range(MAX_LINES + 5)]
    late = [*lines, "all is exhausted"]
    assert explain(keyword_classifier.predict_inputs, read(IssueReport("", "\n".join(late))))["symptom"] == []
    assert [
        item.line
        for item in explain(keyword_classifier.predict_inputs, read(IssueReport("", "\n".join(late[::-1]))))["symptom"]
    ] == ["all is exhausted"]


def test_evidence_is_lines_that_the_model_read(tiny_classifier: Classifier) -> None:
    report = read(make_report())
    whole = report.input
    lines = {whole.title, *whole.errors, *whole.prose.split("\n")}
    axes = list(tiny_classifier.bundle.taxonomy.axes)
    explained = explain(tiny_classifier.predict_inputs, report)
    assert list(explained) == axes
    for axis in axes:
        evidence = explained[axis]
        assert len(evidence) <= 3 and {item.line for item in evidence} <= lines
        weights = [item.weight for item in evidence]
        assert all(weight > 0 for weight in weights) and weights == sorted(weights, reverse=True)
