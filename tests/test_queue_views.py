from __future__ import annotations

import pytest

pytest.importorskip("jinja2", reason="needs jinja2: pip install 'distriage[serve]'")

from conftest import make_report
from distriage_serving.queue import charts
from distriage_serving.queue.evidence import mark, strongest
from distriage_serving.queue.issue_view import NONE, OPEN, default_choice, view_axes
from distriage_serving.queue.listing import age, issue_href, list_href
from distriage_serving.queue.visible import plain, visible
from distriage_serving.store import AxisCount, PersonVerdict

from distriage.classifier import Classifier
from distriage.policy import Mode
from distriage.verdict import EvidenceLine, Verdict, make_verdict

MONDAY = 1_699_833_600  # 13 November 2023


def verdict_of(classifier: Classifier, title: str) -> Verdict:
    report = make_report(title=title, body="")
    return make_verdict(classifier, report, classifier.predict([report])[0], Mode.BALANCED)


def test_text_of_others_is_escaped_and_nothing_in_it_stays_hidden() -> None:
    shown = visible("<b>&\u202egnp.exe\x1b[31m\u200b\ttab\r\nline")
    assert "&lt;b&gt;&amp;" in shown and "\ttab\nline" in shown
    for point, name in (("U+202E", "right-to-left override"), ("U+001B", "control character"), ("U+200B", "zero width space")):
        assert f'title="{name}">{point}</span>' in shown
    assert not {"\u202e", "\x1b", "\u200b"} & set(shown)
    assert plain('"\u2066x') == '"[U+2066]x'
    assert visible("\u4f60\u597d \U0001f469\u200d\U0001f4bb") == "\u4f60\u597d \U0001f469\u200d\U0001f4bb"  # emoji are joined by a zero-width joiner


def test_evidence_is_found_by_its_words_though_the_model_read_it_without_prefix_and_path() -> None:
    log = '2024-01-01 10:00:00 [rank3]: RuntimeError: NCCL communicator was aborted on rank 3\n  File "/opt/x/y/engine.py", line 7, in step'
    body = f"It hangs.\n\n```\n{log}\n```\nThanks"
    evidence = {
        "symptom": [EvidenceLine(line="RuntimeError: NCCL communicator was aborted on rank 3", weight=2.0)],
        "stage": [EvidenceLine(line="x/y/engine.py step", weight=1.0), EvidenceLine(line="words that stand nowhere at all", weight=1.0)],
    }
    report = mark("A title", body, evidence)
    prose, code, last = report.blocks
    assert [line.text for line in prose.lines] == ["It hangs."] and not prose.is_code and code.is_code and last.lines[0].axes == ()
    assert [line.axes for line in code.lines] == [("symptom",), ("stage",)]
    assert report.title.axes == ()


def test_only_lines_that_weigh_about_as_much_as_the_heaviest_are_marked() -> None:
    lines = [EvidenceLine(line="a", weight=2.0), EvidenceLine(line="b", weight=1.1), EvidenceLine(line="c", weight=0.9)]
    assert [item.line for item in strongest(lines)] == ["a", "b"]
    assert strongest([EvidenceLine(line="a", weight=0.1)]) == []


def test_a_report_of_a_hundred_thousand_lines_is_cut_and_says_so() -> None:
    report = mark("", "x\n" * 100_000, {"symptom": [EvidenceLine(line="x", weight=1.0)]})
    assert sum(len(block.lines) for block in report.blocks) + report.cut == 100_001


def test_choices_are_numbered_and_an_unsure_axis_is_left_open(keyword_classifier: Classifier) -> None:
    taxonomy = keyword_classifier.bundle.taxonomy
    unsure = view_axes(verdict_of(keyword_classifier, "memory"), taxonomy, {})
    symptom = next(axis for axis in unsure if axis.id == "symptom")
    assert [choice.value for choice in symptom.choices[:2]] == ["oom", "leak"] and [choice.number for choice in symptom.choices[-2:]] == [8, 9]
    assert [choice.value for choice in symptom.choices[-2:]] == [NONE, OPEN]
    verdict = verdict_of(keyword_classifier, "exhausted")
    assert default_choice(verdict.axes["symptom"]) == "oom"
    person = PersonVerdict(repository="o/r", number=1, axis="symptom", label="crash", who="a", how="queue", at=1.0)
    corrected = next(axis for axis in view_axes(verdict, taxonomy, {"symptom": person}) if axis.id == "symptom")
    assert corrected.shown == "Crash" and [choice.value for choice in corrected.choices if choice.chosen] == ["crash"]
    question = view_axes(verdict_of(keyword_classifier, "how"), taxonomy, {})
    assert {axis.id: axis.shown for axis in question} == {"kind": "Question", "symptom": "Does not apply", "fix": "Does not apply"}


def test_precision_counts_the_latest_verdict_of_an_issue_that_stands() -> None:
    def said(number: int, label: str | None, at: float = 1.0, *, undone: bool = False) -> PersonVerdict:
        row = PersonVerdict(repository="o/r", number=number, axis="symptom", label=label, predicted_label="oom", who="a", how="queue", at=at)
        row.undone_at = 9.0 if undone else None
        return row

    (found,) = charts.precision([said(1, "oom"), said(2, "leak"), said(3, None), said(3, "oom", 2.0), said(4, None, undone=True)], "symptom")
    assert (found.label, found.right, found.count) == ("oom", 2, 3)
    assert found.low == pytest.approx(0.2077, abs=1e-4) and found.high == pytest.approx(0.9385, abs=1e-4)  # R: binom::binom.wilson(2, 3)
    assert charts.precision([said(1, "oom")], "fix") == []


def test_coverage_leaves_out_axes_that_do_not_apply() -> None:
    counts = [AxisCount(MONDAY, "symptom", "oom", outcome, count) for outcome, count in (("apply", 6), ("suggest", 3), ("abstain", 1), ("not-applicable", 90))]
    (found,) = charts.coverage(counts)
    assert (found.count, list(found.shares)) == (10, [0.6, 0.3, 0.1])


def test_drift_is_measured_against_the_weeks_before_and_against_chance() -> None:
    weeks = [MONDAY + place * charts.WEEK_S for place in range(-2, 1)]
    counts = [
        AxisCount(weeks[0], "symptom", "oom", "apply", 30),
        AxisCount(weeks[1], "symptom", "leak", "suggest", 30),
        AxisCount(weeks[2], "symptom", "hang", "apply", 30),
    ]
    found = charts.weeks(counts, "symptom", {"oom": "memory", "leak": "memory"}, MONDAY + 3600, 4)
    assert [week.day for week in found] == ["23 Oct", "30 Oct", "06 Nov", "13 Nov"]
    assert [week.covered for week in found] == [None, 1.0, 0.0, 1.0]
    assert [week.drift for week in found] == [None, None, 0.0, 1.0]  # the same family, then another
    assert found[2].chance == 0.0 and 0 < (found[3].chance or 0) < 0.2
    assert charts.distance({"a": 1, "b": 1}, {"a": 1, "b": 1}) == 0.0
    plot = charts.plot([week.day for week in found], [week.covered for week in found])
    assert len(plot.dots) == 3 and len(plot.segments) == 1


def test_addresses_and_ages() -> None:
    assert issue_href("o/r", 3, "a=b") == "/queue/o/r/3?a=b"
    assert list_href("a=b", {"after": "x"}) == "/queue?a=b&after=x" and list_href() == "/queue"
    assert [age(seconds) for seconds in (5, 60, 7200, 86400 * 45)] == ["just now", "1 minute ago", "2 hours ago", "1 month ago"]
