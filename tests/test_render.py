from __future__ import annotations

import io

import pytest
from conftest import make_report
from rich.console import Console

from distriage.classifier import Classifier
from distriage.policy import Mode
from distriage.render import print_verdict
from distriage.taxonomy import Taxonomy, default_taxonomy
from distriage.types import IssueReport
from distriage.verdict import AxisVerdict, EvidenceLine, LabelProbability, MissingFact, Verdict, make_verdict


def shown(verdict: Verdict, taxonomy: Taxonomy, *, colour: bool = False, width: int = 100) -> str:
    out = io.StringIO()
    print_verdict(Console(file=out, width=width, force_terminal=colour, color_system="standard" if colour else None, highlight=False), verdict, taxonomy)
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def axis_verdict(outcome: str = "apply", label: str = "bug", **changes: object) -> AxisVerdict:
    fields = {
        "outcome": outcome,
        "label": label,
        "probability": 0.61,
        "family": None,
        "family_probability": None,
        "reason": "below 0.70",
        "top": [LabelProbability(label=label, probability=0.61), LabelProbability(label="runner-up", probability=0.25)],
        "advice": None,
        "evidence": None,
    }
    return AxisVerdict.model_validate({**fields, **changes})


def a_verdict(axes: dict[str, AxisVerdict] | None = None, **changes: object) -> Verdict:
    fields = {
        "id": "owner/repo#1",
        "title": "It hangs",
        "model": "toy",
        "taxonomy_version": "1.0.0",
        "mode": "balanced",
        "axes": axes or {"kind": axis_verdict()},
        "environment": {},
        "missing": [],
    }
    return Verdict.model_validate({**fields, **changes})


def longest_verdict() -> Verdict:
    """Everything that the screen can hold, each as long as it gets."""
    taxonomy = default_taxonomy()
    axes = {}
    for axis in taxonomy.axes.values():
        label = max(axis.label_ids, key=len)
        family = axis.label(label).family
        advice = max((item.advice for item in axis.labels), key=len) or None
        axes[axis.id] = axis_verdict("suggest", label, family=family, advice=advice, top=[LabelProbability(label=label, probability=0.5)] * 3)
    facts = {
        "framework": "Colossal-AI",
        "framework_version": "0.16.8.post1.dev20240601",
        "torch": "2.4.0.dev20240601+cu124",
        "python": "3.10.12",
        "cuda": "12.4",
        "nccl": "2.20.5",
        "driver": "535.129.03",
        "gpu_model": "A100-SXM4-80GB",
        "gpu_count": 1024,
        "nodes": 128,
        "os": "Red Hat Enterprise Linux release 8.10",
        "launcher": "colossalai",
    }
    questions = [MissingFact(fact="x", question="Which NCCL version? (`python -c 'import torch; print(torch.cuda.nccl.version())'`)")] * 7
    return a_verdict(axes, title="long title " * 60, environment=facts, missing=questions)


@pytest.mark.parametrize("width", [100, 120])
def test_the_longest_verdict_fits_a_screen_of_24_lines(width: int) -> None:
    lines = shown(longest_verdict(), default_taxonomy(), width=width).splitlines()
    assert len(lines) <= 24
    assert all(len(line) <= width for line in lines)


def test_the_longest_verdict_shows_every_label_in_full() -> None:
    text = shown(longest_verdict(), default_taxonomy())
    for axis in default_taxonomy().axes.values():
        label = max(axis.label_ids, key=len)
        assert ("perhaps no" if axis.id == "distributed" else f"perhaps {label}") in text


@pytest.mark.parametrize("mode", list(Mode))
def test_a_real_verdict_fits_a_screen(tiny_classifier: Classifier, mode: Mode) -> None:
    report = make_report()
    text = shown(make_verdict(tiny_classifier, report, tiny_classifier.predict([report])[0], mode), tiny_classifier.bundle.taxonomy)
    assert len(text.splitlines()) <= 24
    assert text.splitlines()[0] == "NCCL timeout in all_reduce"
    assert text.splitlines()[-1] == f"tiny, taxonomy 1.0.0, mode {mode.value}"
    for name in ("Kind", "Distributed", "Stage", "Symptom", "Root cause", "Fix pattern"):
        assert f"\n{name}" in text
    assert "\nEnvironment  DeepSpeed 0.14.2, torch 2.3.0, gpu model A100, gpu count 8, nodes 2, os Ubuntu 22.04\n" in text


HOSTILE = "[red]a[/red] [link=http://evil]b[/link] [/] :bug: \x1b[31mred\x1b[0m \x1b]0;title\x07 \x07 \r over \x9b2J \u202e drawkcab"


@pytest.mark.parametrize("colour", [False, True])
def test_text_of_the_report_is_shown_as_text(colour: bool) -> None:
    axis = axis_verdict(evidence=[EvidenceLine(line=HOSTILE, weight=1.0)])
    verdict = a_verdict({"kind": axis}, title=HOSTILE, environment={"os": HOSTILE})
    clean = shown(a_verdict(), default_taxonomy(), colour=colour)
    hostile = shown(verdict, default_taxonomy(), colour=colour, width=400)
    assert hostile.count("[red]a[/red] [link=http://evil]b[/link] [/] :bug:") == 3
    for forbidden in ("\x07", "\r", "\x9b", "\u202e", "\x1b]", "\x1b[31m"):
        assert forbidden not in hostile
    assert ("\x1b" in hostile) is ("\x1b" in clean) is colour


@pytest.mark.parametrize(
    ("axis", "line"),
    [
        (axis_verdict("apply", "bug"), "Kind  bug"),
        (axis_verdict("suggest", "bug"), "Kind  perhaps bug"),
        (axis_verdict("suggest", "bug", family="memory"), "Kind  perhaps bug; some memory failure"),
        (axis_verdict("abstain", "bug"), "Kind  not sure (best guess bug)"),
        (axis_verdict("abstain", "bug", family="memory"), "Kind  not sure; some memory failure (best guess bug)"),
        (axis_verdict("not-applicable", "bug", reason="kind is question"), "Kind  - (kind is question)"),
    ],
)
def test_how_an_outcome_is_said(axis: AxisVerdict, line: str) -> None:
    text = shown(a_verdict({"kind": axis}), default_taxonomy())
    row = text.splitlines()[2]
    assert row.startswith(line)
    assert row[len(line) :].split() == ([] if axis.outcome == "not-applicable" else ["0.61", "runner-up", "0.25"])


@pytest.mark.parametrize(("label", "said"), [("true", "yes"), ("false", "no")])
def test_distributed_is_said_as_yes_or_no(label: str, said: str) -> None:
    assert shown(a_verdict({"distributed": axis_verdict("apply", label)}), default_taxonomy()).splitlines()[2].split()[:2] == ["Distributed", said]


@pytest.mark.parametrize(
    ("outcome", "heading"), [("apply", "What to do   Wait."), ("suggest", "Perhaps      Wait."), ("abstain", None), ("not-applicable", None)]
)
def test_advice_is_given_only_with_a_verdict(outcome: str, heading: str | None) -> None:
    text = shown(a_verdict({"fix": axis_verdict(outcome, "framework-patch", advice="Wait.")}), default_taxonomy())
    assert (heading in text.splitlines()) if heading else ("Wait." not in text)


def test_evidence_and_questions_are_shown() -> None:
    axis = axis_verdict(evidence=[EvidenceLine(line="it hangs", weight=1.234), EvidenceLine(line="y" * 400, weight=0.5)])
    questions = [MissingFact(fact=str(i), question=f"Question {i}?") for i in range(6)]
    lines = shown(a_verdict({"cause": axis}, missing=questions), default_taxonomy()).splitlines()
    assert "Environment  nothing stated" in lines
    assert "Ask for      Question 0?; Question 1?; Question 2?; Question 3?" in lines
    assert "Why root cause bug:" in lines
    assert "  +1.23  it hangs" in lines
    assert max(map(len, lines)) <= 100


def test_a_report_without_a_title_is_named_by_its_id() -> None:
    assert shown(a_verdict(title=""), default_taxonomy()).splitlines()[0] == "owner/repo#1"
    assert shown(a_verdict(title="", id=""), default_taxonomy()).splitlines()[0] == "(no title)"


def test_a_chinese_report_is_shown(keyword_classifier: Classifier) -> None:
    report = IssueReport("训练卡住", "多机训练时卡住，8 张 A100")
    verdict = make_verdict(keyword_classifier, report, keyword_classifier.predict([report])[0], Mode.BALANCED)
    lines = shown(verdict, keyword_classifier.bundle.taxonomy).splitlines()
    assert lines[0] == "训练卡住"
    assert "Environment  gpu model A100, gpu count 8" in lines


def test_similar_issues_stand_with_their_labels_a_line_each() -> None:
    known = [
        {"id": "a/b#1", "url": "https://github.com/a/b/issues/1", "title": "It waits", "labels": {"kind": "bug", "symptom": "runtime-hang"}, "similarity": 0.5},
        {"id": "a/b#2\x1b[31m", "url": "", "title": "x" * 300 + "\x1b]0;evil\x07[bold]", "labels": {}, "similarity": 0.25},
    ]
    lines = shown(a_verdict(similar=known), default_taxonomy()).split("\n")
    start = lines.index("Similar issues, with stage, symptom, root cause, fix pattern:")
    assert lines[start + 1 : start + 3] == ["  0.50  a/b#1  It waits", "        -, runtime-hang, -, -"]
    assert "\x1b" not in "".join(lines) and len(lines[start + 3]) == 100
    assert "https://github.com/a/b/issues/1" in shown(a_verdict(similar=known), default_taxonomy(), colour=True)
    assert "Similar" not in shown(a_verdict(similar=[]), default_taxonomy()) + shown(a_verdict(), default_taxonomy())
